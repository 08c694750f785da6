"""Score predicted opinions: agreement in each split, its median and deviation over splits.

A sample is a split. Splits overlap, so they are no independent sample: there are no intervals.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stp.core.errors import StpError
from stp.core.job import Extras, Job
from stp.metrics.perceptual import SetDistance
from stp.opinions import quality
from stp.options.score import ScoreOptions
from stp.score import conventions, tables
from stp.score.aggregate import Row

STATISTICS = ("median", "sd")
NO_VALUE = "all predictions of a split are equal, or all opinions"


def run(job: Job) -> Extras:
    """Write ``scores.parquet``, ``sample_scores.parquet`` and ``cluster_sums.parquet``.

    The last has no rows: values are no means over clusters.

    Args:
        job: the recipe is a `ScoreOptions`; inputs are ``data`` and ``predictions``.

    Returns:
        Numbers of splits, and the median of each convention.

    Raises:
        StpError: a bad recipe, an unknown convention or damaged inputs.
    """
    options = ScoreOptions.from_recipe(job.recipe)
    table, reason = quality.read(job.inputs["predictions"])
    splits = sorted(pc.unique(table["split"]).to_pylist())
    pairs = [_of_split(table, split) for split in splits]
    rows: dict[str, list[Row]] = {}
    columns: dict[str, tables.BySample] = {}
    medians: dict[str, float | None] = {}
    for name in options.conventions:
        metric = conventions.find(name)
        if not isinstance(metric, SetDistance):
            raise StpError(
                f"{name} compares frames, not opinions",
                expected="conventions of agreement, such as srocc.magnitude",
                remedy="correct the columns of the suite",
            )
        values = np.array([metric.distance(*pair) for pair in pairs])
        rows[name] = _rows(values, reason)
        columns[name] = {None: np.ma.masked_invalid(values)[:, None]}
        medians[name] = rows[name][0].value
    named = [f"split {split}" for split in splits]
    tables.write_scores(job.out / "scores.parquet", options.cell, rows)
    tables.write_samples(
        job.out / "sample_scores.parquet", options.cell, None, named, named, columns
    )
    tables.write_clusters(job.out / "cluster_sums.parquet", [], np.array([], np.int64), {})
    return {"samples": len(splits), "values": medians}


def _of_split(table: pa.Table, split: int) -> tuple[np.ndarray, np.ndarray]:
    rows = table.filter(pc.equal(table["split"], split))
    return rows["observed"].to_numpy(), rows["predicted"].to_numpy()


def _rows(values: np.ndarray, reason: str) -> list[Row]:
    """The median over splits, and the standard deviation (ddof 0), as the published code has it.

    A split without a value, such as a correlation of equal predictions, leaves both without.
    """
    why = reason or ("" if len(values) and np.isfinite(values).all() else NO_VALUE)
    found = (None, None) if why else (float(np.median(values)), float(values.std()))
    return [
        Row(None, statistic, value, len(values), why or None)
        for statistic, value in zip(STATISTICS, found, strict=True)
    ]
