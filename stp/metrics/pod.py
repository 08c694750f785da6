"""Probability of detection: hits / (hits + misses)."""

import numpy as np

from stp.metrics.contingency import mean_over_thresholds


def _pod(hits: np.ndarray, misses: np.ndarray, false_alarms: np.ndarray) -> np.ndarray:
    return hits / (hits + misses)


mean = mean_over_thresholds(
    _pod, pool=True, no_value="no value at or above the threshold was observed"
)
"""Counts summed over samples, lead times and pixels, at the thresholds of `csi`, and their mean."""
