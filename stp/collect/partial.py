"""Build the results store of an unfinished run: scored cells, and states of missing cells.

A cell is one model, trained on one dataset, tested on one dataset, in one setting, with one seed.
"""

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from stp.collect import missing
from stp.collect.database import build
from stp.collect.equal_sample_size import Report
from stp.collect.receipt_rows import STAGES, note_makings, receipt_checksums
from stp.collect.sample_files import sample_file
from stp.collect.scores import collect_rows
from stp.core.disk import write_text
from stp.core.errors import StpError
from stp.core.receipts import RECEIPT, require_receipt
from stp.plan.manifest import Cell, Manifest, load_manifest, manifest_text

DATABASE = "results.duckdb"
COLLECTED = "collected"
MADE = (DATABASE, COLLECTED, "report")
"""Files of an unfinished run in the folder of partial tables."""


class Held(NamedTuple):
    """Numbers of scored and of missing cells (evaluations) in the store of an unfinished run."""

    scored: int
    missing: int


def build_partial(
    manifests: Iterable[Path], out: Path, logs: Path, report: Report | None = None
) -> Held:
    """Build ``results.duckdb`` in the folder of partial tables, directly from score artefacts.

    A damaged score artefact becomes a row of the table ``missing``.

    Args:
        manifests: manifests of all dimensions of the plan.
        out: folder of partial tables; an existing store there is removed.
        logs: folder of the logs of Snakemake's rules.
        report: function that receives the progress.

    Returns:
        numbers of scored and missing cells. Without scored cells, no database is built. Without
        missing cells, none is built either, because the run then builds the complete
        ``results.duckdb`` in the folder of results.

    Raises:
        StpError: a manifest cannot be read.
    """
    _remove_old_store(out)
    plans = [load_manifest(path) for path in manifests]
    held: list[tuple[Manifest, pa.Table]] = []
    unusable = {}
    making_of_rows: dict[str, dict[str, str]] = {}
    for plan in plans:
        tables, cells = [], []
        for cell in plan.cells:
            try:
                before = receipt_checksums([cell])
                tables.append(_rows(plan, cell))
                cells.append(cell)
                making_of_rows.setdefault(plan.dimension, {}).update(before)
            except StpError as problem:
                if Path(cell.scores, RECEIPT).is_file():
                    unusable[cell.key] = problem.what
        if cells:
            held.append((replace(plan, cells=tuple(cells)), pa.concat_tables(tables)))
    gaps = missing.gaps(plans, [plan for plan, _ in held], logs, unusable)
    if held and gaps.rows:
        files = [out / COLLECTED / f"{plan.dimension}.json" for plan, _ in held]
        for path, (plan, rows) in zip(files, held, strict=True):
            write_text(path, manifest_text(plan))
            pq.write_table(rows, path.with_suffix(".parquet"), write_page_checksum=True)
            note_makings(path.with_suffix(".parquet"), making_of_rows[plan.dimension])
        collected = [path.with_suffix(".parquet") for path in files]
        cache = out / COLLECTED / "matched_distances.parquet"
        build(files, collected, out / DATABASE, cache, report, gaps)
    return Held(sum(len(plan.cells) for plan, _ in held), len(gaps.rows))


def remove(out: Path) -> None:
    """Remove the outdated results store of an unfinished run, and its report."""
    for name in MADE:
        path = out / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _remove_old_store(out: Path) -> None:
    """Remove the store of an earlier run, except for cached ranks and distances."""
    (out / DATABASE).unlink(missing_ok=True)
    shutil.rmtree(out / "report", ignore_errors=True)
    for path in (out / COLLECTED).glob("*.json"):  # rows without a manifest do not count
        path.unlink()


def _rows(plan: Manifest, cell: Cell) -> pa.Table:
    rows = collect_rows(plan, cell)
    for folder in cell.folders(STAGES):
        require_receipt(folder)
    for folder in cell.folders(("scores", "perceptual")):
        sample_file(folder)
    return rows
