"""Write the table of a dimension: CSV and tidy CSV, and pages in Markdown, LaTeX and HTML.

A final table exists only if all of its cells (one model on one dataset each) have scores. The
finished part of an incomplete table is written to another folder, with reasons for the gaps.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import duckdb
import pyarrow as pa

from stp.collect.published import read_published
from stp.collect.scores import COLLECTED, collect_rows
from stp.collect.views import EVERY_SCORE
from stp.core.errors import FileError, StpError
from stp.page import formats
from stp.page.digits import format_number
from stp.page.files import write_all
from stp.page.safe_text import csv_text
from stp.plan.cell_key import CellKey
from stp.plan.manifest import Cell, Manifest, columns_of, load_manifest
from stp.render.tables.best_rows import Standings, standings
from stp.render.tables.leads import Leads, read_leads
from stp.render.tables.rows import Entry, Row, gaps, make_rows, overall
from stp.render.tables.table_layout import grid
from stp.render.tables.tidy import Field, leads_csv, tidy_csv

if TYPE_CHECKING:
    from stp.run.failures import Failure


def render_table(manifest: Path, database: Path, out: Path) -> None:
    """Write the final table: ``<name>.csv``, ``.md``, ``.tex``, ``.html`` and ``_tidy.csv``.

    If the dimension is shown by lead time, ``<name>_leads.csv`` has the values at each lead time.

    Args:
        manifest: path of the manifest (JSON), the part of the plan that the table is made from.
        database: path of the results store that was built from the same manifest.
        out: path of ``<name>.csv``; the other files are written next to it.

    Raises:
        StpError: a cell (one model on one dataset) has no scores, or none for a column; nothing is
            written.
    """
    plan = load_manifest(manifest)
    rows = read_scores(database, plan)
    demand_complete(plan, plan.dimension, rows, database)
    _write(plan, plan.dimension, rows, {}, out)


def render_partial(manifest: Path, failures: Mapping[str, "Failure"], out_dir: Path) -> list[str]:
    """Write the finished part of incomplete tables, directly from the folders of scores.

    Args:
        manifest: path of the manifest (JSON), which names the tables and their cells.
        failures: records of failed attempts, which give the reasons for gaps. The key is the folder
            of the artefact that failed, relative to the store, such as
            ``models/kth/convlstm/default/seed-0/8387d1c36e2f262c``. The fingerprint at its end may
            be left out. A key may also be the path of a cell, in the form that is returned.
        out_dir: folder of partial tables, not of final tables.

    Returns:
        paths of the cells without scores, such as
        ``short_term/predbench/default/convlstm/kth/seed-0``: the folder of the scores, relative to
        ``scores/`` in the store, without the fingerprint.
    """
    plan = load_manifest(manifest)
    collected = []
    absent: dict[CellKey, str] = {}
    missing = []
    for cell in plan.cells:
        try:
            collected.append(collect_rows(plan, cell))
        except StpError as problem:
            absent[cell.key] = _why_missing(plan, cell, failures, problem)
            missing.append(_cell_path(plan, cell))
    rows = pa.concat_tables(collected) if collected else COLLECTED.empty_table()
    for table in plan.tables:
        _write(plan, table, rows, absent, out_dir / f"{table}.csv")
    return missing


def read_scores(path: Path, plan: Manifest) -> pa.Table:
    """Read the scores of all cells of one dimension from the results store.

    Args:
        path: path of the results store.
        plan: manifest of the dimension.

    Returns:
        table with the columns of `stp.collect.scores.COLLECTED`. A row is one value of a cell: a
        statistic, such as the mean, of one convention. Values at single lead times are left out
        unless the dimension is shown by lead time.

    Raises:
        FileError: the store is missing or damaged.
    """
    if not path.is_file():
        raise FileError(path, "missing", remedy="run the table command")
    columns = ", ".join(f'"{name}"' for name in COLLECTED.names)
    by_lead = plan.suite.dimensions[plan.dimension].by_lead
    try:
        with duckdb.connect(str(path), read_only=True) as store:
            rows = store.sql(
                f"SELECT {columns} FROM ({EVERY_SCORE}) WHERE dimension = ?"
                + ("" if by_lead else " AND lead IS NULL"),
                params=[plan.dimension],
            ).to_arrow_table()
    except duckdb.Error as error:
        raise FileError(
            path,
            f"cannot be read ({error})",
            remedy=f"delete {path} and run again",
        ) from None
    return rows.cast(COLLECTED)


def demand_complete(plan: Manifest, table: str, rows: pa.Table, database: Path) -> None:
    """Refuse an incomplete table: every cell must have a value, or a reason, in every column.

    A cell is one model on one dataset in one setting.

    Args:
        plan: manifest of the dimension, with all cells.
        table: name of the table.
        rows: scores of the dimension.
        database: path of their file, for the error.

    Raises:
        StpError: the table has gaps; the message names them.
    """
    cells = [cell for cell in plan.cells if columns_of(plan, table, cell)]
    lacking = gaps(plan, table, rows, overall(rows))
    if lacking or not cells:
        raise StpError(
            f"{database}: table {table!r} is not complete"
            + "".join(f"\n  {gap}" for gap in lacking),
            expected=f"rows of all {len(cells)} cells of the table, for all its columns",
            remedy="score the missing cells and collect again; a partial table shows what exists",
        )


def _why_missing(
    plan: Manifest, cell: Cell, failures: Mapping[str, "Failure"], problem: StpError
) -> str:
    store = Path(plan.store)
    names = {_cell_path(plan, cell)}
    for folder in cell.folders(("data", "models", "predictions", "scores")):
        if folder.is_relative_to(store):
            relative = folder.relative_to(store)
            names |= {relative.as_posix(), relative.parent.as_posix()}
    for path, failure in failures.items():
        if path.strip("/") in names:
            # The log has the lines after the first.
            error = failure.error.partition("\n")[0]
            return f"failed: {error}" + (f" (log: {failure.log})" if failure.log else "")
    if (Path(cell.scores) / "artefact.json").is_file():
        return f"not usable: {problem.what}"
    return "missing"


def _cell_path(plan: Manifest, cell: Cell) -> str:
    """Path of a cell: its score folder below ``scores/``, without fingerprint."""
    folder = Path(cell.scores).parent
    scores = Path(plan.store) / "scores"
    return (folder.relative_to(scores) if folder.is_relative_to(scores) else folder).as_posix()


class PaperTable(NamedTuple):
    """The content of a table.

    Attributes:
        rows: rows of the table: the values of one model on one dataset in one setting each.
        standings: for each row, by column, the rank of the value, and its test against the best.
        leads: rows and standings at each lead time; None unless the dimension is shown by lead
            time.
    """

    rows: list[Row]
    standings: Standings
    leads: Leads | None


def make_paper_table(
    plan: Manifest, table: str, scores: pa.Table, absent: dict[CellKey, str]
) -> PaperTable:
    """Make the rows of a table, with the ranks of their values and tests against the best.

    Args:
        plan: manifest of the dimension.
        table: name of the table.
        scores: collected score rows.
        absent: reasons for missing scores, by key of the cell; empty for a complete table.

    Raises:
        StpError: the published values or a file of the store are damaged.
    """
    published = read_published(plan.published)
    rows = make_rows(plan, table, overall(scores), published, absent)
    ranked = standings(plan, rows)
    by_lead = plan.suite.dimensions[plan.dimension].by_lead
    leads = read_leads(plan, table, scores, absent, rows) if by_lead else None
    return PaperTable(rows, ranked, leads)


def _write(
    plan: Manifest, table: str, scores: pa.Table, absent: dict[CellKey, str], out: Path
) -> None:
    """Write all files of a table; the CSV comes last, so that its presence means that all exist."""
    rows, ranked, leads = make_paper_table(plan, table, scores, absent)
    pages = grid(plan, table, rows, ranked, partial=bool(absent), leads=leads)
    texts = {out: _table_csv(rows), out.with_name(f"{out.stem}_tidy.csv"): tidy_csv(rows, ranked)}
    if leads:
        texts[out.with_name(f"{out.stem}_leads.csv")] = leads_csv(leads)
    write_all(texts | formats.render_grid(pages, out.parent, out.stem))


def _table_csv(rows: list[Row]) -> str:
    """Format the table as CSV: a line for each row, with the columns of all datasets.

    Tables about people also have the numbers of people and episodes and, for each column, the
    standard deviation over scenarios and the interval over episodes.
    """
    columns = list(dict.fromkeys(column for row in rows for column in row.entries))
    of_people = any(row.counted for row in rows)
    header = ["source", "scale", "protocol", "comparable", "dataset", "model", "seeds", "n"]
    header += ["people", "episodes"] if of_people else []
    for column in columns:
        header += [column, f"{column} published", f"{column} difference"]
        header += [f"{column} {name}" for name in _SPREAD] if of_people else []
    lines: list[list[Field]] = [[*header, "notes"]]
    for row in rows:
        line: list[Field] = [
            row.source,
            row.scale,
            row.protocol,
            row.comparability,
            row.dataset,
            row.model,
            row.seeds,
            row.samples,
        ]
        if of_people:
            line += [row.counted.people, row.counted.episodes] if row.counted else [None, None]
        for column in columns:
            line += _format_entry(row.entries.get(column))
            line += _spread(row.entries.get(column)) if of_people else []
        lines.append([*line, "; ".join(row.notes)])
    return csv_text(lines)


_SPREAD = ("sd", "sd published", "ci95_low", "ci95_high", "why no interval")


def _spread(entry: Entry | None) -> list[str]:
    if entry is None:
        return [""] * len(_SPREAD)
    published = entry.published.sd if entry.published else None
    reason = "" if entry.value is None or entry.low is not None else entry.reason
    return [*map(format_number, (entry.sd, published, entry.low, entry.high)), reason]


def _format_entry(entry: Entry | None) -> list[str]:
    """Format value, published value and difference; empty for a column that the dataset lacks."""
    if entry is None:
        return ["", "", ""]
    published = entry.published.value if entry.published else None
    return [format_number(entry.value), format_number(published), format_number(entry.difference)]
