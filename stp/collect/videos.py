"""Read videos of a model in a test: the observed frames, followed by the stored prediction."""

from pathlib import Path

import numpy as np

from stp.collect.schema import CellRow
from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.plan.setting import setting_of
from stp.score.predictions import Predictions


def find_predictions(cell: CellRow) -> Path | None:
    """Folder with the predictions of a cell (one model on one dataset); None if none are stored.

    If predictions are scored without storing them, a few may be in the folder of the scores.
    """
    folders = [Path(name) for name in (cell.predictions_folder, cell.scores_folder) if name]
    return next((folder for folder in folders if (folder / "predictions.zarr").is_dir()), None)


def predictions(cell: CellRow) -> Predictions:
    """Open the stored predictions of one model in one test (a cell).

    Raises:
        StpError: predictions are not stored, are not videos, or are damaged.
    """
    stored = find_predictions(cell)
    if stored is None:
        raise StpError(
            f"the predictions of {cell.key.path} are not stored",
            expected="a cell whose predictions are stored",
            remedy="choose another cell, or store predictions (`keep` in the scale file)",
        )
    data = Prepared(Path(cell.data_folder))
    if data.frames.dtype != np.uint8 or data.shape[0] not in (1, 3):
        raise StpError(
            f"{cell.key.path} predicts no video ({data.shape[0]} channels of {data.frames.dtype})",
            expected="predictions of 8-bit grey or colour pictures",
        )
    interval = setting_of(cell.setting).get("interval", 1)
    return Predictions(stored, data, cell.subset, int(interval))


def video(stored: Predictions, sample: int) -> np.ndarray:
    """Read the observed frames, if any, and the prediction of one sample, float32 (T, C, H, W).

    If a sample has several random predictions, the first one is read.
    """
    forecast: np.ndarray = stored.read(sample, sample + 1)[0][0, 0]
    if not stored.context:  # distortions of whole clips
        return forecast
    return np.concatenate([stored.read_context(sample, sample + 1)[0], forecast])
