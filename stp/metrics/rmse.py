"""Root mean squared error: the conventions differ in what stands under the root."""

import numpy as np

from stp.metrics.batches import mean_of_batches
from stp.metrics.metric import Metric, first_component
from stp.metrics.pixels import frame_size, squared_errors


def _per_frame(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    return np.sqrt(squared_errors(predicted, observed)[:, None] / frame_size(predicted))


def _per_frame_sum(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    return np.sqrt(squared_errors(predicted, observed)[:, None])


def _mean_square(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    return squared_errors(predicted, observed)[:, None] / frame_size(predicted)


def _root(means: np.ndarray) -> np.ndarray:
    return np.sqrt(first_component(means))


per_frame = Metric(_per_frame)
"""sqrt(mean over C, H, W of e^2) of each frame, then the mean over frames: PredBench's RMSE for
data in physical units (traffic, ICAR-ENSO, SEVIR)."""

per_frame_sum = Metric(_per_frame_sum)
"""sqrt(sum over C, H, W of e^2) of each frame, then the mean over frames: what PredBench's code
calls RMSE for video."""

pooled = Metric(_mean_square, finish=_root, leads="pool")
"""One root of the mean over samples, lead times, C, H, W, as in OpenSTL; by Jensen's inequality
never below ``per_frame``."""

per_frame_batch16 = mean_of_batches(per_frame, 16)
"""As ``per_frame``, the mean over batches of 16 of their means: how PredBench's code averages."""
