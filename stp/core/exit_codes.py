"""Exit codes of ``stp``, on which scripts can rely: an answer, no answer, or an error.

Other codes are those of signals and of interrupted trainings.
"""

from stp.core.errors import StpError

FOUND = 0
"""The command did its work, or found an answer."""
ERROR = 1
"""An error; the message says what is wrong, what was expected, and what to do."""
USAGE = 2
"""The command line is wrong (as Typer has it)."""
NOTHING = 3
"""A valid question has no answer, or a difference no explanation."""


class NothingFoundError(StpError):
    """The answer to a question is empty: no error, but scripts have to notice it."""


def told(error: StpError) -> str:
    """An error as the command line prints it."""
    kind = "" if isinstance(error, NothingFoundError) else "error: "
    return f"stp: {kind}" + "\n  ".join(str(error).splitlines())


def of(error: StpError) -> int:
    """The exit code of an error."""
    return NOTHING if isinstance(error, NothingFoundError) else ERROR
