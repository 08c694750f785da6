"""Weeks of a forecast: windows of lead times over which subseasonal forecasts are averaged."""

import numpy as np

from stp.core.errors import ConfigurationError
from stp.metrics.climatology import Climatology
from stp.metrics.metric import Metric, Windows

WEEKS = ((1, 7), (8, 14), (15, 28), (29, 42))
"""First and last day of weeks 1, 2, 3-4 and 5-6, as in forecasts of centres."""


def compose(metric: Metric, windows: str | list[list[int]]) -> Metric:
    """Make a metric that compares mean fields over windows of lead times.

    Args:
        metric: a metric of single lead times.
        windows: first and last lead time of each window, from 1, such as ``[[1, 5], [6, 10]]``; or
            "weeks", the days 1-7, 8-14, 15-28 and 29-42 (weeks 1, 2, 3-4 and 5-6).

    Raises:
        StpError: `windows` has another form.
    """
    chosen: Windows = WEEKS
    if windows != "weeks":
        pairs = windows if isinstance(windows, list) else []
        ok = bool(pairs) and all(
            isinstance(pair, list)
            and len(pair) == 2
            and all(isinstance(lead, int) for lead in pair)
            and 1 <= pair[0] <= pair[1]
            for pair in pairs
        )
        chosen = tuple((pair[0], pair[1]) for pair in pairs) if ok else ()
        if not ok or len({last for _, last in chosen}) < len(chosen):
            raise ConfigurationError(
                f"windows of lead times are {windows!r}",
                expected="weeks, or first and last lead times from 1: [[1, 5], [6, 10]]",
            )
    return metric._replace(windows=chosen)


def first_of(last: int, windows: Windows) -> int:
    """First lead time of the window whose last lead time is ``last``, both counted from 0."""
    return next(first - 1 for first, end in windows if end == last + 1)


def mean_at(
    climatology: Climatology, frames: np.ndarray, lead: int, windows: Windows
) -> np.ndarray:
    """Climatology at a lead time or, with windows, its mean over the window that ends there.

    Args:
        climatology: climatology of each day.
        frames: frame indices of a sample at all lead times, int64 (T,).
        lead: index of the lead time, from 0.
        windows: windows of the convention; empty without averaging.

    Returns:
        the mean field, float32 (C, H, W).
    """
    if not windows:
        return climatology.read(int(frames[lead]))
    days = frames[first_of(lead, windows) : lead + 1].tolist()
    total = sum(climatology.read(int(day)).astype(np.float64) for day in days)
    return np.asarray(total / len(days), np.float32)
