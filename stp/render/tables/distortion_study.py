"""What the tables of a study of distortions share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stp.page.figure_style import whose
from stp.page.files import write_all
from stp.page.formats import texts
from stp.page.grid import Grid
from stp.page.safe_text import csv_text
from stp.plan.manifest import Cell, Manifest, columns_of

WHERE = ("source", "scale", "protocol", "dataset")
"""Columns that say what a row rests on."""


def cells_of(plan: Manifest) -> dict[str, Cell]:
    """A cell of each dataset; all of them have the same real clips."""
    return {one.key.tested_on: one for one in plan.cells}


def where(plan: Manifest, cell: Cell) -> list[str]:
    """The values of `WHERE`."""
    return [cell.source, plan.scale, cell.protocol, cell.key.tested_on]


def conventions_of(plan: Manifest, cell: Cell) -> list[str]:
    """The conventions of a dataset's columns, in their order."""
    columns = columns_of(plan, plan.dimension, cell).values()
    return list(dict.fromkeys(column.convention for column in columns))


def number(value: float | None) -> str:
    """As CSV files have it; empty for none."""
    return "" if value is None else f"{value:.10g}"


def warnings(conventions: Sequence[str]) -> list[str]:
    """A warning where networks with random weights take part."""
    random = sorted(name for name in conventions if ".random_" in name)
    if not random:
        return []
    return [
        "WARNING: networks with random weights have learnt nothing: "
        f"{', '.join(random)} say nothing about the quality of videos, nor about the metric that "
        "they stand for."
    ]


def of_whom(plan: Manifest) -> str:
    """A sentence that says whose bytes numbers are of."""
    return f"Numbers are of {whose(plan.cells)}."


def write(out: Path, header: Sequence[str], rows: Sequence[Sequence[Any]], grid: Grid) -> None:
    """Write a table as CSV, and beside it .md, .tex and .html."""
    lines = [header, *([number(v) if isinstance(v, float) else v for v in row] for row in rows)]
    write_all({out: csv_text(lines), **texts(grid, out.parent)})
