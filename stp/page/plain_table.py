"""Plain tables: for a terminal, a file or a log."""

import textwrap
from collections.abc import Sequence

LEAST = 24
"""Characters that the last column gets, however narrow the terminal is."""


def number(value: int | None, nothing: str = "-") -> str:
    """Write a count: ``54,321``."""
    return nothing if value is None else f"{value:,}"


def share(part: int, whole: int) -> str:
    """Write a part of a count: ``8,235 (96.0 %)``."""
    return f"{part:,} ({100 * part / whole:.1f} %)" if whole else f"{part:,}"


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], width: int, left: int = 1
) -> list[str]:
    """Set a table; the text of its last column is wrapped.

    Args:
        header: names of the columns.
        rows: their cells.
        width: characters of a line, which the last column may exceed on a narrow terminal.
        left: columns that are aligned to the left, counted from the first; the last one is too.
    """
    *fixed, last = header
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(fixed))]
    rest = max(width - sum(widths) - 2 * len(widths), LEAST, len(last))

    def lines(row: Sequence[str]) -> list[str]:
        cells = [
            text.ljust(size) if i < left else text.rjust(size)
            for i, (text, size) in enumerate(zip(row, widths, strict=False))
        ]
        wrapped = textwrap.wrap(row[-1], rest, break_on_hyphens=False) or [""]
        blank = " " * (sum(widths) + 2 * len(widths))
        first = "  ".join([*cells, wrapped[0]]).rstrip()
        return [first, *(blank + line for line in wrapped[1:])]

    rule = "-" * max(len(line) for row in [header, *rows] for line in lines(row))
    return [*lines(header), rule, *(line for row in rows for line in lines(row))]
