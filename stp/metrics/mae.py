"""Mean absolute error."""

import numpy as np

from stp.metrics.batches import mean_of_batches
from stp.metrics.metric import Metric
from stp.metrics.pixels import absolute_errors, frame_size


def _pixel_sum(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    return absolute_errors(predicted, observed)[:, None]


def _pixel_mean(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    return absolute_errors(predicted, observed)[:, None] / frame_size(predicted)


pixel_sum = Metric(_pixel_sum)
"""Sum over C, H, W, then the mean over samples and lead times. What video papers print as MAE, on
frames in [0, 1] (PredBench, appendix C.2, Tables 13 and 14)."""

pixel_mean = Metric(_pixel_mean)
"""Mean over everything, in units of the variable (PredBench, traffic tables)."""

pixel_mean_batch16 = mean_of_batches(pixel_mean, 16)
"""As ``pixel_mean``, the mean over batches of 16 of their means: how PredBench's code averages."""
