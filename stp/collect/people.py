"""Runtimes of predictions of people, for the results store."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from stp.core.errors import StpError
from stp.core.receipts import again, require_receipt
from stp.plan.manifest import Cell

RUNTIME = "runtime.parquet"


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
