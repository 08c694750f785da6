"""Frequency bias: number of predicted events divided by number of observed events; 1 is best."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from stp.metrics.contingency import mean_over_thresholds
from stp.metrics.metric import Metric

_NONE = "no value at or above the threshold was observed"


# The "log bias" of PredBench's code, (bias / ln 2)^2, is not a logarithm and has no convention.
def _bias(hits: np.ndarray, misses: np.ndarray, false_alarms: np.ndarray) -> np.ndarray:
    return np.asarray((hits + false_alarms) / (hits + misses))


def frequency_bias(
    *,
    thresholds: Sequence[float],
    of_range: float | None = None,
    over_leads: Literal["sum", "mean"] = "sum",
) -> Metric:
    """Frequency bias at each threshold, and its mean over thresholds.

    It is the number of predicted events divided by the number of observed events. Both are counted
    in all pixels of all samples before the division.

    Args:
        thresholds: values from which a pixel counts as an event.
        of_range: upper end of the scale of the thresholds, such as 255, if the range of the data is
            mapped to 0..of_range first. None: thresholds are in the units of the data.
        over_leads: value of all lead times together: "sum", the score of counts summed over lead
            times; "mean", the mean of the scores of lead times.
    """
    return mean_over_thresholds(_bias, thresholds, of_range, over_leads, _NONE)
