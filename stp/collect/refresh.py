"""Rebuild results.duckdb whenever a dimension (the cells of one table) was collected.

A copy of each collected dimension's manifest, which lists its cells, stays beside the rows. The
database can therefore be built at any time, independently of the current plan, and no table has to
wait for another one.
"""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stp.collect import missing
from stp.collect.database import build
from stp.collect.equal_sample_size import Report
from stp.collect.people_agreement import TABLE
from stp.collect.receipt_rows import STAGES, find_changed_scores, note_makings
from stp.collect.scores import collect
from stp.core.disk import atomic_path
from stp.core.errors import StpError
from stp.core.receipts import RECEIPT
from stp.plan.manifest import Manifest, load_manifest


def collect_dimension(manifest: Path, rows: Path) -> None:
    """Collect the scores of one dimension (the cells of one table) into a file of rows.

    The dimension's manifest, which lists its cells, is copied beside the rows.

    Args:
        manifest: file that lists the cells of the dimension.
        rows: Parquet file to write; the copy of the manifest has the same name with ``.json``.
    """
    manifest_copy = rows.with_suffix(".json")
    with _exclusive_lock(rows.parent):
        manifest_copy.unlink(missing_ok=True)  # rows without a manifest do not count
        note_makings(rows, collect(manifest, rows))
        with atomic_path(manifest_copy) as temporary:
            shutil.copyfile(manifest, temporary)


def build_database(
    collected: Path, database: Path, report: Report | None = None
) -> tuple[list[str], dict[str, str]]:
    """Build the database from all collected dimensions (tables) of the scale collected last.

    Concurrent processes wait for each other, and the last of them includes all rows. Scores that
    have changed since they were collected are collected again.

    Args:
        collected: folder of rows and manifests.
        database: path of the database, which is replaced.
        report: function that receives the progress.

    Returns:
        names of the dimensions in the database, and reasons why others were left out, by name.

    Raises:
        StpError: nothing was collected, or a file is damaged.
    """
    with _exclusive_lock(collected):
        manifests = [
            path for path in collected.glob("*.json") if path.with_suffix(".parquet").is_file()
        ]
        manifests.sort(key=lambda path: (path.stat().st_mtime_ns, path.name))
        if not manifests:
            raise StpError(
                f"nothing has been collected in {collected}",
                expected="the rows of a dimension, and their manifest",
                remedy="make a table, such as results/tables/short_term.csv",
            )
        plans = {path: load_manifest(path) for path in manifests}
        scale = plans[manifests[-1]].scale
        left_out = {}
        for path in manifests[:-1]:
            reason = _why_not(plans[path], scale)
            if reason:
                left_out[path.stem] = reason
        for path in manifests:
            rows = path.with_suffix(".parquet")
            if path.stem in left_out or find_changed_scores(rows) == []:
                continue
            try:
                note_makings(rows, collect(path, rows))
            except StpError as problem:
                if path == manifests[-1]:
                    raise
                left_out[path.stem] = f"its scores have changed since ({problem.what})"
        used = sorted(path for path in manifests if path.stem not in left_out)
        files = [path.with_suffix(".parquet") for path in used]
        planned = missing.read_manifests(collected.parent / "plan", scale)
        gaps = missing.gaps(planned, [plans[path] for path in used], collected.parent / "logs")
        people = collected.parent / "tables" / f"{TABLE}.csv"
        cache = collected / "matched_distances.parquet"
        build(used, files, database, cache, report, gaps, people)
    return [path.stem for path in used], left_out


def _why_not(plan: Manifest, scale: str) -> str | None:
    """Reason why rows collected earlier do not fit the current database; None if they do."""
    if plan.scale != scale:
        return f"it was collected at the scale {plan.scale}"
    folders = {folder for cell in plan.cells for folder in cell.folders(STAGES)}
    missing_artefacts = sum(not (folder / RECEIPT).is_file() for folder in folders)
    if missing_artefacts:
        return f"{missing_artefacts} artefacts that it was made from are missing"
    return None


@contextmanager
def _exclusive_lock(folder: Path) -> Iterator[None]:
    """Context manager: hold the exclusive lock of a folder of collected rows."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
