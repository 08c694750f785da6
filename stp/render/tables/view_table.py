"""A view of the results store as a table: its rows, and what they mean.

The CSV file has all rows. Views may have thousands, so pages have those that meet a condition, in
sections.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from stp.collect.connection import opened
from stp.core.errors import StpError
from stp.page.digits import digits, number
from stp.page.files import write_all
from stp.page.formats import texts
from stp.page.grid import Grid, Section
from stp.page.safe_text import csv_text
from stp.render.tables.data_origin import BytesUsed, bytes_used


class Layout(NamedTuple):
    """How the pages of a view are made.

    Attributes:
        title: heading.
        sections: columns whose values head the sections.
        pages: a condition in SQL on the rows of pages; empty for all of them.
    """

    title: str
    sections: Sequence[str] = ()
    pages: str = ""


@dataclass(frozen=True)
class ViewRows:
    """The rows of a view.

    Attributes:
        view: its name.
        about: what a row is.
        columns: name -> what it means, in their order.
        rows: all of them, sorted: a value for each column.
        on_pages: those of them that pages have.
        whose: whose bytes the cells of the store are of.
    """

    view: str
    about: str
    columns: dict[str, str]
    rows: list[tuple[Any, ...]]
    on_pages: list[tuple[Any, ...]]
    whose: list[BytesUsed]


def render_view(database: Path, view: str, layout: Layout, out: Path) -> None:
    """Write ``<name>.csv`` with all rows, and pages as ``.md``, ``.html`` and ``.tex``.

    Args:
        out: path of the CSV file.

    Raises:
        StpError: see `read` and `grid`; nothing is written.
    """
    found = read(database, view, layout.pages)
    lines = [[number(v) if isinstance(v, float) else v for v in row] for row in found.rows]
    whole = grid(found, layout, out.stem)
    write_all({out: csv_text([list(found.columns), *lines]), **texts(whole, out.parent)})


def read(database: Path, view: str, pages: str = "") -> ViewRows:
    """Read a view.

    Args:
        pages: as in `Layout`.

    Raises:
        StpError: there is no store, it lacks the view, or the condition is no SQL.
    """
    with opened(database, f"a results store with the view {view}") as connection:
        rows = connection.execute(
            f"SELECT *, coalesce({pages or 'true'}, false) FROM {view} ORDER BY ALL"
        ).fetchall()
        ((about,),) = connection.execute(
            "SELECT comment FROM duckdb_views() WHERE view_name = ?", [view]
        ).fetchall()
        columns = connection.execute(
            "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = ? "
            "ORDER BY column_index",
            [view],
        ).fetchall()
        return ViewRows(
            view,
            about,
            dict(columns),
            [row[:-1] for row in rows],
            [row[:-1] for row in rows if row[-1]],
            bytes_used(connection),
        )


def grid(found: ViewRows, layout: Layout, name: str) -> Grid:
    """The rows of pages.

    Args:
        found: as `read` returns it.
        name: of the files.

    Raises:
        StpError: a section is to be headed by a column that the view does not have.
    """
    whose = "; ".join(one.text for one in found.whose)
    return Grid(
        name=name,
        title=layout.title,
        intro=[
            found.about,
            f"Made of {whose or 'no scores'}. Of {len(found.rows):,} rows, {len(found.on_pages):,} "
            f"stand here{f' (`{layout.pages}`)' if layout.pages else ''}; `{name}.csv` has all.",
        ],
        warnings=[
            f"Not the paper's data ({one.text}): our numbers say nothing about those of the paper."
            for one in found.whose
            if one.is_strange
        ],
        sections=_sections(found, layout.sections),
        legend=[f"{column}: {meaning}" for column, meaning in found.columns.items()],
        made_from=f"Made from view `{found.view}` of `results.duckdb` by `stp table {found.view}`.",
    )


def _sections(found: ViewRows, headed_by: Sequence[str]) -> list[Section]:
    names = list(found.columns)
    for column in headed_by:
        if column not in names:
            raise StpError(
                f"the view {found.view} has no column {column!r}",
                expected=f"sections by some of {', '.join(names)}",
                remedy="correct `sections` of its table in the file of the suite",
            )
    heads = [names.index(column) for column in headed_by]
    shown = [i for i, column in enumerate(names) if column not in headed_by]
    parts: dict[str, list[tuple[Any, ...]]] = {}
    for row in found.on_pages:
        parts.setdefault(", ".join(str(row[i]) for i in heads), []).append(row)
    if not parts:
        parts[""] = []
    numeric = [_is_numeric(row[i] for row in found.on_pages) for i in shown]
    return [
        Section(
            title=title,
            columns=[names[i] for i in shown],
            rows=[[_text(row[i]) for i in shown] for row in parts[title]],
            numeric=numeric,
            notes=[] if parts[title] else ["No rows."],
        )
        for title in sorted(parts)
    ]


def _is_numeric(values: Iterable[Any]) -> bool:
    """Whether there are numbers, and nothing else but gaps."""
    kinds = {type(value) for value in values if value is not None}
    return bool(kinds) and kinds <= {int, float}


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return digits(value) if isinstance(value, float) else str(value)
