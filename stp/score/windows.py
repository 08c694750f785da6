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


class _Sum:
    """The sum of the frames of a window so far."""

    def __init__(self, predicted: np.ndarray, observed: np.ndarray) -> None:
        self._frames = 1
        self._predicted: np.ndarray = predicted.astype(np.float64)
        self._observed: np.ndarray = observed.astype(np.float64)

    def add(self, predicted: np.ndarray, observed: np.ndarray) -> None:
        self._frames += 1
        self._predicted += predicted
        self._observed += observed

    def mean_of(self, frames: int) -> tuple[np.ndarray, np.ndarray] | None:
        """The means, float32; None if frames are missing."""
        if self._frames < frames:
            return None
        both = (self._predicted / frames, self._observed / frames)
        return both[0].astype(np.float32), both[1].astype(np.float32)


class WindowMeans:
    """Means over windows of lead times, of samples that are read in order.

    Args:
        wanted: windows that conventions have, again and again.
    """

    def __init__(self, wanted: Iterable[Windows]) -> None:
        self._wanted = sorted({windows for windows in wanted if windows})
        self._open: dict[tuple[int, int], _Sum] = {}

    def add(self, frames: Frames) -> dict[Windows, Frames]:
        """Take the next frames of these samples, or the first ones of others.

        A window counts if it is whole: if no lead time of it is left out. Sums are float64, and go
        from frame to frame, so they do not depend on how many come at a time.

        Returns:
            The means over the windows that end with these frames; those without are left out.
        """
        ended: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}
        every = {window for windows in self._wanted for window in windows}
        for t, number in enumerate(frames.leads.tolist()):
            now = frames.predicted[:, :, t], frames.observed[:, t]
            for first, last in every:
                if number + 1 == first:
                    self._open[first, last] = _Sum(*now)
                elif first < number + 1 <= last and (first, last) in self._open:
                    self._open[first, last].add(*now)
                if number + 1 == last and (first, last) in self._open:
                    means = self._open.pop((first, last)).mean_of(last + 1 - first)
                    if means is not None:
                        ended[first, last] = means
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
