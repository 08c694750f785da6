"""Scenarios: moments in which everybody present was seen long enough, and their future too.

Two protocols cut them from tracks:

``atlas-paper``
    as the released code of Atlas: gaps are filled and tracks smoothed as a whole before they are
    cut, so that the last observed positions hold some of the future, and the truth is smoothed.
``strict``
    nothing of the future is in what a predictor is given: gaps of the observation are filled, and
    it is smoothed, from observed positions alone; the truth is as it was detected, with its gaps
    filled.

Both demand the same of a scenario (Atlas, section III, and its released code): whoever is there
during the observation is there in all of it, and in all of the future; else there is no scenario.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from stp.errors import StpError
from stp.motion.gaps import LONGEST_GAP, filled
from stp.motion.smoothing import box, whole_tracks
from stp.motion.tracks import Tracks

Protocol = Literal["atlas-paper", "strict"]


@dataclass(frozen=True)
class Scenarios:
    """Scenarios of one dataset, filled up to the most people in any of them.

    Attributes:
        start: first observed frame of each, (S,).
        person: int64 (S, N); -1 where nobody is.
        observed: float64 (S, N, O, 2), metres; NaN where nobody is.
        future: float64 (S, N, T, 2), metres; NaN where nobody is.
        episode: int64 (S,): scenarios that overlap with each other share a number.
        dt: seconds between two positions.
        looked_at: start frames that were tried.
    """

    start: np.ndarray
    person: np.ndarray
    observed: np.ndarray
    future: np.ndarray
    episode: np.ndarray
    dt: float
    looked_at: int

    def __len__(self) -> int:
        return len(self.start)

    @property
    def present(self) -> np.ndarray:
        """Whether there is somebody, (S, N)."""
        return self.person >= 0

    def batches(self, size: int) -> Iterator["Scenarios"]:
        """The scenarios in pieces of at most ``size``, without places that nobody fills."""
        for begin in range(0, len(self), size):
            chosen = slice(begin, begin + size)
            people = int(self.present[chosen].sum(axis=1).max(initial=0))
            yield Scenarios(
                self.start[chosen],
                self.person[chosen, :people],
                self.observed[chosen, :people],
                self.future[chosen, :people],
                self.episode[chosen],
                self.dt,
                self.looked_at,
            )


def extract(
    tracks: Tracks,
    *,
    observe: int,
    predict: int,
    protocol: Protocol,
    smooth: int = 5,
    fewest: int = 2,
    noise: float = 0.0,
    seed: int = 0,
) -> Scenarios:
    """Cut scenarios from tracks.

    Args:
        tracks: of the part of a dataset that is looked at.
        observe: observed positions, O.
        predict: future positions, T.
        protocol: see above.
        smooth: width of the box filter, in samples; 0 for none.
        fewest: people that a scenario has at least.
        noise: standard deviation in metres that is added to observed positions. Under
            ``atlas-paper`` it is divided by the annotations per second, as in the released code.
        seed: of the noise; that of a scenario depends on its start frame and this seed alone.

    Raises:
        StpError: there are no tracks, or a length is not positive.
    """
    if observe < 2 or predict < 1:
        raise StpError(
            f"{observe} observed and {predict} future positions",
            expected="at least 2 observed ones, which give a velocity, and 1 future one",
        )
    if not len(tracks):
        raise StpError("no detections to cut scenarios from", expected="at least one")
    first, last = int(tracks.frame.min()), int(tracks.frame.max())
    if protocol == "atlas-paper":
        tracks = whole_tracks(filled(tracks), smooth)
    starts = np.arange(first, last, tracks.step)
    groups = tracks.people()
    cut = _detected if protocol == "atlas-paper" else _resampled
    pieces = [_Piece(tracks, rows, starts, observe, predict) for rows in groups.values()]
    whole = np.stack([piece.whole(protocol) for piece in pieces])
    absent = np.stack([piece.seen == 0 for piece in pieces])
    good = (whole | absent).all(axis=0) & (whole.sum(axis=0) >= fewest)
    kept = np.flatnonzero(good)
    most = int(whole[:, kept].sum(axis=0).max(initial=0))
    person = np.full((len(kept), most), -1, np.int64)
    positions = np.full((len(kept), most, observe + predict, 2), np.nan)
    names = np.array(list(groups))
    for place, moment in enumerate(kept):
        here = np.flatnonzero(whole[:, moment])
        person[place, : len(here)] = names[here]
        for column, number in enumerate(here):
            positions[place, column] = cut(pieces[number], int(moment))
    observed, future = positions[:, :, :observe], positions[:, :, observe:]
    if protocol == "strict":
        observed = box(observed, smooth)
    else:
        noise *= tracks.dt
    if noise:
        observed = observed + _noise(starts[kept], observed.shape[1:], noise, seed)
    span = (observe + predict) * tracks.step
    episode = np.cumsum(np.diff(starts[kept], prepend=starts[kept][:1]) >= span)
    return Scenarios(
        starts[kept], person, observed, future, episode, tracks.dt, looked_at=len(starts)
    )


class _Piece:
    """The detections of one person, and how many of them are in each window.

    Args:
        tracks: all.
        rows: of the person, ascending in time.
        starts: first frames of windows.
        observe, predict: lengths of their two parts.
    """

    def __init__(
        self, tracks: Tracks, rows: np.ndarray, starts: np.ndarray, observe: int, predict: int
    ) -> None:
        self.frame, self.position = tracks.frame[rows], tracks.position[rows]
        self.starts, self.step = starts, tracks.step
        self.observe, self.predict = observe, predict
        self.longest = LONGEST_GAP / tracks.dt
        middle = starts + observe * tracks.step
        self.first = np.searchsorted(self.frame, starts)
        self.middle = np.searchsorted(self.frame, middle)
        end = np.searchsorted(self.frame, middle + predict * tracks.step)
        self.seen, self.follow = self.middle - self.first, end - self.middle

    def whole(self, protocol: Protocol) -> np.ndarray:
        """Whether the person is there in all of each window, (starts,)."""
        if protocol == "atlas-paper":
            return np.asarray((self.seen >= self.observe) & (self.follow >= self.predict))
        # Gaps may be filled. What a predictor is given begins and ends with detections, so that no
        # future fills it; the truth may begin within a gap, after the last observed position.
        begin = self.frame[np.minimum(self.first, len(self.frame) - 1)]
        wide = np.cumsum(np.diff(self.frame, prepend=self.frame[0]) > self.longest * self.step)

        def at(frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """Whether there is a detection in these frames, and how many wide gaps before it."""
            row = np.minimum(np.searchsorted(self.frame, frames), len(self.frame) - 1)
            return self.frame[row] == frames, wide[row]

        now, wide_now = at(begin + (self.observe - 1) * self.step)
        last, wide_last = at(begin + (self.observe + self.predict - 1) * self.step)
        without_wide = (wide[np.minimum(self.first, len(wide) - 1)] == wide_now) & (
            wide_now == wide_last
        )
        from_the_first = (self.seen > 0) & (begin < self.starts + self.step)
        return np.asarray(from_the_first & now & last & without_wide)


def _detected(piece: _Piece, moment: int) -> np.ndarray:
    """Positions as they are, whatever exactly their frames are."""
    seen, follow = piece.first[moment], piece.middle[moment]
    return np.concatenate(
        [
            piece.position[seen : seen + piece.observe],
            piece.position[follow : follow + piece.predict],
        ]
    )


def _resampled(piece: _Piece, moment: int) -> np.ndarray:
    """Positions at equal intervals from the first one in the window, gaps filled linearly."""
    begin = piece.frame[piece.first[moment]]
    times = begin + piece.step * np.arange(piece.observe + piece.predict)
    made = [np.interp(times, piece.frame, piece.position[:, axis]) for axis in (0, 1)]
    return np.stack(made, axis=1)


def _noise(starts: np.ndarray, shape: tuple[int, ...], sigma: float, seed: int) -> np.ndarray:
    """Normal noise whose numbers depend on seed and start frame, not on what else there is."""
    drawn = [
        np.random.default_rng([seed, int(start) + 2**31]).normal(0, sigma, shape)
        for start in starts
    ]
    return np.stack(drawn) if drawn else np.empty((0, *shape))
