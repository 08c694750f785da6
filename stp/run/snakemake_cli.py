"""Check the command line of Snakemake before Snakemake acts on it.

The checks are called by `profiles/default`, which every run loads, and by the Snakefile.
"""

import logging
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from shlex import join
from typing import Any

from stp.core import exit_codes
from stp.core.disk import disk_error
from stp.core.errors import StpError
from stp.plan.checked_config import read_yaml

CONFIGURATION = (".yaml", ".yml", ".json")


def arguments(argv: Sequence[str] | None = None) -> Namespace:
    """Parse arguments of Snakemake, without those that profiles add.

    Args:
        argv: words of the command line; None for the command line of this process.
    """
    from snakemake.cli import get_argument_parser  # slow to import, and not needed by most tests

    namespace: Namespace = get_argument_parser().parse_known_args(argv)[0]
    return namespace


def is_dry_run(argv: Sequence[str] | None = None) -> bool:
    """Whether this process only plans (``-n``).

    Args:
        argv: words of the command line; None for the command line of this process.
    """
    return bool(arguments(argv).dryrun)


class _LastCount(logging.Filter):
    """Logging filter that drops the first table of jobs, which Snakemake prints twice."""

    counted = False

    def filter(self, record: logging.LogRecord) -> bool:
        from snakemake_interface_logger_plugins.common import LogEvent

        if getattr(record, "event", None) != LogEvent.RUN_INFO or self.counted:
            return True
        self.counted = True
        return False


def count_once() -> None:
    """Let Snakemake print the table of planned jobs (``-n``) once, at the end of the output."""
    from snakemake.logging import logger

    logger.addFilter(_LastCount())


def check_configfiles(argv: Sequence[str] | None = None) -> None:
    """Refuse configuration files that would end Snakemake with a traceback.

    Args:
        argv: words of the command line; None for the command line of this process.

    Raises:
        StpError: a target follows ``--configfile``, which reads it as one more file; or a file is
            missing or is not YAML.
    """
    argv = sys.argv[1:] if argv is None else argv
    call = arguments(argv)
    targets = [str(name) for name in call.configfile if name.suffix not in CONFIGURATION]
    if targets:
        all_targets = [*targets, *call.targets]
        rest = [word for word in argv if word != "--" and word not in all_targets]
        raise StpError(
            f"{targets[0]} follows --configfile, which takes it for a configuration file as well",
            expected="`--` between configuration files and what shall be made",
            remedy=join(["snakemake", *rest, "--", *all_targets]),
        )
    for path in call.configfile:
        read_yaml(path)


@contextmanager
def exits_plainly() -> Iterator[None]:
    """Context manager: end this process at a `StpError` and print only its message.

    Otherwise, Snakemake would print stack frames of the Snakefile below the message.
    """
    try:
        yield
    except StpError as error:
        problem = error
    except OSError as error:
        problem = disk_error(error, "the system refused")
    else:
        return
    print(exit_codes.message_of(problem), file=sys.stderr, flush=True)
    sys.exit(exit_codes.exit_code_of(problem))


def refuse_bad_configfiles() -> None:
    """End this process with a message if a file after ``--configfile`` cannot be used.

    It is refused if it is missing or not YAML, or if it is a target that Snakemake would take for a
    configuration file (`check_configfiles`).
    """
    with exits_plainly():
        check_configfiles()


def check_device(runtime: Mapping[str, Any]) -> None:
    """Refuse a GPU that this machine does not have, before a job starts that needs it.

    Args:
        runtime: runtime settings (those without influence on results), by name, such as ``device``.

    Raises:
        StpError: the runtime settings name a device that this machine does not have.
    """
    if runtime.get("device") == "cuda":
        from stp.models.compute import set_up_compute  # torch, only where the answer needs it

        with set_up_compute("cuda", 1, "float32"):
            pass


def check_targets(targets: Iterable[str], rules: Iterable[Any], suggestions: Iterable[str]) -> None:
    """Refuse targets that no rule makes.

    Args:
        targets: names of rules, or paths.
        rules: all rules of the workflow (`snakemake.rules.Rule`).
        suggestions: paths that the workflow makes, from which the most similar one is suggested.

    Raises:
        StpError: a target is unknown; the message names it and the most similar suggestion.
    """
    rules, suggestions = list(rules), list(suggestions)
    for target in targets:
        if not Path(target).exists() and not any(
            rule.name == target or rule.is_producer(target) for rule in rules
        ):
            raise unknown_target(target, suggestions)


def unknown_target(target: str, suggestions: Iterable[str]) -> StpError:
    """Make the error for an unknown target, which suggests the path with the most similar name.

    Args:
        target: the unknown target.
        suggestions: paths that the workflow makes.
    """
    by_name = {Path(path).name: path for path in suggestions}
    close = get_close_matches(target, by_name.values(), n=1)
    close = close or [by_name[name] for name in get_close_matches(Path(target).name, by_name, n=1)]
    return StpError(
        f"no rule makes {target}",
        expected="a path such as results/tables/all, from the root of the project",
        remedy=f"did you mean {close[0]}?" if close else "`snakemake --list` lists the rules",
    )
