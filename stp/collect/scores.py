"""Collect the scores of all cells that a manifest lists into one Parquet file.

A cell is one model on one dataset in one setting. Each row has the key of the cell, the origin of
the data (source, release), scale and protocol, and the fingerprint of the score artefact. A
convention of the paper's table that is unavailable gets a row with the value NULL and the reason.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from stp.collect.receipt_rows import receipt_checksums
from stp.collect.schema import ABOUT, OverallRow
from stp.collect.score_rows import ScoreRow, as_table
from stp.collect.table import arrow_schema
from stp.collect.table import columns_of as fields_of
from stp.core.disk import atomic_path
from stp.core.errors import ArtefactError, StpError
from stp.core.parquet import read_table, schema_problems
from stp.core.receipts import Receipt, check_file, require_receipt
from stp.options.score import CELL_KEYS
from stp.plan.manifest import (
    ORIGIN_FIELDS,
    Cell,
    Manifest,
    columns_of,
    describe,
    load_manifest,
    stored_values,
)
from stp.score.tables import SCORES

_OVERALL = {column.name: column for column in fields_of(OverallRow)}
_ADDED = arrow_schema([_OVERALL[name] for name in ("leads", *ABOUT, "scores_fingerprint")])
COLLECTED = pa.schema([*SCORES, *_ADDED])
"""Schema of the collected rows of one dimension: rows of scores, and rows that only columns of
tables show, with ``leads`` such as ``44`` or ``1-7`` (see `stp.collect.column_values`)."""

_ROW = ("convention", "variable", "level", "threshold", "leads", "lead", "statistic")
"""Columns that identify a row within a cell, and define the order of rows."""


def collect(manifest: Path, out: Path) -> dict[str, str]:
    """Write the scores of all cells (a model on a dataset) of ``manifest`` to the file ``out``.

    Cells keep the order of the manifest; rows are sorted within a cell. ``out`` is replaced
    atomically, after every ``scores.parquet`` was checked.

    Args:
        manifest: file that lists the cells of a dimension.
        out: path of the Parquet file.

    Returns:
        checksum of the receipt of each score artefact, by its folder, taken before the scores were
        read. It shows later whether scores were made again after they were collected.

    Raises:
        StpError: a score artefact is missing, damaged, has another schema, or belongs to another
            cell. The message names all of these artefacts.
    """
    plan = load_manifest(manifest)
    makings_before = receipt_checksums(plan.cells)
    tables = []
    problems = []
    for cell in plan.cells:
        try:
            tables.append(collect_rows(plan, cell))
        except StpError as problem:
            problems.append(problem)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise StpError(
            f"{len(problems)} of {len(plan.cells)} cells cannot be collected",
            expected="finished and undamaged score artefacts",
            remedy="\n".join(["fix each of these:", *map(str, problems)]),
        )
    with atomic_path(out) as temporary:
        pq.write_table(pa.concat_tables(tables), temporary, write_page_checksum=True)
    return makings_before


def read_collected(path: Path) -> pa.Table:
    """Read the scores that were collected for one dimension.

    Args:
        path: Parquet file that `collect` wrote.

    Returns:
        table with the schema ``COLLECTED``: a row for each score of each cell.

    Raises:
        StpError: the file is missing or damaged.
    """
    remedy = f"delete {path} and run again"
    return read_table(path, COLLECTED, expected="the collected rows of a dimension", remedy=remedy)


def collect_rows(plan: Manifest, cell: Cell) -> pa.Table:
    """Make the rows of one cell (one model on one dataset in one setting), with its key and origin.

    Args:
        plan: manifest that lists the cell.
        cell: the cell.

    Returns:
        table with the schema ``COLLECTED``: scores, origin of the data, scale and protocol.

    Raises:
        StpError: the score artefact is missing, damaged, has another schema, or belongs to another
            cell.
    """
    parts = []
    scored: set[str] = set()
    for folder in cell.folders(("scores", "perceptual")):
        receipt = require_receipt(folder)
        scores = _read_scores(folder, receipt, cell)
        _check_conventions(plan, scores, folder, scored)
        scored |= set(scores["convention"].unique().to_pylist())
        scores = _add_column(
            _add_column(scores, "leads", None), "scores_fingerprint", receipt.fingerprint
        )
        parts.append(_with_shown(plan, cell, scores, receipt))
    _demand_columns(plan, cell, scored)
    absent = as_table(_unavailable_rows(plan, cell, scored), parts[0].schema)
    rows = pa.concat_tables([*parts, absent])
    rows = rows.sort_by([(name, "ascending") for name in _ROW])
    for name in ORIGIN_FIELDS:
        rows = _add_column(rows, name, getattr(cell, name))
    rows = _add_column(rows, "scale", plan.scale)
    return rows.select(COLLECTED.names).combine_chunks()


def _with_shown(plan: Manifest, cell: Cell, scores: pa.Table, receipt: Receipt) -> pa.Table:
    """Add rows for values of table columns that the score artefact does not contain."""
    every = {
        column.place for table in plan.tables for column in columns_of(plan, table, cell).values()
    }
    shown_parts = [
        (convention, part)
        for convention, part in every
        if part.leads is not None or part.statistic != "mean"
    ]
    scored = set(scores["convention"].unique().to_pylist())
    shown_parts = sorted(((c, p) for c, p in shown_parts if c in scored), key=repr)
    if not shown_parts:
        return scores
    # Imported here, since most tables need no metrics.
    from stp.collect.column_values import compute_column_scores

    extra_rows = compute_column_scores(
        cell, scores, shown_parts, receipt.recipe.get("bootstrap", {})
    )
    return pa.concat_tables([scores, as_table(extra_rows, scores.schema)])


def _check_conventions(plan: Manifest, rows: pa.Table, folder: Path, others: set[str]) -> None:
    """Refuse conventions that the manifest lacks, or that two artefacts of a cell contain."""
    path = folder / "scores.parquet"
    conventions = set(plan.conventions)
    for number, convention in enumerate(rows["convention"].to_pylist()):
        if conventions and convention not in conventions:
            raise ArtefactError(
                path,
                f"row {number + 1}: convention {convention}, which the manifest does not know",
                expected=f"one of {', '.join(sorted(conventions))}",
            )
        if convention in others:
            raise ArtefactError(
                path,
                f"row {number + 1}: convention {convention}, which the other scores of this cell "
                "have as well",
                expected="each convention in one score artefact of a cell",
            )


def _demand_columns(plan: Manifest, cell: Cell, scored: set[str]) -> None:
    conventions = {
        column.convention
        for table in plan.tables
        for column in columns_of(plan, table, cell).values()
    }
    lacking = sorted(conventions - scored - set(plan.unavailable))
    if lacking:
        folder = Path(cell.scores)
        raise ArtefactError(
            folder / "scores.parquet",
            f"no row of {', '.join(lacking)}",
            expected=f"all conventions that tables show (cell: {describe(cell.key)})",
        )


def _add_column(rows: pa.Table, name: str, value: Any) -> pa.Table:
    field = COLLECTED.field(name)
    return rows.append_column(field, pa.repeat(pa.scalar(value, field.type), len(rows)))


def _read_scores(folder: Path, receipt: Receipt, cell: Cell) -> pa.Table:
    path = check_file(folder, receipt, "scores.parquet")
    rows = _to_schema(read_table(path, expected="scores"), path)
    for name in CELL_KEYS:
        values = rows[name].unique().to_pylist()
        expected_value = getattr(cell.key, name)
        if len(rows) and values != [expected_value]:
            raise ArtefactError(
                path,
                f"rows of another cell, {name} is {values}",
                expected=f"{name} {expected_value!r} only (cell: {describe(cell.key)})",
            )
    _check_rows(rows, path)
    return rows


def _check_rows(rows: pa.Table, path: Path) -> None:
    """Refuse invalid values and duplicate rows; the error has their row numbers.

    A missing value must be NULL with a reason, such as PSNR if a frame is predicted exactly
    (`stp.metrics.psnr`); infinity is invalid.
    """
    # Imported here, since it takes 50 ms and building the database does not need it.
    import pyarrow.compute as pc

    unexplained = pc.and_(pc.is_null(rows["value"]), pc.is_null(rows["reason"]))
    not_finite = pc.invert(pc.is_finite(rows["value"]))
    for problem, expected, bad in (
        ("a value is NULL without a reason", "a reason wherever there is no value", unexplained),
        ("a value is NaN or infinite", "a finite value, or NULL with a reason", not_finite),
    ):
        number = pc.index(bad, True).as_py()
        if number >= 0:
            convention = rows["convention"][number].as_py()
            raise ArtefactError(
                path, f"row {number + 1}: {problem} ({convention})", expected=expected
            )
    names = [name for name in _ROW if name in rows.column_names]
    counts = rows.group_by(names).aggregate([([], "count_all")])
    if len(counts) < len(rows):
        earlier_rows: set[tuple[Any, ...]] = set()
        for number, row in enumerate(zip(*(rows[name].to_pylist() for name in names), strict=True)):
            if row in earlier_rows:
                row_text = ", ".join(
                    f"{name} {value}"
                    for name, value in zip(names, row, strict=True)
                    if value is not None
                )
                raise ArtefactError(
                    path,
                    f"row {number + 1}: {len(rows) - len(counts)} rows appear twice, this is the "
                    f"first ({row_text})",
                    expected=f"one row for each {', '.join(names)}",
                )
            earlier_rows.add(row)


def _to_schema(rows: pa.Table, path: Path) -> pa.Table:
    if problems := schema_problems(rows.schema, SCORES):
        raise ArtefactError(
            path,
            f"wrong schema: {'; '.join(problems)}",
            expected=", ".join(f"{field.name} {field.type}" for field in SCORES),
        )
    # Metadata differ between writers, and would prevent concatenation.
    return rows.select(SCORES.names).cast(SCORES).replace_schema_metadata(None)


def _unavailable_rows(plan: Manifest, cell: Cell, scored: set[str]) -> list[ScoreRow]:
    return [
        ScoreRow(
            key=cell.key,
            metric=convention.split(".")[0],
            convention=convention,
            level=None,
            lead=None,
            value=None,
            n=None,
            **part._asdict(),
            reason=plan.unavailable[convention],
            scores_fingerprint=Path(cell.scores).name,
        )
        for convention, part in stored_values(plan, cell)
        if convention in plan.unavailable and convention not in scored
    ]
