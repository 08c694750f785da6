"""Shared parts of the tables of a distortion study."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from stp.page.digits import number
from stp.page.figure_style import origin_note
from stp.page.files import write_all
from stp.page.formats import texts
from stp.page.grid import Grid
from stp.page.safe_text import csv_text
from stp.plan.manifest import Cell, Manifest, columns_of

WHERE = ("source", "scale", "protocol", "dataset")
"""Columns on the origin of a row."""


def cells_of(plan: Manifest) -> dict[str, Cell]:
    """Dataset -> one of its cells; all of them have the same real clips."""
    return {cell.key.tested_on: cell for cell in plan.cells}


def where(plan: Manifest, cell: Cell) -> list[str]:
    """The values of `WHERE`."""
    return [cell.source, plan.scale, cell.protocol, cell.key.tested_on]


def conventions_of(plan: Manifest, cell: Cell) -> list[str]:
    """The conventions of a dataset's columns, in their order."""
    columns = columns_of(plan, plan.dimension, cell).values()
    return list(dict.fromkeys(column.convention for column in columns))


def warnings(conventions: Sequence[str]) -> list[str]:
    """A warning about conventions of networks with random weights."""
    random = sorted(name for name in conventions if ".random_" in name)
    if not random:
        return []
    return [
        "WARNING: networks with random weights have learnt nothing. "
        f"{', '.join(random)} say nothing about the quality of videos or about the metric in "
        "whose place they are used."
    ]


def of_whom(plan: Manifest) -> str:
    """A sentence on the origin of the data behind the numbers."""
    return f"Numbers are of {origin_note(plan.cells)}."


def legend(plan: Manifest, conventions: Iterable[str]) -> list[str]:
    """A line for each convention."""
    return [
        f"`{name}`: {plan.conventions[name].description}" for name in dict.fromkeys(conventions)
    ]


def write(out: Path, header: Sequence[str], rows: Sequence[Sequence[Any]], grid: Grid) -> None:
    """Write a table as CSV, and beside it .md, .tex and .html."""
    lines = [header, *([number(v) if isinstance(v, float) else v for v in row] for row in rows)]
    write_all({out: csv_text(lines), **texts(grid, out.parent)})
