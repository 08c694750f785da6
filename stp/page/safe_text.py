"""Texts from data, made safe for terminals and spreadsheets."""

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
# These reverse the order of the text that follows, so that a line reads differently.
_UNSEEN |= dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], 0xFFFD)
_FORMULA = re.compile(r"[=@\t\r]|[+-].")


def visible(text: str) -> str:
    """Replace control characters, except line breaks and tabs, by visible signs."""
    return text.translate(_UNSEEN)


class Visible:
    """A renderable (something that Rich prints) whose control characters are made visible.

    Args:
        shown: renderable that contains texts from data; its styles are kept.
    """

    def __init__(self, shown: RenderableType) -> None:
        self.shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the contents for a terminal."""
        for segment in console.render(self.shown, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def safe_row(values: Iterable[T]) -> list[T | str]:
    """Make the cells of a line of CSV safe for spreadsheets.

    An apostrophe is put before text that begins like a formula, but not before numbers, even if
    they are given as text.
    (https://owasp.org/www-community/attacks/CSV_Injection)
    """
    return [f"'{value}" if _is_formula(value) else value for value in values]


def csv_text(lines: Iterable[Iterable[object]]) -> str:
    """The text of a CSV file, whose lines are made safe by `safe_row`."""
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
