"""Exit codes of ``stp`` for scripts: answer, no answer, or error.

All other codes come from signals and from interrupted training runs.
"""

from stp.core.errors import StpError

FOUND = 0
"""The command did its work, or found an answer."""
ERROR = 1
"""An error; the message says what is wrong, what was expected, and what to do."""
USAGE = 2
"""The command line is wrong; Typer exits with this code."""
NOTHING = 3
"""A valid question has no answer, or a difference has no explanation."""


class NothingFoundError(StpError):
    """A valid query has no results, which is no failure: ``stp`` then exits with code 3, not 1."""


def message_of(error: StpError) -> str:
    """Format an error as the command line prints it: ``stp: error: ...``."""
    kind = "" if isinstance(error, NothingFoundError) else "error: "
    return f"stp: {kind}" + "\n  ".join(str(error).splitlines())


def of(error: StpError) -> int:
    """The exit code of an error: 3 if a question has no answer, else 1."""
    return NOTHING if isinstance(error, NothingFoundError) else ERROR
