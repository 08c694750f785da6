"""Agreement of predicted with observed opinions, a value for each split of the videos.

Its value is no mean over samples: splits overlap, so they are no sample, and there is no interval
of them; scores have the median and the standard deviation over splits.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Agreement(NamedTuple):
    """A convention that compares predictions with opinions.

    Attributes:
        value: (predicted, observed), float64 (N,) each, to a number; NaN where it has none.
        no_value: why.
    """

    value: Callable[[np.ndarray, np.ndarray], float]
    no_value: str


def varies(predicted: np.ndarray, observed: np.ndarray) -> bool:
    """Is there something to correlate?"""
    return len(predicted) > 1 and np.ptp(predicted) > 1e-9 and np.ptp(observed) > 1e-9
