"""How ``stp`` ends: codes that tell a script an answer from none, and both from trouble.

A script can rely on these numbers; other codes are those of signals and of interrupted trainings.
"""

from stp.core.errors import StpError

FOUND = 0
"""What was asked for is there."""
ERROR = 1
"""Something is wrong; the message says what, what was expected, and what to do."""
USAGE = 2
"""The command line is wrong (as Typer has it)."""
NOTHING = 3
"""The question is right, and there is nothing that answers it, or explains a difference."""


class NothingFoundError(StpError):
    """The answer to a question is empty: not an error, but a script must be able to notice it."""


def told(error: StpError) -> str:
    """An error as the command line prints it."""
    kind = "" if isinstance(error, NothingFoundError) else "error: "
    return f"stp: {kind}" + "\n  ".join(str(error).splitlines())


def of(error: StpError) -> int:
    """The exit code of an error."""
    return NOTHING if isinstance(error, NothingFoundError) else ERROR
