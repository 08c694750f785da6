"""Compute features of forecasts that no network of stp computes.

They are read from files, or derived from observed clips, by a module of `stp.predict.sources`.
"""

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
    """Compute the features of forecasts from a source, and write ``features.parquet``.

    A source is a module of `stp.predict.sources`. It reads forecasts from an archive or a user's
    files, or derives them from the prepared data, such as a climatology or distorted clips. The
    forecasts are not stored.

    The file has a row for each clip. If not all clips and variables have a forecast, it contains a
    reason in place of features.

    Args:
        job: settings (recipe), inputs and output folder. The recipe has the fields of
            `FeatureOptions`, and ``rollout``: the recipe of the forecasts, with the name of their
            ``source``, such as ``distorted_clips``, and its ``options``. The key is named as in
            `stp.features.rollout`, although these forecasts are no rollouts. Inputs are ``data``
            (the prepared data) and, for forecasts from files, ``archive`` (the lock file of these
            files). Runtime: ``weights`` (paths of weights by network), ``device``, ``raw_roots``
            (folders that are searched for the files).

    Returns:
        numbers of clips and of features, and the ``reason`` if there are no features.

    Raises:
        StpError: the recipe is wrong, the data or forecasts are missing or damaged or do not fit
            each other, or the weights of the network are missing or changed.
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
