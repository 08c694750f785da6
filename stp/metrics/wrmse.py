"""Latitude-weighted root mean squared error of each variable, in its units.

    sqrt(mean over H, W of w e^2),  w = cos(latitude) / mean of cos(latitude)

with the error e (PredBench, appendix B, equations 3 and 4; ChaosBench, equations 1 and S1). The
conventions differ in where the root is taken. Unobserved points are left out (`stp.metrics.globe`).
"""

from functools import partial
from typing import Literal

import numpy as np

from stp.metrics.comparison import Comparison
from stp.metrics.globe import moments
from stp.metrics.latitude import per_variable, weights_of
from stp.metrics.metric import Metric, every_component, needs_data


def weighted_squares(
    predicted: np.ndarray, observed: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Latitude-weighted mean over H and W of the squared errors.

    Args:
        predicted, observed: frames, (N, T, C, H, W) each.
        weights: weights of latitudes, (H,).

    Returns:
        mean squared errors, float64 (N, C, T).
    """
    return np.asarray(moments(predicted, observed, observed, weights)[2].swapaxes(1, 2))


def _squares_on(metric: Metric, compared: Comparison) -> Metric:
    bound = per_variable(metric, compared)
    weights = weights_of(compared.data)
    if weights is None:
        return bound
    return bound._replace(statistics=partial(weighted_squares, weights=weights))


def _roots_on(metric: Metric, compared: Comparison) -> Metric:
    squares = _squares_on(metric, compared)

    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        return np.asarray(np.sqrt(squares.statistics(predicted, observed)))

    return squares._replace(statistics=statistics)


def wrmse(*, root: Literal["frames", "pooled"]) -> Metric:
    """Root of the latitude-weighted mean squared error of each variable.

    Args:
        root: position of the root. "frames": mean over frames of the root of each frame (PredBench,
            appendix B, equation 3; ChaosBench, equation S1). "pooled": root of the mean over
            samples, as WeatherBench 2 defines RMSE, and for the value of all lead times also over
            lead times. By Jensen's inequality, "pooled" is never below "frames".
    """
    if root == "frames":
        return Metric(needs_data, finish=every_component, on_data=_roots_on)
    return Metric(needs_data, finish=np.sqrt, leads="pool", on_data=_squares_on)
