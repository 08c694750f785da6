"""Critical success index, also threat score: hits / (hits + misses + false alarms)."""

import numpy as np

from stp.metrics.contingency import mean_over_thresholds

_NONE = "no value at or above the threshold, neither observed nor predicted"


def _csi(hits: np.ndarray, misses: np.ndarray, false_alarms: np.ndarray) -> np.ndarray:
    return hits / (hits + misses + false_alarms)


mean = mean_over_thresholds(_csi, pool=True, no_value=_NONE)
"""Counts summed over samples, lead times and pixels, the index at 16, 74, 133, 160, 181 and 219,
and their mean (PredBench, appendix B, equations 6 and 7). Its code adds 1e-4 to the denominator,
so that a threshold without events counts as 0; here it has no value, nor has the mean with it."""

mean_of_leads = mean_over_thresholds(_csi, pool=False, no_value=_NONE)
"""As ``mean``, but for all lead times together the mean over lead times of the index, as
nowcasting papers average; late lead times, with less skill, count as much as early ones."""
