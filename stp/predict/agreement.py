"""Do predictions know the truth? Their agreement with it, beside what its neighbours allow.

A frame can be told from the frames around it, before and behind, up to some error. A forecast knows
those before only. Where it is nearer to the truth than a tenth of that error, it was most likely
made from the truth: a copy, perhaps rounded or noisy, or the wrong array. Each channel is compared
alone, as units differ. Of a scene that stands still, or moves so evenly that neighbours tell all,
nothing can be said.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

NEAR = 0.1
"""Error of a forecast, over that of the best guess from the frames around."""

TOLD = 1e-5
"""Error of this guess, over the size of values, up to which neighbours tell all but rounding."""


def levels(
    forecasts: np.ndarray,
    frames: np.ndarray,
    numbers: np.ndarray,
    valid: np.ndarray,
) -> np.ndarray:
    """Say of each predicted frame how near it is to the truth, in any channel and member.

    Args:
        forecasts: (n, M, T, C, H, W).
        frames: what was observed, (n, F, C, H, W); NaN where nothing was.
        numbers: of these frames, ascending, (F,). Those beside a predicted one are its neighbours.
        valid: number of the frame that each lead time predicts, (T,).

    Returns:
        uint8 (n, T): 0 where nothing can be said, as no frame before is given or neighbours tell
        all; 1: not nearer than the frames around allow; 2: nearer; 3: equal.
    """
    found = np.zeros((len(forecasts), len(valid)), np.uint8)
    place = {int(number): i for i, number in enumerate(numbers)}
    for t, number in enumerate(valid.tolist()):
        around = [place.get(number + step) for step in (-2, -1, 0, 1)]
        earlier, before, truth, behind = (
            None if i is None else frames[:, i].astype(np.float64) for i in around
        )
        if truth is None or before is None:
            continue
        guesses = [before]
        guesses += [] if earlier is None else [2 * before - earlier]
        guesses += [] if behind is None else [behind, (before + behind) / 2]
        allowed = np.min([_rms(guess - truth) for guess in guesses], axis=0)
        allowed[~(allowed > TOLD * _rms(truth))] = 0.0
        errors = np.min([_rms(forecasts[:, m, t] - truth) for m in range(forecasts.shape[1])], 0)
        near = errors < NEAR * allowed
        for held in (allowed > 0, near, near & (errors == 0)):
            found[:, t] += held.any(axis=1)
    return found


def path_levels(paths: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """The same as `levels` of whole paths: a single position may be met by chance.

    Args:
        paths: (P, K, T, 2).
        positions: the last two observed ones, and the T that followed, (P, 2 + T, 2).

    Returns:
        uint8 (P,), from all lead times but the last one, which has no neighbour behind.
    """
    steps, last = paths.shape[2] - 1, positions[:, 1:2]
    if steps < 1 or not len(paths):
        return np.zeros(len(paths), np.uint8)
    around = np.stack([positions[:, s : s + steps] - last for s in range(4)], axis=1)
    ahead = paths[:, :, :-1] - last[:, None]
    found = levels(ahead[:, :, None, None], around[:, :, None], np.arange(4), np.array([2]))
    return found[:, 0]


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
        numbers = np.arange(frames.shape[1])
        valid = numbers[frames.shape[1] - forecasts.shape[2] :]
        self.count(start, levels(forecasts, frames, numbers, valid))

    def count(self, start: int, found: np.ndarray) -> None:
        """Count what `levels` has found of the samples from number ``start`` on."""
        near = found >= 2
        self.frames += int((found > 0).sum())
        self.near += int(near.sum())
        self.equal += int((found == 3).sum())
        if self.first is None and near.any():
            self.first = start + int(near.any(axis=1).argmax())

    def note(
        self, clips: Sequence[str], what: str = "frames", around: str = "the frames around"
    ) -> str:
        """Say what agrees; empty if nothing does.

        Args:
            clips: names of all samples.
            what: was compared.
            around: what it is known from.
        """
        if self.first is None:
            return ""
        return (
            f"NEAR THE TRUTH: {self.near} of {self.frames} predicted {what} are nearer to the "
            f"truth than {around} allow ({self.equal} equal it), the first in sample "
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

    @property
    def differ(self) -> bool:
        """Whether no member equals another one any more."""
        return len(set(self.first())) == len(self._hashes)

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


def _rms(differences: np.ndarray) -> np.ndarray:
    """Root mean square over the pixels that have values: (n, C, H, W) to (n, C)."""
    squares = np.square(differences, dtype=np.float64)
    found = squares.mean(axis=(2, 3))
    if np.isnan(found).any():  # a channel without any has none
        has_value = ~np.isnan(squares)
        with np.errstate(invalid="ignore"):
            found = np.where(has_value, squares, 0).sum(axis=(2, 3)) / has_value.sum(axis=(2, 3))
    return np.asarray(np.sqrt(found))
