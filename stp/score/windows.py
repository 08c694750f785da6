"""Compute means over windows of lead times, such as weeks, while frames are read.

Subseasonal forecasts are judged by the mean over, say, the third and fourth week, in which errors
of opposite sign cancel. Memory holds one sum for each open window, not its frames, which are 5 GB
for 14 days of an ensemble.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from stp.metrics.metric import Windows


class Frames(NamedTuple):
    """Frames of n samples, or means of frames over windows of lead times.

    Attributes:
        predicted: predicted frames of M members, float32 (n, M, T, C, H, W).
        observed: observed frames, float32 (n, T, C, H, W).
        leads: index of the lead time of each frame, from 0, (T,); for a mean, the last lead time of
            the window.
    """

    predicted: np.ndarray
    observed: np.ndarray
    leads: np.ndarray


class _Sum:
    """Running sum of the frames of a window."""

    def __init__(self, predicted: np.ndarray, observed: np.ndarray) -> None:
        self._frames = 1
        self._predicted: np.ndarray = predicted.astype(np.float64)
        self._observed: np.ndarray = observed.astype(np.float64)

    def add(self, predicted: np.ndarray, observed: np.ndarray) -> None:
        self._frames += 1
        self._predicted += predicted
        self._observed += observed

    def mean_of(self, frames: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Mean over a window of ``frames`` frames, float32; None if frames are missing."""
        if self._frames < frames:
            return None
        both = (self._predicted / frames, self._observed / frames)
        return both[0].astype(np.float32), both[1].astype(np.float32)


class WindowMeans:
    """Running means over windows of lead times, for samples that are read in order.

    Args:
        windows: for each convention, its windows: first and last lead time of each, from 1, such as
            ``((1, 7), (8, 14))``. Sets may repeat, or be empty.
    """

    def __init__(self, windows: Iterable[Windows]) -> None:
        self._windows = sorted({of for of in windows if of})
        self._open: dict[tuple[int, int], _Sum] = {}

    def add(self, frames: Frames) -> dict[Windows, Frames]:
        """Add the next frames of the samples that are being read.

        Call this for a block of samples until all lead times are added, then for the next block.
        The frame of a window's first lead time starts the window's mean anew. Frames are added one
        by one in float64, so sums do not depend on the number of frames per call.

        Args:
            frames: predicted and observed frames of n samples at successive lead times, which
                continue the last call.

        Returns:
            means over the windows that end within ``frames``, if no frame of the window is missing.
            The keys are the sets of windows that were given to this class, such as ``((1, 7), (8,
            14))``; a set is left out if none of its windows ends here.
        """
        ended: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}
        every = {window for windows in self._windows for window in windows}
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
        means_of = {}
        for windows in self._windows:
            complete = [window for window in windows if window in ended]
            if complete:
                means_of[windows] = Frames(
                    np.stack([ended[window][0] for window in complete], axis=2),
                    np.stack([ended[window][1] for window in complete], axis=1),
                    np.array([last - 1 for _, last in complete]),
                )
        return means_of
