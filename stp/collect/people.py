"""Errors and runtimes of predictions of people, for the results store.

Errors are many: they stay in the Parquet files of the score artefacts, and a view reads them.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from stp.collect import layout
from stp.collect.sample_files import schema_of
from stp.core.errors import StpError
from stp.core.receipts import again, require_receipt
from stp.plan.manifest import Cell, Manifest

ERRORS, RUNTIME = "errors.parquet", "runtime.parquet"


def error_files(plans: Iterable[Manifest]) -> list[Path]:
    """The files of errors, found to be of the right schema; absolute.

    Raises:
        StpError: one is missing or damaged.
    """
    return [
        error_file(Path(cell.scores))
        for plan in plans
        for cell in plan.cells
        if plan.kind_of(cell).has_person_errors
    ]


def error_file(folder: Path) -> Path:
    """The file of errors of a score artefact, found to be of the right schema; absolute.

    Raises:
        StpError: it is missing or damaged.
    """
    path, schema = schema_of(folder, ERRORS, "the errors of each person at each step")
    lacking = [name for name, _, _ in layout.PERSON_ERRORS.columns if name not in schema.names]
    if lacking:
        raise StpError(
            f"{path}: no column {', '.join(lacking)}",
            expected=f"columns {', '.join(name for name, _, _ in layout.PERSON_ERRORS.columns)}",
            remedy=again(folder),
        )
    return path


def errors_query(paths: Iterable[Path]) -> str:
    """SQL of the view over files of errors; without any, of no rows."""
    columns = layout.PERSON_ERRORS.columns
    listed = ", ".join("'" + str(path).replace("'", "''") + "'" for path in paths)
    if not listed:
        empty = ", ".join(f"NULL::{kind} AS {name}" for name, kind, _ in columns)
        return f"SELECT {empty} WHERE false"
    names = ", ".join(f"{name}::{kind} AS {name}" for name, kind, _ in columns)
    return f"SELECT {names} FROM read_parquet([{listed}], hive_partitioning=false)"


def runtimes(cells: Iterable[Cell]) -> Iterable[dict[str, Any]]:
    """The rows of table `layout.RUNTIME`: what predictions measured of themselves.

    Raises:
        StpError: a file is missing or damaged.
    """
    for cell in cells:
        if cell.predictions is None or cell.external:
            continue  # nobody measured
        folder = Path(cell.predictions)
        path = folder / RUNTIME
        try:
            measured = pq.read_table(path, page_checksum_verification=True).to_pylist()
        except (pa.ArrowException, OSError) as error:
            raise StpError(
                f"{path}: cannot be read ({error})",
                expected="how long a scenario took, by the number of its people",
                remedy=again(folder),
            ) from None
        receipt = require_receipt(folder)
        made = receipt.provenance
        for row in measured:
            yield {
                **vars(cell.key),
                **{name: getattr(cell, name) for name in ("source", "release", "protocol")},
                **row,
                "samples": cell.samples,
                "threads": receipt.recipe.get("predict", {}).get("threads", 1),
                **{name: getattr(made, name) for name in ("host", "processor", "device")},
                "predictions_fingerprint": receipt.fingerprint,
            }
