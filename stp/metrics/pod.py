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
        thresholds: values from which a pixel counts as an event.
        of_range: upper end of the scale of the thresholds, such as 255, if the range of the data is
            mapped to 0..of_range first. None: thresholds are in the units of the data.
        over_leads: value of all lead times together: "sum", the score of counts summed over lead
            times; "mean", the mean of the scores of lead times.
    """
    return mean_over_thresholds(_pod, thresholds, of_range, over_leads, _NONE)
