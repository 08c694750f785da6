"""Detect predictions that were made from the truth.

A frame can be estimated from the observed frames before and after it, up to some error. A forecast
may use only the frames before it. If the error of a forecast is less than a tenth of the error of
the best estimate, the forecast was most likely made from the truth: a copy, perhaps rounded or
noisy, or the wrong array. Channels are compared separately, since units differ. Still scenes, and
motion so regular that neighbours determine the frame, are not judged.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

NEAR = 0.1
"""Maximum error of a suspicious forecast, relative to the best estimate from neighbours."""

DETERMINED = 1e-5
"""Relative error of the best estimate below which neighbours determine the frame."""


def levels(
    forecasts: np.ndarray,
    frames: np.ndarray,
    numbers: np.ndarray,
    valid: np.ndarray,
) -> np.ndarray:
    """Find how closely each predicted frame agrees with the truth, in any channel and member.

    Args:
        forecasts: predicted frames of n samples, M members and T lead times, (n, M, T, C, H, W).
        frames: F observed frames of each sample, (n, F, C, H, W); NaN for missing values.
        numbers: index in time of each of the F observed frames, ascending, int (F,). Neighbours of
            a frame have an index that differs by 1.
        valid: index in time of the frame that each lead time predicts, as in ``numbers``, int (T,).

    Returns:
        levels of agreement, uint8 (n, T). Of all channels and members, the highest level counts.

        - 0: the frame is not judged.
        - 1: its error is at least a tenth of the error of the best estimate from neighbouring
          frames, as expected of an honest forecast.
        - 2: its error is smaller, so it is suspiciously near to the truth.
        - 3: it is equal to the truth.
    """
    result = np.zeros((len(forecasts), len(valid)), np.uint8)
    index = {int(number): i for i, number in enumerate(numbers)}
    for t, number in enumerate(valid.tolist()):
        around = [index.get(number + step) for step in (-2, -1, 0, 1)]
        earlier, before, truth, behind = (
            None if i is None else frames[:, i].astype(np.float64) for i in around
        )
        if truth is None or before is None:
            continue
        guesses = [before]
        guesses += [] if earlier is None else [2 * before - earlier]
        guesses += [] if behind is None else [behind, (before + behind) / 2]
        allowed = np.min([_rms(guess - truth) for guess in guesses], axis=0)
        allowed[~(allowed > DETERMINED * _rms(truth))] = 0.0
        errors = np.min([_rms(forecasts[:, m, t] - truth) for m in range(forecasts.shape[1])], 0)
        near = errors < NEAR * allowed
        for condition in (allowed > 0, near, near & (errors == 0)):
            result[:, t] += condition.any(axis=1)
    return result


def agreement_of_paths(paths: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Find how closely predicted paths of people agree with the truth.

    Whole paths are compared, since single positions agree by chance.

    Args:
        paths: K predicted paths of each of P people, T positions long, metres, (P, K, T, 2).
        positions: the last two observed positions and the T future ones, metres, (P, 2 + T, 2).

    Returns:
        levels of agreement from 0 to 3, uint8 (P,), as for `levels`. In place of neighbouring
        frames, the positions one and two moments earlier and one moment later are used. Of the K
        paths, the highest level counts. The last position is not compared, since it has no later
        neighbour.
    """
    steps, last = paths.shape[2] - 1, positions[:, 1:2]
    if steps < 1 or not len(paths):
        return np.zeros(len(paths), np.uint8)
    around = np.stack([positions[:, s : s + steps] - last for s in range(4)], axis=1)
    ahead = paths[:, :, :-1] - last[:, None]
    return levels(ahead[:, :, None, None], around[:, :, None], np.arange(4), np.array([2]))[:, 0]


class Agreement:
    """Counts predicted frames that agree with the truth, while they are read.

    Attributes:
        frames: number of frames that were judged.
        near: number of frames that are equal or suspiciously near to the truth.
        equal: number of frames that are equal to the truth.
        first: index of the first sample with a near frame; None without near frames.
    """

    def __init__(self) -> None:
        self.frames = self.near = self.equal = 0
        self.first: int | None = None

    def add(self, start: int, forecasts: np.ndarray, frames: np.ndarray) -> None:
        """Compare the forecasts of some samples with the truth.

        Args:
            start: index of the first sample.
            forecasts: predicted frames of n samples, M members and T lead times, (n, M, T, C, H,
                W).
            frames: observed frames, preceded by the last context frames, if there are any,
                (n, T or more, C, H, W).
        """
        numbers = np.arange(frames.shape[1])
        valid = numbers[frames.shape[1] - forecasts.shape[2] :]
        self.count(start, levels(forecasts, frames, numbers, valid))

    def count(self, start: int, rated: np.ndarray) -> None:
        """Count the levels of agreement of some consecutive samples.

        Args:
            start: index of the first of these samples.
            rated: levels of agreement from 0 to 3 (`levels`), (samples, lead times) or, for people,
                (samples, people).
        """
        near = rated >= 2
        self.frames += int((rated > 0).sum())
        self.near += int(near.sum())
        self.equal += int((rated == 3).sum())
        if self.first is None and near.any():
            self.first = start + int(near.any(axis=1).argmax())

    def note(
        self, clips: Sequence[str], compared: str = "frames", around: str = "the frames around"
    ) -> str:
        """Make the warning that predictions are suspiciously near to the truth.

        A predicted frame is suspicious if its error is less than a tenth of the error of the best
        estimate from neighbouring frames. Frames that equal the truth are among these. Tables show
        the warning beside the model.

        Args:
            clips: names of all samples.
            compared: what was compared, in the plural, such as "paths of people".
            around: neighbours of what was compared, such as "the positions before and behind".

        Returns:
            a sentence with the number of suspicious frames and the first sample that has one; empty
            if no frame is suspicious.
        """
        if self.first is None:
            return ""
        return (
            f"NEAR THE TRUTH: {self.near} of {self.frames} predicted {compared} are nearer to the "
            f"truth than {around} allow ({self.equal} equal it), the first in sample "
            f"{self.first} ({clips[self.first]})"
        )


class Copies:
    """Finds members of an ensemble that are equal in all samples, while they are read.

    Args:
        members: number of members.
    """

    def __init__(self, members: int) -> None:
        self._hashes = [hashlib.sha256() for _ in range(members)]

    def add(self, forecasts: np.ndarray) -> None:
        """Add the forecasts of further samples to the comparison of members for equality.

        Each sample is added once. `differ`, `first` and `note` give the result.

        Args:
            forecasts: forecasts of some samples, float32 (samples, members, ...).
        """
        for member, hashed in enumerate(self._hashes):
            hashed.update(np.ascontiguousarray(forecasts[:, member]).data)

    @property
    def differ(self) -> bool:
        """Whether every two members differ somewhere in the forecasts that were added so far."""
        return len(set(self.first())) == len(self._hashes)

    def first(self) -> list[int]:
        """For each member, the index of the first member equal to it, which may be itself."""
        digests = [hashed.digest() for hashed in self._hashes]
        return [digests.index(digest) for digest in digests]

    def note(self) -> str:
        """Warning about equal members, which tables show beside the model; empty without any."""
        copies = [f"{m + 1} of {n + 1}" for m, n in enumerate(self.first()) if m != n]
        if not copies:
            return ""
        return f"EQUAL MEMBERS: copies are counted once (member {', '.join(copies)})"


def _rms(differences: np.ndarray) -> np.ndarray:
    """Root mean square over pixels with values: (n, C, H, W) to (n, C); NaN if there are none."""
    squares = np.square(differences, dtype=np.float64)
    mean = squares.mean(axis=(2, 3))
    if np.isnan(mean).any():
        has_value = ~np.isnan(squares)
        with np.errstate(invalid="ignore"):
            mean = np.where(has_value, squares, 0).sum(axis=(2, 3)) / has_value.sum(axis=(2, 3))
    return np.asarray(np.sqrt(mean))
