"""Success ratio: hits / (hits + false alarms), one minus the false alarm ratio."""

import numpy as np

from stp.metrics.contingency import mean_over_thresholds


def _success(hits: np.ndarray, misses: np.ndarray, false_alarms: np.ndarray) -> np.ndarray:
    return hits / (hits + false_alarms)


mean = mean_over_thresholds(
    _success, pool=True, no_value="no value at or above the threshold was predicted"
)
"""Counts summed over samples, lead times and pixels, at the thresholds of `csi`, and their mean."""
