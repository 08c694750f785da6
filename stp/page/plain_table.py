"""Plain tables: for a terminal, a file or a log."""

import textwrap
from collections.abc import Sequence

LEAST = 24
"""Minimum width of the last column; without this space, the column is written below each row."""
BELOW = 4
"""Indent of the last column if it is written below a row, characters."""


def format_count(value: int | None, nothing: str = "-") -> str:
    """A count as text: ``54,321``."""
    return nothing if value is None else f"{value:,}"


def share(part: int, whole: int) -> str:
    """A count and its share of a whole, as text: ``8,235 (96.0 %)``."""
    return f"{part:,} ({100 * part / whole:.1f} %)" if whole else f"{part:,}"


def wrap_line(line: str, width: int) -> str:
    """Wrap a line at blanks; further lines are indented as far as the text after a bullet."""
    if len(line) <= width:
        return line
    start = len(line) - len(line.lstrip(" -"))
    wrapped = textwrap.wrap(
        line[start:], max(width - start, LEAST), break_long_words=False, break_on_hyphens=False
    )
    return line[:start] + ("\n" + " " * start).join(wrapped)


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], width: int, left: int = 1
) -> list[str]:
    """Write a table as lines of text; texts in the last column are wrapped.

    If the other columns are too wide, the widest left-aligned one is narrowed: a text that does not
    fit stands on a separate line, above the rest of the row.

    Args:
        header: names of the columns.
        rows: cells of each row.
        width: length of a line, in characters.
        left: number of columns, from the first, that are aligned to the left. The last column is
            always aligned to the left, and those between them to the right.
    """
    *fixed, last = header
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(fixed))]
    widest = max(range(min(left, len(widths))), key=widths.__getitem__)
    widths[widest] -= min(max(sum(widths) + 2 * (len(widths) - 1) - width, 0), widths[widest])
    before = sum(widths) + 2 * len(widths)
    is_below = width - before < max(LEAST, len(last))
    before = BELOW if is_below else before
    rest = max(width - before, LEAST)

    def lines(row: Sequence[str]) -> list[str]:
        above = []
        if len(row[widest]) > widths[widest]:
            names = (text.ljust(size) for text, size in zip(row, widths[:widest], strict=False))
            above = ["  ".join([*names, row[widest]])]
            row = ["" if i <= widest else text for i, text in enumerate(row)]
        cells = [
            text.ljust(size) if i < left else text.rjust(size)
            for i, (text, size) in enumerate(zip(row, widths, strict=False))
        ]
        wrapped = textwrap.wrap(row[-1], rest, break_on_hyphens=False) or [""]
        if is_below:
            first, rest_of_it = "  ".join(cells).rstrip(), [line for line in wrapped if line]
        else:
            first, rest_of_it = "  ".join([*cells, wrapped[0]]).rstrip(), wrapped[1:]
        return [*above, first, *(" " * before + line for line in rest_of_it)]

    rule = "-" * max(len(line) for row in [header, *rows] for line in lines(row))
    return [*lines(header), rule, *(line for row in rows for line in lines(row))]
