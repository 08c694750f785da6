"""How well predicted ratings of videos agree with those of people: two columns of numbers."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Agreement(NamedTuple):
    """A convention that compares predicted and observed ratings of the videos of a split.

    Attributes:
        value: (observed, predicted) of N videos, float64 (N,) each, to the value; NaN if there is
            none.
        weighted: the same of resamples, in which a video occurs so often: (observed, predicted,
            counts (B, N)) to the B values.
        signless: ``value`` is the size of what ``weighted`` gives with its sign, which intervals
            need (`stp.score.opinions.magnitude_ends`).
    """

    value: Callable[[np.ndarray, np.ndarray], float]
    weighted: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    signless: bool = False
