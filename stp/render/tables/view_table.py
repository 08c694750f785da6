"""Make a table from a view (a stored SQL query) of the results store.

A table is a CSV file, and a page in Markdown, HTML and LaTeX. The CSV file has all rows of the
view. Because views may have thousands of rows, the page shows only those that meet a condition, in
sections.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from stp.collect.connection import open_results_store
from stp.core.errors import ConfigurationError
from stp.page.digits import digits, format_number
from stp.page.files import write_all
from stp.page.formats import render_grid
from stp.page.grid import Grid, Section
from stp.page.safe_text import csv_text
from stp.render.tables.data_origin import DataUsed, data_used


class Layout(NamedTuple):
    """Layout of the Markdown, HTML and LaTeX pages that show a view of the results store.

    Attributes:
        title: heading of the page.
        sections: columns whose values become headings of sections.
        pages: SQL condition that selects the rows of the view that pages show; empty for all rows.
    """

    title: str
    sections: Sequence[str] = ()
    pages: str = ""


@dataclass(frozen=True)
class ViewRows:
    """Rows of a view (stored SQL query), with the meaning of its columns.

    Attributes:
        view: name of the view.
        about: meaning of a row.
        columns: meaning of each column, by name, in order.
        rows: all rows, sorted, with a value for each column.
        on_pages: those of the rows that pages show. Long views are shown in part (`Layout.pages`).
        data: origin and protocol of the data in the store.
    """

    view: str
    about: str
    columns: dict[str, str]
    rows: list[tuple[object, ...]]
    on_pages: list[tuple[object, ...]]
    data: list[DataUsed]


def render_view(database: Path, view: str, layout: Layout, out: Path) -> None:
    """Write the rows of a view (stored query of a results store) as .csv, .md, .html and .tex.

    Args:
        database: path of the results store.
        view: name of the view.
        layout: which rows the pages show, and in which sections; the CSV file has all rows.
        out: path of the CSV file; the pages are written next to it.

    Raises:
        StpError: the store is missing or lacks the view, or the layout names a column that the view
            lacks; nothing is written.
    """
    view_rows = read(database, view, layout.pages)
    lines = [
        [format_number(v) if isinstance(v, float) else v for v in row] for row in view_rows.rows
    ]
    pages_grid = grid(view_rows, layout, out.stem)
    write_all(
        {out: csv_text([list(view_rows.columns), *lines]), **render_grid(pages_grid, out.parent)}
    )


def read(database: Path, view: str, pages: str = "") -> ViewRows:
    """Read all rows of a view (stored SQL query), and the meaning of its columns.

    Args:
        database: path of the results store.
        view: name of the view.
        pages: SQL condition that selects the rows that pages show (`ViewRows.on_pages`); empty for
            all rows.

    Raises:
        StpError: the store is missing or lacks the view, or the condition is not valid SQL.
    """
    with open_results_store(database, f"a results store with the view {view}") as connection:
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
            data_used(connection),
        )


def grid(view_rows: ViewRows, layout: Layout, name: str) -> Grid:
    """Lay out a view (stored SQL query) as the page of a table.

    Args:
        view_rows: rows of the view, of which `ViewRows.on_pages` are shown.
        layout: title and sections of the page, and the condition that has selected its rows.
        name: name of the table, which is that of its files.

    Raises:
        ConfigurationError: the view lacks a column that `layout.sections` names.
    """
    origins = "; ".join(used.text for used in view_rows.data)
    return Grid(
        name=name,
        title=layout.title,
        intro=[
            view_rows.about,
            f"Made from {origins or 'no scores'}. {len(view_rows.on_pages):,} of "
            f"{len(view_rows.rows):,} rows are shown"
            f"{f' (`{layout.pages}`)' if layout.pages else ''}; `{name}.csv` has all.",
        ],
        warnings=[
            f"Not the paper's data ({used.text}): our numbers cannot be compared with the paper's."
            for used in view_rows.data
            if used.differs_from_paper
        ],
        sections=_sections(view_rows, layout.sections),
        legend=[f"{column}: {meaning}" for column, meaning in view_rows.columns.items()],
        made_from=f"Made from view `{view_rows.view}` of `results.duckdb` by "
        f"`stp table {view_rows.view}`.",
    )


def _sections(view_rows: ViewRows, headed_by: Sequence[str]) -> list[Section]:
    names = list(view_rows.columns)
    for column in headed_by:
        if column not in names:
            raise ConfigurationError(
                f"the view {view_rows.view} has no column {column!r}",
                expected=f"sections by some of {', '.join(names)}",
                remedy="correct `sections` of its table in the file of the suite",
            )
    head_columns = [names.index(column) for column in headed_by]
    body_columns = [i for i, column in enumerate(names) if column not in headed_by]
    parts: dict[str, list[tuple[object, ...]]] = {}
    for row in view_rows.on_pages:
        parts.setdefault(", ".join(str(row[i]) for i in head_columns), []).append(row)
    if not parts:
        parts[""] = []
    numeric = [_is_numeric(row[i] for row in view_rows.on_pages) for i in body_columns]
    return [
        Section(
            title=title,
            columns=[names[i] for i in body_columns],
            rows=[[_format_value(row[i]) for i in body_columns] for row in parts[title]],
            numeric=numeric,
            notes=[] if parts[title] else ["No rows."],
        )
        for title in sorted(parts)
    ]


def _is_numeric(values: Iterable[object]) -> bool:
    kinds = {type(value) for value in values if value is not None}
    return bool(kinds) and kinds <= {int, float}


def _format_value(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return digits(value) if isinstance(value, float) else str(value)
