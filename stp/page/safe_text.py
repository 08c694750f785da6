"""Texts out of data that neither a terminal nor a spreadsheet takes for commands."""

import csv
import io
import re
from collections.abc import Iterable
from typing import TypeVar

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment

T = TypeVar("T")

_UNSEEN = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"}
_UNSEEN |= {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
# These turn the order of what follows around, so that a line reads as another one.
_UNSEEN |= dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], 0xFFFD)
_FORMULA = re.compile(r"[=@\t\r]|[+-].")


def visible(text: str) -> str:
    """Replace control characters, line breaks and tabs excepted, by signs that show them."""
    return text.translate(_UNSEEN)


class Visible:
    """What a terminal shows, with the control characters in it made visible.

    Args:
        shown: made of texts out of data; its styles stay.
    """

    def __init__(self, shown: RenderableType) -> None:
        self.shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render it for a terminal."""
        for segment in console.render(self.shown, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def safe_row(values: Iterable[T]) -> list[T | str]:
    """Make the cells of a line of CSV that spreadsheets do not run.

    Text that begins as a formula does gets an apostrophe before it; numbers, also as text, stay as
    they are. (https://owasp.org/www-community/attacks/CSV_Injection)
    """
    return [f"'{value}" if _is_formula(value) else value for value in values]


def csv_text(lines: Iterable[Iterable[object]]) -> str:
    """Write lines as CSV, each by `safe_row`."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(safe_row, lines))
    return text.getvalue()


def _is_formula(value: object) -> bool:
    if not isinstance(value, str) or not _FORMULA.match(value):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False
