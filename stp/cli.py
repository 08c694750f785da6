"""The front door: `stp VERB`; a module of stp.verbs holds each group of verbs."""

import functools
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, cast

from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from stp.core import exit_codes
from stp.core.disk import disk_error
from stp.core.errors import StpError
from stp.core.job import Interrupted
from stp.page.plain_table import folded
from stp.page.safe_text import visible
from stp.run.cluster.launch import SAVED
from stp.run.cluster.signals import Terminated
from stp.run.readable_traceback import failed_import, readable
from stp.verbs.app import app

# isort: off
# In the order of `stp --help`.
from stp.verbs import (  # noqa: F401
    project,
    stages,
    progress,
    results,
    tables,
    show,
    facts,
    report,
    preferences,
    figures,
    pictures,
    lists,
    datasets,
    models,
    forecast,
    external,
    perceptual,
    store,
    export,
)


@functools.cache
def command() -> Callable[[], Any]:
    """The command line with all verbs, made once: in a server before the jobs that it forks."""
    group = cast(TyperGroup, get_command(app))
    for verb in _all_of(group):
        # Typer keeps the line breaks of docstrings, which are wider than many terminals.
        paragraphs = (verb.help or "").split("\n\n")
        verb.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    return group


def _all_of(group: TyperGroup) -> Iterator[TyperGroup | TyperCommand]:
    """All verbs, those of groups such as `stp list` too."""
    for verb in group.commands.values():
        yield cast(TyperCommand, verb)
        if isinstance(verb, TyperGroup):
            yield from _all_of(verb)


def main() -> None:
    """Run the command line; errors for people are printed without a traceback."""
    _guarded(command())


def _guarded(run: Callable[[], Any]) -> None:
    try:
        run()
    except Interrupted as saved:
        print(f"stp: {saved}; run it again to go on from there", file=sys.stderr)
        sys.exit(SAVED)
    except Terminated as signal:
        print(f"stp: ended by {signal}", file=sys.stderr)
        sys.exit(143)
    except StpError as error:
        _complain(error)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _complain(disk_error(error, "the system refused"))
    except Exception as error:
        if told := failed_import(error):
            _complain(told)
        print(readable(error), file=sys.stderr, end="")
        sys.exit(exit_codes.ERROR)


def _complain(error: StpError) -> NoReturn:
    told = visible(exit_codes.told(error))  # names of files are those of others, too
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        told = "\n".join(folded(line, width) for line in told.splitlines())
    print(told, file=sys.stderr)
    sys.exit(exit_codes.of(error))
