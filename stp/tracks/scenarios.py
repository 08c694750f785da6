"""Cut scenarios from tracks: moments with a long enough past and future of all people present.

There are three protocols:

``atlas-paper``
    as in the released code of Atlas: gaps are filled and whole tracks smoothed before scenarios are
    cut. The last observed positions therefore depend on the future, and the truth is smoothed.
``strict``
    nothing of the future is observed: gaps in the observation are filled, and it is smoothed, from
    observed positions only; the truth is as detected, with filled gaps.
``strict-relaxed``
    as ``strict``, but for crowds, in which people come and go.

Under the first two (Atlas, section III, and its released code), everybody who appears in the
observation must be present throughout observation and future; otherwise there is no scenario. Under
the third, predictors observe all people who are present throughout the observation, and those who
are also present throughout the future are scored; people who are present in only a part of the
observation are hidden from predictors, and counted.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from zlib import crc32

import numpy as np

from stp.core.errors import StpError
from stp.options.protocols import PROTOCOLS
from stp.tracks.gaps import LONGEST_GAP, fill_gaps
from stp.tracks.smoothing import box, whole_tracks
from stp.tracks.tracks import Tracks


@dataclass(frozen=True)
class Scenarios:
    """S scenarios of one dataset: people's positions at O observed and T future moments.

    Scenarios are padded to N people, the maximum over scenarios.

    Attributes:
        start: first observed frame of each scenario, int64 (S,).
        person: numbers of the people, int64 (S, N); -1 for absent people.
        observed: observed positions, float64 (S, N, O, 2), metres; NaN for absent people.
        future: true future positions, float64 (S, N, T, 2), metres; NaN for absent people and,
            under ``strict-relaxed``, for people who are not present throughout the future.
        episode: number of each scenario's episode, int64 (S,); scenarios that overlap in time are
            in the same episode.
        dt: seconds between two positions.
        looked_at: number of start frames that were examined.
        left_out: number of people who are present in only a part of the observation, int64 (S,);
            None under protocols that exclude scenarios with such people.
        names: identifiers of people in the raw data, by number; empty if the numbers are the
            identifiers.
    """

    start: np.ndarray
    person: np.ndarray
    observed: np.ndarray
    future: np.ndarray
    episode: np.ndarray
    dt: float
    looked_at: int
    left_out: np.ndarray | None = None
    names: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.start)

    @property
    def present(self) -> np.ndarray:
        """Whether each of N people is present in each of S scenarios, bool (S, N)."""
        return self.person >= 0

    @property
    def has_future(self) -> np.ndarray:
        """Whether all future positions of each of N people are known, by scenario, bool (S, N)."""
        return np.asarray(np.isfinite(self.future).all(axis=(2, 3)))

    def batches(self, size: int) -> Iterator["Scenarios"]:
        """Yield batches of at most ``size`` scenarios, with as little padding as possible."""
        for begin in range(0, len(self), size):
            yield self.select(slice(begin, begin + size))

    def select(self, rows: slice | np.ndarray) -> "Scenarios":
        """Select scenarios by index, with as little padding as possible."""
        people = int(self.present[rows].sum(axis=1).max(initial=0))
        return replace(
            self,
            start=self.start[rows],
            person=self.person[rows, :people],
            observed=self.observed[rows, :people],
            future=self.future[rows, :people],
            episode=self.episode[rows],
            left_out=None if self.left_out is None else self.left_out[rows],
        )


def extract(
    tracks: Tracks,
    *,
    observe: int,
    predict: int,
    protocol: str,
    smooth: int = 5,
    fewest: int = 2,
    noise: float = 0.0,
    seed: int = 0,
    name: str = "",
    decimate: int = 1,
) -> Scenarios:
    """Cut scenarios (moments with observed and future positions of people) from tracks.

    Args:
        tracks: detections of a part of a dataset.
        observe: number of observed positions, O.
        predict: number of future positions, T.
        protocol: ``atlas-paper`` (whole tracks are smoothed first, as in the released code),
            ``strict`` (nothing of the future is observed) or ``strict-relaxed`` (as strict, but
            people may come and go).
        smooth: width of the smoothing box filter, in samples; 0 for no smoothing.
        fewest: minimum number of people in a scenario. Under ``strict-relaxed``, only those people
            are counted whose future positions are known.
        noise: standard deviation of noise added to observed positions, metres. Under
            ``atlas-paper`` it is divided by the number of annotations per second, as in the
            released code.
        seed: seed of the noise, which depends on ``seed``, ``name``, ``noise`` and start frame
            only.
        name: name of the dataset.
        decimate: interval n of annotations: of a scenario, only every n-th annotation is used.
            Scenarios may still start at every annotation, as in the released code.

    Raises:
        StpError: there are no tracks, or ``observe`` or ``predict`` is too small.
    """
    if observe < 2 or predict < 1:
        raise StpError(
            f"{observe} observed and {predict} future positions",
            expected="at least 2 observed positions, which give a velocity, and 1 future position",
        )
    if not len(tracks):
        raise StpError("no detections to cut scenarios from")
    first, last = int(tracks.frame.min()), int(tracks.frame.max())
    if decimate > 1:
        tracks = tracks.decimated(decimate)
    released = PROTOCOLS[protocol].is_released
    if released:
        tracks = whole_tracks(fill_gaps(tracks), smooth)
    starts = np.arange(first, last, tracks.step)
    demands = _Demands(observe, predict, protocol, fewest)
    people = list(tracks.people().items())
    come = np.array([tracks.frame[rows[0]] for _, rows in people])
    leave = np.array([tracks.frame[rows[-1]] for _, rows in people])
    span = (observe + predict) * tracks.step
    blocks = []
    for begin in range(0, max(1, len(starts)), BLOCK):
        frame = first + begin * tracks.step
        present = np.flatnonzero((come < frame + BLOCK * tracks.step + span) & (leave >= frame))
        those = [people[number] for number in present]
        blocks.append(_cut_block(tracks, those, starts[begin : begin + BLOCK], demands))
    start, person, positions, left_out = _join_blocks(blocks)
    observed, future = positions[:, :, :observe], positions[:, :, observe:]
    if not released:
        observed = box(observed, smooth)
    if noise:
        sigma = noise * tracks.dt if released else noise
        key = [seed, crc32(name.encode()), round(noise * 1e6)]
        observed = observed + _noise(start, observed.shape[1:], sigma, key)
    episode = np.cumsum(np.diff(start, prepend=start[:1]) >= span)
    return Scenarios(
        start, person, observed, future, episode, tracks.dt, looked_at=len(starts),
        left_out=left_out if PROTOCOLS[protocol].may_come_and_go else None, names=tracks.names,
    )  # fmt: skip


BLOCK = 2048
"""Number of moments that are processed together, to save memory on recordings of a whole day."""


@dataclass(frozen=True)
class _Demands:
    """Lengths and rules of scenarios: arguments of `extract`."""

    observe: int
    predict: int
    protocol: str
    fewest: int


_Cut = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Start frames (S,), people (S, N), positions (S, N, O + T, 2), and how many are left out (S,)."""


def _cut_block(
    tracks: Tracks, people: list[tuple[int, np.ndarray]], starts: np.ndarray, demands: _Demands
) -> _Cut:
    """Cut the scenarios that begin at given frames.

    Args:
        tracks: all tracks.
        people: number and rows, in ``tracks``, of each person who may be present.
        starts: frames at which scenarios may begin, (n,).
        demands: lengths and rules of scenarios.
    """
    observe, length = demands.observe, demands.observe + demands.predict
    released = PROTOCOLS[demands.protocol].is_released
    pieces = [_Piece(tracks, rows, starts, observe, demands.predict) for _, rows in people]
    parts = [piece.is_detected() if released else piece.is_present() for piece in pieces]
    table = np.array(parts, bool).reshape(len(pieces), 2, len(starts))
    seen, followed = table[:, 0], table[:, 1]
    counts = np.array([piece.seen for piece in pieces]).reshape(seen.shape)
    partly = (counts > 0) & ~seen
    good = (seen & followed).sum(axis=0) >= demands.fewest
    if not PROTOCOLS[demands.protocol].may_come_and_go:
        good &= ~(partly | (seen & ~followed)).any(axis=0)
    kept = np.flatnonzero(good)
    most = int(seen[:, kept].sum(axis=0).max(initial=0))
    person = np.full((len(kept), most), -1, np.int64)
    positions = np.full((len(kept), most, length, 2), np.nan)
    cut = _detected_positions if released else _resampled_positions
    column = seen[:, kept].cumsum(axis=0) - 1
    for number, piece in enumerate(pieces):
        place = np.flatnonzero(seen[number, kept])
        where = place, column[number, place]
        person[where] = people[number][0]
        cuts = cut(piece, kept[place])
        cuts[~followed[number, kept[place]], observe:] = np.nan
        positions[where] = cuts
    return starts[kept], person, positions, partly[:, kept].sum(axis=0)


def _join_blocks(blocks: list[_Cut]) -> _Cut:
    """Concatenate blocks of scenarios, padded to the maximum number of people."""
    most = max(person.shape[1] for _, person, _, _ in blocks)
    start, person, positions, left_out = (list(parts) for parts in zip(*blocks, strict=True))
    for number, of_block in enumerate(person):
        empty = ((0, 0), (0, most - of_block.shape[1]))
        person[number] = np.pad(of_block, empty, constant_values=-1)
        positions[number] = np.pad(
            positions[number], (*empty, (0, 0), (0, 0)), constant_values=np.nan
        )
    return (
        np.concatenate(start),
        np.concatenate(person),
        np.concatenate(positions),
        np.concatenate(left_out),
    )


class _Piece:
    """Detections of one person, and their number in each window.

    Args:
        tracks: all tracks.
        rows: rows of the person in ``tracks``, ascending in time.
        starts: first frame of each window.
        observe, predict: numbers of observed and future positions of a window.
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

    def is_detected(self) -> tuple[np.ndarray, np.ndarray]:
        """Whether the observation, and the future, have enough detections, bool (starts,) each."""
        return self.seen >= self.observe, self.follow >= self.predict

    def is_present(self) -> tuple[np.ndarray, np.ndarray]:
        """Whether the person is present throughout the observation, and the future, bool (starts,)
        each.

        Short gaps are allowed, since they are filled. The observation must begin and end with
        detections, so that it is not filled from the future; the future may begin within a gap.
        """
        begin = self.frame[np.minimum(self.first, len(self.frame) - 1)]
        wide = np.cumsum(np.diff(self.frame, prepend=self.frame[0]) > self.longest * self.step)

        def at(frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """Whether each frame has a detection, and the number of wide gaps before the frame."""
            row = np.minimum(np.searchsorted(self.frame, frames), len(self.frame) - 1)
            return self.frame[row] == frames, wide[row]

        now, wide_now = at(begin + (self.observe - 1) * self.step)
        last, wide_last = at(begin + (self.observe + self.predict - 1) * self.step)
        from_the_first = (self.seen > 0) & (begin < self.starts + self.step)
        wide_first = wide[np.minimum(self.first, len(wide) - 1)]
        return from_the_first & now & (wide_first == wide_now), last & (wide_now == wide_last)


def _detected_positions(piece: _Piece, moments: np.ndarray) -> np.ndarray:
    """The detected positions of M windows, (M, O + T, 2), whatever their exact frames are."""
    observed = piece.first[moments, None] + np.arange(piece.observe)
    future = piece.middle[moments, None] + np.arange(piece.predict)
    return np.asarray(piece.position[np.concatenate([observed, future], axis=1)])


def _resampled_positions(piece: _Piece, moments: np.ndarray) -> np.ndarray:
    """Positions of M windows, (M, O + T, 2), interpolated linearly at equal intervals."""
    begin = piece.frame[piece.first[moments]]
    times = begin[:, None] + piece.step * np.arange(piece.observe + piece.predict)
    axes = [np.interp(times, piece.frame, piece.position[:, axis]) for axis in (0, 1)]
    return np.stack(axes, axis=-1)


def _noise(starts: np.ndarray, shape: tuple[int, ...], sigma: float, key: list[int]) -> np.ndarray:
    """Draw normal noise that depends on ``key`` and the start frames only."""
    drawn = [
        np.random.default_rng([*key, int(start) + 2**31]).normal(0, sigma, shape)
        for start in starts
    ]
    return np.stack(drawn) if drawn else np.empty((0, *shape))
