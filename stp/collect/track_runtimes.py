"""Collect the run times of predictions of tracks, for the results store."""

from collections.abc import Iterable
from pathlib import Path

from stp.collect.schema import RuntimeRow
from stp.core.parquet import read_table, report_read_errors
from stp.core.receipts import require_receipt
from stp.plan.manifest import Cell

RUNTIME = "runtime.parquet"


def runtimes(cells: Iterable[Cell]) -> Iterable[RuntimeRow]:
    """Make the rows of the results store's table of run times of predictors of people.

    The times were measured during the predictions of the cells.

    Raises:
        ArtefactError: a file of measurements is missing or damaged.
    """
    for cell in cells:
        if cell.predictions is None or cell.external:
            continue  # runtimes were not measured
        folder = Path(cell.predictions)
        path = folder / RUNTIME
        receipt = require_receipt(folder)
        provenance = receipt.provenance
        expected = "how long a scenario took, by the number of its people"
        with report_read_errors(path, expected):
            for row in read_table(path, expected=expected).to_pylist():
                yield RuntimeRow(
                    **vars(cell.key),
                    **{name: getattr(cell, name) for name in ("source", "release", "protocol")},
                    **row,
                    samples=cell.samples,
                    threads=receipt.recipe.get("predict", {}).get("threads", 1),
                    **{name: getattr(provenance, name) for name in ("host", "processor", "device")},
                    predictions_fingerprint=receipt.fingerprint,
                )
