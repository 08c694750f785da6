"""Means over lead times, such as those of weeks, made while frames are read.

A forecast of the third and fourth week is one of their mean: an error that one day makes good on
the next is none. In memory is one mean of each window that has begun, not its frames: those of 14
days of an ensemble are 5 GB.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from stp.metrics.metric import Windows


class Frames(NamedTuple):
    """Frames of some samples, or means over lead times.

    Attributes:
        predicted: float32 (n, M, T, C, H, W).
        observed: float32 (n, T, C, H, W).
        leads: numbers of the lead times from 0, of a mean the last one, (T,).
    """

    predicted: np.ndarray
    observed: np.ndarray
    leads: np.ndarray


class WindowMeans:
    """Means over windows of lead times, of samples that are read in order.

    Args:
        wanted: windows that conventions have, again and again.
    """

    def __init__(self, wanted: Iterable[Windows]) -> None:
        self._wanted = sorted({windows for windows in wanted if windows})
        self._open: dict[tuple[int, int], tuple[int, np.ndarray, np.ndarray]] = {}

    def add(self, frames: Frames) -> dict[Windows, Frames]:
        """Take the next frames of these samples, or the first ones of others.

        A window counts if it is whole: if no lead time of it is left out. Sums are float64, and go
        from frame to frame, so they do not depend on how many come at a time.

        Returns:
            The means over the windows that end with these frames; those without are left out.
        """
        if not self._wanted:
            return {}
        ended: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}
        for t, number in enumerate(frames.leads.tolist()):
            now = frames.predicted[:, :, t], frames.observed[:, t]
            for window in {window for windows in self._wanted for window in windows}:
                first, last = window
                if number + 1 == first:
                    self._open[window] = 1, now[0].astype(np.float64), now[1].astype(np.float64)
                elif first < number + 1 <= last and window in self._open:
                    count, *sums = self._open[window]
                    for total, part in zip(sums, now, strict=True):
                        total += part
                    self._open[window] = count + 1, sums[0], sums[1]
                if number + 1 == last and window in self._open:
                    count, *sums = self._open.pop(window)
                    if count == last + 1 - first:
                        ended[window] = (
                            (sums[0] / count).astype(np.float32),
                            (sums[1] / count).astype(np.float32),
                        )
        found = {}
        for windows in self._wanted:
            there = [window for window in windows if window in ended]
            if there:
                found[windows] = Frames(
                    np.stack([ended[window][0] for window in there], axis=2),
                    np.stack([ended[window][1] for window in there], axis=1),
                    np.array([last - 1 for _, last in there]),
                )
        return found
