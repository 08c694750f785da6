"""Exit codes of ``stp`` for scripts: success, an error, or a query without results.

All other codes come from signals and from interrupted training runs.
"""

from stp.core.errors import StpError

FOUND = 0
"""The command did its work, or its query has results."""
ERROR = 1
"""An error; the message says what is wrong, what was expected, and what to do."""
USAGE = 2
"""The command line is wrong; Typer exits with this code."""
NOTHING = 3
"""A valid query has no results, or a difference from the paper has no explanation."""


class NothingFoundError(StpError):
    """A valid query has no results, e.g. no score rounds to a number that a user looks for.

    This is no failure: ``stp`` exits with code 3, not 1.
    """


def message_of(error: StpError) -> str:
    """Format an error as the command line prints it: ``stp: error: ...``.

    Of a query without results (`NothingFoundError`), the word ``error`` is left out.
    """
    kind = "" if isinstance(error, NothingFoundError) else "error: "
    return f"stp: {kind}" + "\n  ".join(str(error).splitlines())


def exit_code_of(error: StpError) -> int:
    """The exit code of an error: 3 for a `NothingFoundError`, else 1.

    A `NothingFoundError` means that a valid query has no results, e.g. a comparison of two models
    that have no value in common.
    """
    return NOTHING if isinstance(error, NothingFoundError) else ERROR
