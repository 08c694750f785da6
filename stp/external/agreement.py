"""Do predictions know the truth? Their agreement with it, beside what its neighbours allow.

A frame can be told from the frames around it, before and behind, up to some error. A forecast knows
those before only. Where it is nearer to the truth than a tenth of that error, it was most likely
made from the truth: a copy, perhaps rounded or noisy, or the wrong array. Of a scene that stands
still, or moves so evenly that neighbours tell all, nothing can be said.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

NEAR = 0.1
"""Error of a forecast, over that of the best guess from the frames around."""

TOLD = 1e-5
"""Error of this guess, over the size of values, up to which neighbours tell all but rounding."""


class Agreement:
    """Counts predicted frames that equal the truth, exactly or nearly, while they are read.

    Attributes:
        frames: that were compared: those that their neighbours do not tell.
        near: of these, as near to the truth in one of the members; equal ones included.
        equal: of these, equal to the truth in one of the members.
        first: number of the first sample with such a frame; None if there is none.
    """

    def __init__(self) -> None:
        self.frames = self.near = self.equal = 0
        self.first: int | None = None

    def add(self, start: int, forecasts: np.ndarray, frames: np.ndarray) -> None:
        """Compare some samples.

        Args:
            start: number of the first.
            forecasts: (n, M, T, C, H, W).
            frames: what was observed, with the last frames of the context before the T others, if
                there are any, (n, T or more, C, H, W).
        """
        lead = frames.shape[1] - forecasts.shape[2]
        if lead == 0:  # no context: the first frame has nothing before it
            forecasts, lead = forecasts[:, :, 1:], 1
        if not forecasts.shape[2]:
            return
        allowed = _error_of_neighbours(frames.astype(np.float64), lead)
        allowed[allowed <= TOLD * _rms(frames[:, lead:])] = 0.0
        errors = np.min(
            [_rms(forecasts[:, m] - frames[:, lead:]) for m in range(forecasts.shape[1])], axis=0
        )
        near = (allowed > 0) & (errors < NEAR * allowed)
        self.frames += int((allowed > 0).sum())
        self.near += int(near.sum())
        self.equal += int((near & (errors == 0)).sum())
        if self.first is None and near.any():
            self.first = start + int(near.any(axis=1).argmax())

    def note(self, clips: Sequence[str]) -> str:
        """Say what agrees; empty if nothing does.

        Args:
            clips: names of all samples.
        """
        if self.first is None:
            return ""
        return (
            f"NEAR THE TRUTH: {self.near} of {self.frames} predicted frames are nearer to the "
            f"truth than the frames around allow ({self.equal} equal it), the first in sample "
            f"{self.first} ({clips[self.first]})"
        )


class Copies:
    """Tells which members of an ensemble are the same in all samples, while they are read."""

    def __init__(self, members: int) -> None:
        self._hashes = [hashlib.sha256() for _ in range(members)]

    def add(self, forecasts: np.ndarray) -> None:
        """Note some samples, float32 (n, M, ...)."""
        for member, hashed in enumerate(self._hashes):
            hashed.update(np.ascontiguousarray(forecasts[:, member]).data)

    def first(self) -> list[int]:
        """For each member, the first one that equals it."""
        found = [hashed.digest() for hashed in self._hashes]
        return [found.index(digest) for digest in found]

    def note(self) -> str:
        """Say which members are copies; empty if none is."""
        copies = [f"{m + 1} of {one + 1}" for m, one in enumerate(self.first()) if m != one]
        if not copies:
            return ""
        return f"EQUAL MEMBERS: copies are counted once (member {', '.join(copies)})"


def _error_of_neighbours(frames: np.ndarray, first: int) -> np.ndarray:
    """How nearly frames from number ``first`` on, at least 1, can be told from others, (n, T)."""
    truth, before = frames[:, first:], frames[:, first - 1 : -1]
    error = _rms(before - truth)
    if first > 1:
        error = np.minimum(error, _rms(2 * before - frames[:, first - 2 : -2] - truth))
    behind, there = frames[:, first + 1 :], truth[:, :-1]
    around = [_rms(behind - there), _rms((before[:, :-1] + behind) / 2 - there)]
    error[:, :-1] = np.minimum(error[:, :-1], np.min(around, axis=0))
    return error


def _rms(differences: np.ndarray) -> np.ndarray:
    """Root mean square over channels and pixels: (n, T, C, H, W) to (n, T)."""
    return np.asarray(np.sqrt(np.square(differences, dtype=np.float64).mean(axis=(2, 3, 4))))
