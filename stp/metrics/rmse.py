"""Root mean squared error (RMSE); its definitions differ in the mean under the root."""

from typing import Literal

import numpy as np

from stp.metrics.metric import Metric, first_component
from stp.metrics.pixels import frame_size, squared_errors


def _per_frame(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    return np.sqrt(squared_errors(predicted, observed)[:, None] / frame_size(predicted))


def _per_frame_sum(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(squared_errors(predicted, observed)[:, None]))


def _mean_square(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    return squared_errors(predicted, observed)[:, None] / frame_size(predicted)


def _square_sum(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    return squared_errors(predicted, observed)[:, None]


def _root(means: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(first_component(means)))


def rmse(
    *, root: Literal["frames", "pooled"], over_pixels: Literal["sum", "mean"] = "mean"
) -> Metric:
    """Root of the mean squared error of frames.

    Args:
        root: "frames": a root for each frame, then the mean over frames; "pooled": one root of the
            mean over samples and lead times, as in OpenSTL.
        over_pixels: reduction of the squared errors of a frame over C, H and W: "mean", PredBench's
            RMSE for data in physical units (traffic, ICAR-ENSO, SEVIR); "sum", which PredBench's
            code calls RMSE for video.
    """
    if root == "pooled":
        statistics = _mean_square if over_pixels == "mean" else _square_sum
        return Metric(statistics, finish=_root, leads="pool")
    return Metric(_per_frame if over_pixels == "mean" else _per_frame_sum)
