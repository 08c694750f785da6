"""Tables in a terminal: aligned columns, as plain text or with styles.

Plain text keeps every column and every letter at any width, so that programs and tests can rely on
it. On a terminal, long texts are folded, and columns that still do not fit are printed below, in
blocks that repeat the first column.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

NARROWEST = 16
"""Minimum width to which a column of texts may be folded, characters."""
NAMES = 40
"""Minimum width to which the first column, with the names of rows, may be folded, characters."""
GAP = 2
"""Number of blanks between columns."""


@dataclass(frozen=True)
class Column:
    """A column of a table on a terminal.

    Attributes:
        heading: name of the column.
        right: whether cells are aligned to the right.
        cells: cells from top to bottom; their styles are for terminals only.
        joined: whether the column must stay beside the one before it.
    """

    heading: str
    right: bool
    cells: Sequence[Text]
    joined: bool = False

    @property
    def width(self) -> int:
        """Width of the widest cell, in characters."""
        return max(Text(self.heading).cell_len, *(cell.cell_len for cell in self.cells), 0)

    def narrowest(self, index: int) -> int:
        """The minimum width to which the column can be folded, in characters; numbers are not
        folded.

        Args:
            index: index of the column in the table, from 0.
        """
        return self.width if self.right else min(self.width, NARROWEST if index else NAMES)


def format_plain(columns: Sequence[Column]) -> str:
    """Write a table without styles: one line per row, nothing folded or left out."""
    widths = [column.width for column in columns]
    lines = [_line([Text(column.heading) for column in columns], columns, widths)]
    lines.append((" " * GAP).join("-" * width for width in widths))
    for row in zip(*(column.cells for column in columns), strict=True):
        lines.append(_line(row, columns, widths))
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _line(cells: Sequence[Text], columns: Sequence[Column], widths: Sequence[int]) -> str:
    parts = []
    for cell, column, width in zip(cells, columns, widths, strict=True):
        blanks = " " * (width - cell.cell_len)
        parts.append(blanks + cell.plain if column.right else cell.plain + blanks)
    return (" " * GAP).join(parts)


def styled_table(columns: Sequence[Column], width: int) -> RenderableType:
    """Make a table for a terminal of some width in characters."""
    parts: list[RenderableType] = []
    for block in blocks(columns, width):
        parts += ["", _block(block, width)] if parts else [_block(block, width)]
    return Group(*parts)


def blocks(columns: Sequence[Column], width: int) -> list[list[Column]]:
    """Divide columns into tables that fit into a terminal; each begins with the first column.

    A column that is too wide gets a table with only the first column and itself.

    Args:
        columns: columns of the whole table.
        width: width of the terminal, characters.

    Returns:
        columns of each table.
    """
    units: list[list[Column]] = []
    for column in columns[1:]:
        if column.joined and units:
            units[-1].append(column)
        else:
            units.append([column])
    first = list(columns[:1])
    tables = [list(first)]
    for unit in units:
        if len(tables[-1]) > 1 and _table_width([*tables[-1], *unit]) > width:
            tables.append(list(first))
        tables[-1] += unit
    return tables


def _table_width(columns: Sequence[Column]) -> int:
    return sum(column.narrowest(index) + GAP for index, column in enumerate(columns))


def _widths(columns: Sequence[Column], width: int) -> list[int]:
    """Width of each column in a table of some width; free characters go to the narrowest columns.

    Rich could choose the widths, but makes the table wider than the terminal.
    """
    widths = [column.narrowest(index) for index, column in enumerate(columns)]
    for _ in range(width - sum(widths) - GAP * (len(columns) - 1)):
        growing = [i for i, column in enumerate(columns) if widths[i] < column.width]
        if not growing:
            break
        widths[min(growing, key=widths.__getitem__)] += 1
    return widths


def _block(columns: Sequence[Column], width: int) -> Table:
    # One blank of the gap replaces the line between columns, which this box does not draw.
    table = Table(
        box=_RULE,
        padding=(0, GAP - 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        header_style="bold",
    )
    for column, size in zip(columns, _widths(columns, width), strict=True):
        table.add_column(
            Text(column.heading),
            justify="right" if column.right else "left",
            no_wrap=column.right,
            overflow="fold",
            max_width=size,
            min_width=size,
        )
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*row)
    return table


_RULE = box.Box("    \n    \n ── \n    \n    \n    \n    \n    \n")
"""Style of a table with a line below the headings only."""


def lay_out_result(columns: Sequence[Column], width: int) -> RenderableType:
    """Lay out the result of a query for a terminal of some width in characters.

    If the table does not fit and has few rows, each row is written as a record with a line for each
    column. If it has more rows, columns with the same cell in all rows are written once, and the
    other columns are divided into several tables. Their rows are numbered, since the first column
    of a result need not identify them.
    """
    if _table_width(columns) <= width:
        return styled_table(columns, width)
    rows = len(columns[0].cells)
    if 0 < rows <= FEW:
        names = [Text(column.heading) for column in columns]
        records = [
            Column(f"row {i + 1}", False, [column.cells[i] for column in columns])
            for i in range(rows)
        ]
        return styled_table([Column("column", False, names), *records], width)
    same = [column for column in columns if len({cell.plain for cell in column.cells}) == 1]
    same = same[:-1] if len(same) == len(columns) else same
    rest = [column for column in columns if column not in same]
    if _table_width(rest) > width:
        numbers = [Text(str(i), style="dim") for i in range(1, rows + 1)]
        rest = [Column("#", True, numbers), *rest]
    return Group(*([_in_all_rows(same)] if same else []), styled_table(rest, width))


def _in_all_rows(columns: Sequence[Column]) -> Text:
    line = Text("in all rows: ", style="dim")
    empty = [column.heading for column in columns if column.cells[0].style == "dim"]
    with_value = [column for column in columns if column.cells[0].style != "dim"]
    for i, column in enumerate(with_value):
        line.append(f"{', ' if i else ''}{column.heading} ")
        line.append(column.cells[0].plain, style="not dim")
    if empty:
        line.append(f"{'; ' if with_value else ''}empty: {', '.join(empty)}")
    return line


FEW = 2
"""Maximum number of rows that are written as records."""
