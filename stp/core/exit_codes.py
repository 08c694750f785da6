"""Exit codes of ``stp``, on which scripts can rely: an answer, no answer, or an error.

All other codes come from signals and from interrupted trainings.
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
    """The answer to a question is empty, which is no mistake, but which scripts have to notice."""


def told(error: StpError) -> str:
    """The text of an error, as the command line prints it."""
    kind = "" if isinstance(error, NothingFoundError) else "error: "
    return f"stp: {kind}" + "\n  ".join(str(error).splitlines())


def of(error: StpError) -> int:
    """The exit code of an error."""
    return NOTHING if isinstance(error, NothingFoundError) else ERROR
