"""Compute features of forecasts that are read from an archive or derived from observed clips."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np

from stp.core.job import Job
from stp.data.feature_table import Features, write
from stp.data.prepared import Prepared
from stp.features.clip_features import BLOCK, write_features
from stp.options.features import FeatureOptions
from stp.predict.source import Source, open_source, request_for


def run(job: Job) -> dict[str, Any]:
    """Compute network features of forecasts that are read on demand.

    They are written to ``features.parquet``, as by `stp.features.run`.

    Args:
        job: the recipe is a `FeatureOptions` with ``rollout``, a recipe of forecasts with
            ``source``; the inputs are the same as for `stp.score.read.run`. Runtime: ``weights``,
            ``device``, ``raw_roots`` of an archive.

    Returns:
        facts for the receipt, as returned by `stp.features.run`.

    Raises:
        StpError: as in `stp.score.read.run` and `stp.features.run`.
    """
    recipe = dict(job.recipe)
    rollout = recipe.pop("rollout")
    options = FeatureOptions.from_recipe(recipe)
    data = Prepared(job.inputs["data"])
    request = request_for(job, rollout, data)
    with closing(open_source(rollout, request)) as source:
        whole = len(request.clips), data.shape[0]
        sizes = len(source.rows), len(source.channels)
        if sizes != whole:
            reason = (
                f"the forecasts have {sizes[0]} of {whole[0]} clips, "
                f"{sizes[1]} of {whole[1]} variables"
            )
            write(job.out, [], Features(np.empty((0, 1)), reason))
            return {"clips": 0, "features": 0, "reason": reason}
        return write_features(job, options, request.clips, _blocks(source, options))


def _blocks(source: Source, options: FeatureOptions) -> Iterator[np.ndarray]:
    """Forecasts in the order of the clips, float32 (n, M, T, C, H, W)."""
    leads, count = np.arange(options.lead_times), len(source.rows)
    for start in range(0, count, BLOCK):
        rows = range(start, min(start + BLOCK, count))
        yield np.stack([source.read(row, leads) for row in rows])
