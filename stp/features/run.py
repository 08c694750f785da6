"""Compute features of the observed clips of a split, or of their stored predictions."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from stp.core.errors import ArtefactError
from stp.core.job import Extras, Job
from stp.data.prepared import Prepared
from stp.data.zarr_rows import MappedRows
from stp.features.clip_features import BLOCK, write_features
from stp.options.features import FeatureOptions


def run(job: Job) -> Extras:
    """Compute the features of observed clips or stored predictions: ``features.parquet``.

    The file has a row for each clip (see stp.data.feature_table).

    Args:
        job: settings (recipe), inputs and output folder. The recipe has the fields of
            `FeatureOptions`; inputs are ``data`` and, for features of predicted clips,
            ``predictions``. Runtime: ``weights`` (paths of weights by network), ``device``.

    Returns:
        numbers of clips and of features, and the ``reason`` if there are no features.

    Raises:
        StpError: a bad recipe, damaged inputs, missing or changed weights, or
            predictions that do not fit the data.
    """
    options = FeatureOptions.from_recipe(job.recipe)
    data = Prepared(job.inputs["data"])
    clips = data.clips(options.split, interval=options.interval)
    folder = job.inputs.get("predictions")
    return write_features(
        job, options, clips, None if folder is None else _read_predictions(folder, options)
    )


def _read_predictions(folder: Path, options: FeatureOptions) -> Iterator[np.ndarray]:
    """Stored predictions, block by block: float32 (n, M, T, C, H, W)."""
    path = Path(folder) / "predictions.zarr"
    stored = MappedRows(path / "predictions")
    if stored.shape[-4] != options.lead_times:
        raise ArtefactError(
            path,
            f"predictions of {stored.shape[-4]} lead times",
            expected=f"{options.lead_times}: networks read whole clips",
        )
    for start in range(0, stored.shape[0], BLOCK):
        block = np.asarray(stored.read(start, min(start + BLOCK, stored.shape[0])), np.float32)
        yield block if block.ndim == 6 else block[:, None]
