"""The command line `stp VERB`; each verb (command) is a module of stp.verbs."""

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
from stp.page.plain_table import wrap_line
from stp.page.safe_text import visible
from stp.run.cluster.launch import SAVED
from stp.run.cluster.signals import Terminated
from stp.run.readable_traceback import format_traceback, readable_import_error
from stp.verbs.app import app

# isort: off
# In the order of `stp --help`.
from stp.verbs import (  # noqa: F401
    project,
    stages,
    progress,
    tables,
    results,
    facts,
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
    """Build the command line with all verbs; cached, so that jobs of the job server share it."""
    group = cast(TyperGroup, get_command(app))
    for verb in _all_of(group):
        # Typer keeps the line breaks of docstrings, which many terminals are too narrow for.
        paragraphs = (verb.help or "").split("\n\n")
        verb.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    return group


def _all_of(group: TyperGroup) -> Iterator[TyperGroup | TyperCommand]:
    """All verbs, including those of groups such as `stp list`."""
    for verb in group.commands.values():
        yield cast(TyperCommand, verb)
        if isinstance(verb, TyperGroup):
            yield from _all_of(verb)


def main() -> None:
    """Run the command line; errors that users can fix are printed without a traceback."""
    _run_or_exit(command())


def _run_or_exit(run: Callable[[], Any]) -> None:
    try:
        run()
    except Interrupted as saved:
        print(f"stp: {saved}; run it again to continue", file=sys.stderr)
        sys.exit(SAVED)
    except Terminated as signal:
        print(f"stp: ended by {signal}", file=sys.stderr)
        sys.exit(143)
    except StpError as error:
        _exit_with_error(error)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _exit_with_error(disk_error(error, "the system refused"))
    except Exception as error:
        if import_error := readable_import_error(error):
            _exit_with_error(import_error)
        print(format_traceback(error), file=sys.stderr, end="")
        sys.exit(exit_codes.ERROR)


def _exit_with_error(error: StpError) -> NoReturn:
    text = visible(exit_codes.message_of(error))  # a message may contain names of untrusted files
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        text = "\n".join(wrap_line(line, width) for line in text.splitlines())
    print(text, file=sys.stderr)
    sys.exit(exit_codes.exit_code_of(error))
