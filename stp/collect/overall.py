"""Read the value of a cell (one model on one dataset in one setting) over all lead times."""

import pyarrow.compute as pc

from stp.core.parquet import read_table
from stp.plan.manifest_types import StoredCell

NOT_SCORED = "not scored"
_COLUMNS = ("convention", "lead", "statistic", "value", "reason")


def overall(cell: StoredCell, convention: str) -> tuple[float | None, str]:
    """Read the value of a metric over all lead times, for one model in one test (a cell).

    Args:
        cell: a scored cell: one model on one dataset in one setting.
        convention: exact definition of the metric, such as ``ssim.range2``.

    Returns:
        the value and an empty text; or None and the reason why there is no value.
    """
    for folder in cell.folders(("scores", "perceptual")):
        rows = read_table(folder / "scores.parquet", _COLUMNS)
        for row in rows.filter(pc.equal(rows["convention"], convention)).to_pylist():
            if row["lead"] is None and row["statistic"] == "mean":
                return row["value"], row["reason"] or ""
    return None, NOT_SCORED
