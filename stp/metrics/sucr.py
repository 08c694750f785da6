"""Success ratio: hits / (hits + false alarms), one minus the false alarm ratio."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from stp.metrics.contingency import mean_over_thresholds
from stp.metrics.metric import Metric

_NONE = "no value at or above the threshold was predicted"


def _success(hits: np.ndarray, misses: np.ndarray, false_alarms: np.ndarray) -> np.ndarray:
    return np.asarray(hits / (hits + false_alarms))


def sucr(
    *,
    thresholds: Sequence[float],
    of_range: float | None = None,
    over_leads: Literal["sum", "mean"] = "sum",
) -> Metric:
    """Success ratio at each threshold, and its mean over thresholds.

    Counts are summed over samples and pixels before the division.

    Args:
        thresholds, of_range, over_leads: see `stp.metrics.contingency.mean_over_thresholds`.
    """
    return mean_over_thresholds(_success, thresholds, of_range, over_leads, _NONE)
