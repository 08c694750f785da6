"""Weeks of a forecast: the windows over whose means subseasonal forecasts are scored."""

import numpy as np

from stp.metrics.climatology import Climatology

WEEKS = ((1, 7), (8, 14), (15, 28), (29, 42))
"""First and last day: weeks 1 and 2, and weeks 3-4 and 5-6 as one each, as centres issue them."""


def first_of(last: int) -> int:
    """The first lead time of the weeks that end with one; both are numbers from 0."""
    return next(first - 1 for first, end in WEEKS if end == last + 1)


def mean_of_weeks(climatology: Climatology, frames: np.ndarray, last: int) -> np.ndarray:
    """Mean climatology of the days of a window, float32 (C, H, W).

    Args:
        climatology: of each day.
        frames: of a sample at all lead times, int64 (T,).
        last: the last lead time of the window, from 0.
    """
    days = frames[first_of(last) : last + 1].tolist()
    total = sum(climatology.read(int(day)).astype(np.float64) for day in days)
    return np.asarray(total / len(days), np.float32)
