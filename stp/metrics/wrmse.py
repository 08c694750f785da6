"""Latitude-weighted root mean squared error of each variable, in its units.

    sqrt(mean over H, W of w e^2),  w = cos(latitude) / mean of cos(latitude)

(PredBench, appendix B, equations 3 and 4; ChaosBench, equations 1 and S1). The conventions differ
in where the root is taken. Points where nothing was observed are left out (`stp.metrics.globe`).
"""

from functools import partial

import numpy as np

from stp.metrics.comparison import Comparison
from stp.metrics.globe import moments
from stp.metrics.members import of_members
from stp.metrics.metric import Metric, Windows, every_component, needs_data
from stp.metrics.regions import within
from stp.metrics.weeks import WEEKS


def weighted_squares(
    predicted: np.ndarray, observed: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Mean over H, W of w e^2: frames (N, T, C, H, W), weights (H,) to float64 (N, C, T)."""
    return moments(predicted, observed, observed, weights)[2].swapaxes(1, 2)


def _squares_on(metric: Metric, compared: Comparison, region: str = "") -> Metric:
    bound, cut = within(metric, compared, region)
    if cut is None:
        return bound

    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        return weighted_squares(cut(predicted), cut(observed), cut.weights)

    return bound._replace(statistics=statistics)


def _roots_on(metric: Metric, compared: Comparison) -> Metric:
    squares = _squares_on(metric, compared)

    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        return np.sqrt(squares.statistics(predicted, observed))

    return squares._replace(statistics=statistics)


def _pooled(region: str = "", windows: Windows = ()) -> Metric:
    on_data = partial(_squares_on, region=region)
    return Metric(needs_data, finish=np.sqrt, leads="pool", on_data=on_data, windows=windows)


per_frame = Metric(needs_data, finish=every_component, on_data=_roots_on)
"""The root of each frame, then the mean over frames (PredBench, appendix B, equation 3; ChaosBench,
equation S1)."""

per_frame_of_members = of_members(per_frame)
"""The mean over members of ``per_frame`` (ChaosBench, equation S14)."""

pooled = _pooled()
"""One root of the mean over samples, as WeatherBench 2 defines RMSE; for all lead times together,
of the mean over these too. By Jensen's inequality never below ``per_frame``."""

weekly = _pooled(windows=WEEKS)
"""As ``pooled``, of the mean forecast and the mean observation of weeks 1, 2, 3-4 and 5-6: errors
of single days that cancel within a week do not count."""

pooled_tropics = _pooled("tropics")
pooled_northern_extratropics = _pooled("northern_extratropics")
pooled_southern_extratropics = _pooled("southern_extratropics")
pooled_europe = _pooled("europe")
pooled_north_america = _pooled("north_america")
"""As ``pooled``, of one of the boxes of `stp.metrics.regions`."""
