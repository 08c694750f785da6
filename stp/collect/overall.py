"""The value of a cell over all lead times, from its score artefacts."""

import pyarrow.parquet as pq

from stp.plan.manifest_types import StoredCell

NOT_SCORED = "not scored"


def overall(cell: StoredCell, convention: str) -> tuple[float | None, str]:
    """The value over all lead times, or why there is none."""
    for folder in cell.folders(("scores", "perceptual")):
        rows = pq.read_table(
            folder / "scores.parquet",
            columns=["lead", "statistic", "value", "reason"],
            filters=[("convention", "=", convention), ("statistic", "=", "mean")],
            page_checksum_verification=True,
        ).to_pylist()
        for row in rows:
            if row["lead"] is None:
                return row["value"], row["reason"] or ""
    return None, NOT_SCORED
