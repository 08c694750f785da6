"""Frequency bias: number of predicted events divided by number of observed events; 1 is best."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from stp.metrics.contingency import mean_over_thresholds
from stp.metrics.metric import Metric

_NONE = "no value at or above the threshold was observed"


def _bias(hits: np.ndarray, misses: np.ndarray, false_alarms: np.ndarray) -> np.ndarray:
    return np.asarray((hits + false_alarms) / (hits + misses))


def frequency_bias(
    *,
    thresholds: Sequence[float],
    of_range: float | None = None,
    over_leads: Literal["sum", "mean"] = "sum",
) -> Metric:
    """Frequency bias at each threshold, and its mean over thresholds.

    Counts are summed over samples and pixels before the division. (The "log bias" of the released
    code, (bias / ln 2)^2, is not a logarithm and has no convention.)

    Args:
        thresholds, of_range, over_leads: see `stp.metrics.contingency.mean_over_thresholds`.
    """
    return mean_over_thresholds(_bias, thresholds, of_range, over_leads, _NONE)
