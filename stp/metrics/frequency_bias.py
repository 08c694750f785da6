"""Frequency bias: events predicted over events observed; 1 is right, below 1 too few."""

import numpy as np

from stp.metrics.contingency import mean_over_thresholds


def _bias(hits: np.ndarray, misses: np.ndarray, false_alarms: np.ndarray) -> np.ndarray:
    return (hits + false_alarms) / (hits + misses)


mean = mean_over_thresholds(
    _bias, pool=True, no_value="no value at or above the threshold was observed"
)
"""Counts summed over samples, lead times and pixels, at the thresholds of `csi`, and their mean.
(The released code also has a "log bias", (bias / ln 2)^2: no logarithm, and not offered here.)"""
