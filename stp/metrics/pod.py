"""Probability of detection: hits / (hits + misses)."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from stp.metrics.contingency import mean_over_thresholds
from stp.metrics.metric import Metric

_NONE = "no value at or above the threshold was observed"


def _pod(hits: np.ndarray, misses: np.ndarray, false_alarms: np.ndarray) -> np.ndarray:
    return np.asarray(hits / (hits + misses))


def pod(
    *,
    thresholds: Sequence[float],
    of_range: float | None = None,
    over_leads: Literal["sum", "mean"] = "sum",
) -> Metric:
    """Probability of detection at each threshold, and its mean over thresholds.

    Counts are summed over samples and pixels before the division.

    Args:
        thresholds, of_range, over_leads: see `stp.metrics.contingency.mean_over_thresholds`.
    """
    return mean_over_thresholds(_pod, thresholds, of_range, over_leads, _NONE)
