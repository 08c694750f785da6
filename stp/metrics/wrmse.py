"""Latitude-weighted root mean squared error of each variable, in its units.

    sqrt(mean over H, W of w e^2),  w = cos(latitude) / mean of cos(latitude)

(PredBench, appendix B, equations 3 and 4; ChaosBench, equations 1 and S1). The conventions differ
in where the root is taken. Points where nothing was observed are left out (`stp.metrics.globe`).
"""

import numpy as np

from stp.metrics.comparison import Comparison
from stp.metrics.globe import Area, by_group
from stp.metrics.latitude import per_variable, weights_of
from stp.metrics.members import of_members
from stp.metrics.metric import Metric, every_component, needs_data


def weighted_squares(
    predicted: np.ndarray, observed: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Mean over H, W of w e^2: frames (N, T, C, H, W), weights (H,) to float64 (N, C, T)."""
    return by_group(_squares, predicted, observed, weights, 1)


def _squares(area: Area, predicted: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray]:
    error = area.difference(predicted, observed)
    return (area.mean(error, error),)


def _squares_on(metric: Metric, compared: Comparison) -> Metric:
    bound = per_variable(metric, compared)
    weights = weights_of(compared.data)
    if weights is None:
        return bound

    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        return weighted_squares(predicted, observed, weights)

    return bound._replace(statistics=statistics)


def _roots_on(metric: Metric, compared: Comparison) -> Metric:
    squares = _squares_on(metric, compared)

    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        return np.sqrt(squares.statistics(predicted, observed))

    return squares._replace(statistics=statistics)


per_frame = Metric(needs_data, finish=every_component, on_data=_roots_on)
"""The root of each frame, then the mean over frames (PredBench, appendix B, equation 3; ChaosBench,
equation S1)."""

per_frame_of_members = of_members(per_frame)
"""The mean over members of ``per_frame`` (ChaosBench, equation S14)."""

pooled = Metric(needs_data, finish=np.sqrt, leads="pool", on_data=_squares_on)
"""One root of the mean over samples, as WeatherBench 2 defines RMSE; for all lead times together,
of the mean over these too. By Jensen's inequality never below ``per_frame``."""
