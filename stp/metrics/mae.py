"""Mean absolute error of forecasts of frames."""

from typing import Literal

import numpy as np

from stp.metrics.metric import Metric
from stp.metrics.pixels import absolute_errors, frame_size


def _pixel_sum(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    return absolute_errors(predicted, observed)[:, None]


def _pixel_mean(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    return absolute_errors(predicted, observed)[:, None] / frame_size(predicted)


def mae(*, over_pixels: Literal["sum", "mean"]) -> Metric:
    """Mean over samples and lead times of the absolute errors of frames.

    Args:
        over_pixels: reduction of a frame's absolute errors over C, H and W: "sum", the MAE of video
            papers, for frames in [0, 1] (PredBench, appendix C.2, Tables 13 and 14); "mean", in
            units of the variable (PredBench, traffic tables).
    """
    return Metric(_pixel_sum if over_pixels == "sum" else _pixel_mean)
