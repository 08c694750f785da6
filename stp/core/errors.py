"""The one exception that users see: what is wrong, what was expected, what to do."""

import difflib
from collections.abc import Iterable


class StpError(Exception):
    """A problem that a person can mend.

    Args:
        what: what is wrong, naming the file, key or argument.
        expected: what was expected instead.
        remedy: what to do about it.
    """

    def __init__(self, what: str, *, expected: str = "", remedy: str = "") -> None:
        self.what, self.expected, self.remedy = what, expected, remedy
        lines = [what]
        if expected:
            lines.append(f"expected: {expected}")
        if remedy:
            lines.append(f"remedy: {remedy}")
        super().__init__("\n".join(lines))


def nearest(name: str, known: Iterable[str]) -> str:
    """Suggest the known name that is most like an unknown one, or else list the known names.

    At most 30 are listed.
    """
    known, most = sorted(known), 30
    initials = "".join(word[:1] for word in name.split("_"))  # learning_rate: lr
    close = difflib.get_close_matches(name, known, n=1) or [one for one in known if one == initials]
    if close:
        return f"did you mean {close[0]}?"
    more = f", and {len(known) - most} more" if len(known) > most else ""
    return f"known: {', '.join(known[:most])}{more}"
