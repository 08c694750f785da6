"""Tracks: a table of detections of people.

Frames are numbered as in the recording. ``step`` is the number of frames, and ``dt`` the number of
seconds, between two annotations.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from stp.core.errors import RawFileError, StpError

APART = 60.0
"""Seconds between two recordings of a dataset."""
RELEASED_APART = 1.01
"""Start of a recording in the released code of Atlas, as a multiple of the last frame of the
previous one."""


@dataclass(frozen=True)
class Tracks:
    """R detections of people: who was where in which frame.

    A detection is one person in one frame. An annotation is a frame in which people were located;
    between two annotations, there may be frames in which nobody was. Detections are in the order of
    their file, on which only the protocol ``atlas-paper`` depends.

    Attributes:
        frame: frame of each detection, float64 (R,). Frames are whole numbers, except after gaps
            were filled, and after recordings were moved in time as in the released code of Atlas
            (`with_released_clock`).
        person: number that stands for the person of each detection, int64 (R,).
        position: position of each detection, float64 (R, 2), metres.
        step: number of frames from one annotation to the next; 1 if every frame is one.
        dt: seconds from one annotation to the next.
        names: identifiers of people in the raw data, by number; empty if the numbers are the
            identifiers.
    """

    frame: np.ndarray
    person: np.ndarray
    position: np.ndarray
    step: int
    dt: float
    names: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.frame)

    def rows(self, chosen: np.ndarray | slice) -> "Tracks":
        """Select detections by indices, mask or slice."""
        return replace(
            self,
            frame=self.frame[chosen],
            person=self.person[chosen],
            position=self.position[chosen],
        )

    def sorted_by_frame(self) -> "Tracks":
        """Sort the detections by frame, then by person."""
        return self.rows(np.lexsort((self.person, self.frame)))

    def part(self, begin: float, end: float) -> "Tracks":
        """Select a range of rows (detections), as Atlas splits calibration and test.

        Rows of the file are counted, not people or seconds: if they are not in the order of time,
        both parts of a split cover the same time. Tracks may be cut into two.

        Args:
            begin, end: ends of the range as shares of all rows, from 0 to 1.
        """
        return self.rows(slice(int(len(self) * begin), int(len(self) * end)))

    def people(self) -> dict[int, np.ndarray]:
        """Row indices of each person's detections, in time order; people in order of appearance."""
        order = np.lexsort((self.frame, self.person))
        people, first = np.unique(self.person[order], return_index=True)
        rows = np.split(order, first[1:])
        appearance = sorted(range(len(people)), key=lambda i: int(rows[i].min()))
        return {int(people[i]): rows[i] for i in appearance}

    def decimated(self, rate: int) -> "Tracks":
        """Keep the detections of every ``rate``-th annotated frame, counted from the first frame.

        Detections in the other frames are dropped, without smoothing positions over them. Frame
        numbers that are not whole (see `Tracks`) are rounded down first, as in the released code of
        the benchmark Atlas.
        """
        kept = self.step * rate
        ahead = self.frame.astype(np.int64) - int(self.frame.min())
        return replace(self.rows(ahead % kept == 0), step=kept, dt=self.dt * rate)


def labels(person: np.ndarray, names: Mapping[int, str]) -> list[str]:
    """Look up the identifiers of people in the raw data.

    Args:
        person: number of the person of each row.
        names: identifiers by number; a number without an entry is itself the identifier.
    """
    return [names.get(number, str(number)) for number in person.tolist()]


def count_people(recordings: Sequence[np.ndarray]) -> int:
    """Count people; the same person number in different recordings stands for different people.

    Args:
        recordings: for each recording, the number of the person of each detection.
    """
    return sum(len(np.unique(person)) for person in recordings)


def split_in_time(
    tracks: Tracks, share: float, recordings: Sequence[int]
) -> tuple[Tracks, Tracks, int]:
    """Split detections at a moment into two parts that share neither moments nor people.

    Recordings follow one another, so the cut is at one moment, in one of them: earlier recordings
    are in the first part, later ones in the second. The order of the rows does not matter. People
    who appear in both parts are removed from the first part, so that the second part, the test, is
    complete.

    Args:
        tracks: detections of all recordings, concatenated by `join_recordings`.
        share: share of the detections before the cut, in the order of time, below 1.
        recordings: number of detections of each recording, in order. The same person number in
            different recordings stands for different people.

    Returns:
        first part and second part, each ordered by frame and person; and the number of people
        removed from the first part.
    """
    order = np.lexsort((tracks.person, tracks.frame))
    recording = np.repeat(np.arange(len(recordings)), recordings)[order]
    tracks = tracks.rows(order)
    row = int(len(tracks) * share)
    later = tracks.frame >= tracks.frame[row]
    here = recording == recording[row]
    stays = here & np.isin(tracks.person, tracks.person[here & later])
    straddling = len(np.unique(tracks.person[stays & ~later]))
    return tracks.rows(~later & ~stays), tracks.rows(later), straddling


def join_recordings(parts: Sequence[Tracks]) -> Tracks:
    """Concatenate recordings, with gaps between them.

    Each recording begins `APART` (60 s) after the end of the previous one, rounded to whole frames.

    If there are several recordings and at least one has names of people, people of all recordings
    are numbered anew: equal names stand for the same person and get the same number. The name of a
    person without one is the person's number. If no recording has names, numbers do not change, and
    equal numbers in different recordings stand for different people (see `split_in_time`).

    Args:
        parts: the recordings, in order.

    Raises:
        StpError: the recordings have different frame rates.
    """
    if len({(part.step, part.dt) for part in parts}) != 1:
        rates = ", ".join(f"{1 / part.dt:g} Hz every {part.step} frames" for part in parts)
        raise StpError(
            f"recordings of several rates: {rates}",
            expected="the same rate in all files of a dataset",
            remedy="declare them as separate datasets",
        )
    shifted, behind = [], 0
    for part in _renumber_people(parts):
        shifted.append(replace(part, frame=part.frame + behind))
        behind = _first_frame_after(shifted[-1])
    return concatenate_parts(shifted)


def _renumber_people(parts: Sequence[Tracks]) -> Sequence[Tracks]:
    """Renumber people so that a name has the same number in all recordings, if there are names."""
    if len(parts) == 1 or not any(part.names for part in parts):
        return parts
    numbered = []
    for part in parts:
        people, rows = np.unique(part.person, return_inverse=True)
        numbered.append((labels(people, part.names), rows))
    everybody = sorted({name for names, _ in numbered for name in names})
    numbers = {name: number for number, name in enumerate(everybody, start=1)}
    names_by_number = dict(enumerate(everybody, start=1))
    return [
        replace(
            part,
            person=np.array([numbers[name] for name in names], np.int64)[rows],
            names=names_by_number,
        )
        for part, (names, rows) in zip(parts, numbered, strict=True)
    ]


def concatenate_parts(parts: Sequence[Tracks]) -> Tracks:
    """Concatenate parts of one recording, without changing frames or people."""
    return replace(
        parts[0],
        frame=np.concatenate([part.frame for part in parts]),
        person=np.concatenate([part.person for part in parts]),
        position=np.concatenate([part.position for part in parts]),
    )


def _first_frame_after(tracks: Tracks) -> int:
    """First frame of a recording that follows these tracks."""
    return int(tracks.frame.max()) + math.ceil(APART / tracks.dt * tracks.step)


def with_released_clock(tracks: Tracks, recordings: Sequence[int]) -> Tracks:
    """Move recordings in time as the released code of the Atlas benchmark does.

    This serves only to reproduce results of Atlas (protocol ``atlas-paper``). In that code, a
    recording begins at 1.01 times the last frame of the previous one, which has two effects:

    - Its frames are not whole numbers. By rounding, equal intervals between frames may differ in
      their last digit. The code takes some of them for gaps, at which it does not smooth tracks,
      and real gaps may get a position too few when they are filled.
    - After a short recording, the next one begins at once, since 1 % of a small number is little.
      If two people have the same number in both recordings, their tracks may be joined into one.

    Args:
        tracks: detections of all recordings, concatenated by `join_recordings`.
        recordings: number of detections of each recording, in order.

    Returns:
        the same detections with other frames.
    """
    moved: list[np.ndarray] = []
    begin, shift = 0, 0.0
    for rows in np.split(np.arange(len(tracks)), np.cumsum(recordings)[:-1]):
        part = tracks.rows(rows)
        moved.append(part.frame - begin + shift)
        begin, shift = _first_frame_after(part), RELEASED_APART * int(moved[-1].max())
    return replace(tracks, frame=np.concatenate(moved))


FASTEST = 10.0
"""Highest speed of a walking person, metres per second; a faster movement is a teleport."""
WALKING = (0.2, 3.0)
"""Median speed of walking people, metres per second."""
SLOWEST = 0.005
"""Smallest plausible speed of the fastest person of a dataset, metres per second; walking people
reach 1e-4 degrees of latitude a second."""


@dataclass(frozen=True)
class Jumps:
    """Teleports: J movements from one detection to the next that are too fast for a person.

    Attributes:
        person: number of the person of each teleport, int64 (J,).
        before, after: frames before and after each teleport, (J,) each.
        speed: speed of each teleport, (J,), metres per second.
        names: identifiers of people by number, see `Tracks`.
    """

    person: np.ndarray
    before: np.ndarray
    after: np.ndarray
    speed: np.ndarray
    names: Mapping[int, str]

    def __len__(self) -> int:
        return len(self.person)

    def of(self, person: int) -> "Jumps":
        """Select the teleports (impossible jumps) of one person.

        Args:
            person: number of the person.
        """
        rows = self.person == person
        return replace(
            self,
            person=self.person[rows],
            before=self.before[rows],
            after=self.after[rows],
            speed=self.speed[rows],
        )

    def __str__(self) -> str:
        where = int(np.argmax(self.speed))
        (name,) = labels(self.person[[where]], self.names)
        return (
            f"person {name} moves at {self.speed[where]:.1f} m/s from frame "
            f"{self.before[where]:g} to {self.after[where]:g}"
        )


def jumps(tracks: Tracks, fastest: float = FASTEST) -> Jumps:
    """Find teleports: impossible jumps between consecutive detections of a person.

    Args:
        tracks: tracks with at most one detection of a person in a frame.
        fastest: highest plausible speed, metres per second.
    """
    order = np.lexsort((tracks.frame, tracks.person))
    person, frame = tracks.person[order], tracks.frame[order]
    same = np.diff(person) == 0
    seconds = np.diff(frame) / tracks.step * tracks.dt
    way = np.linalg.norm(np.diff(tracks.position[order], axis=0), axis=1)
    speed = np.divide(way, seconds, out=np.zeros_like(way), where=same & (seconds > 0))
    fast = np.flatnonzero(speed > fastest)
    return Jumps(person[fast], frame[fast], frame[fast + 1], speed[fast], tracks.names)


def without_people(tracks: Tracks, people: np.ndarray) -> Tracks:
    """Remove the detections of the people with the numbers ``people``."""
    return tracks.rows(~np.isin(tracks.person, people))


def check(tracks: Tracks, name: str) -> None:
    """Refuse unusable detections, and teleports (impossible jumps of a person).

    Args:
        tracks: tracks that already have the rate at which they are used (see `Tracks.decimated`).
        name: name of the file or dataset, for messages.

    Raises:
        StpError: detections are unusable, for example not finite or at a wrong rate
            (`check_detections`), or a person moves faster than 10 m/s (`check_speed`).
    """
    check_detections(tracks, name)
    check_speed(tracks, name)


def check_detections(tracks: Tracks, name: str) -> None:
    """Refuse unusable detections.

    Args:
        tracks: the detections.
        name: name of the file or dataset, for messages.

    Raises:
        StpError: there are no detections, numbers are not finite, frames are not integers or do not
            have the declared rate, or a person has two positions in one frame.
    """
    if not len(tracks):
        raise RawFileError(name, "no detections")
    _check_numbers(tracks, name)
    _check_clock(tracks, name)


def check_speed(tracks: Tracks, name: str, fastest: float = FASTEST) -> None:
    """Refuse tracks in which a person moves faster than is plausible.

    Args:
        tracks: tracks that already have the rate at which they are used (see `Tracks.decimated`).
            At a higher rate, such as 100 Hz, every slip of a marker would be too fast.
        name: name of the file or dataset, for messages.
        fastest: highest plausible speed, metres per second; 10 unless given.

    Raises:
        StpError: a person moves faster than `fastest`.
    """
    found = jumps(tracks, fastest)
    if len(found):
        more = f", the fastest of {len(found)} jumps" if len(found) > 1 else ""
        raise StpError(
            f"{name}: {found}{more}; {len(np.unique(found.person))} of "
            f"{len(np.unique(tracks.person))} people have such jumps",
            expected=f"at most {fastest:g} m/s, in metres",
            remedy=_factor(tracks)
            or "check units and rate, give the two pieces different names, or exclude such people "
            "with `teleports: exclude`, which counts them",
        )


def check_moving(tracks: Tracks, name: str) -> None:
    """Refuse tracks whose fastest person is implausibly slow, as with positions in wrong units.

    Tracks in which nobody moves at all are accepted.

    Args:
        tracks: tracks that already have the rate at which they are used (see `Tracks.decimated`).
        name: name of the file or dataset, for messages.

    Raises:
        StpError: the fastest person is slower than `SLOWEST` (5 mm/s).
    """
    speed = jumps(tracks, 0).speed
    if len(speed) and speed.max() < SLOWEST:
        raise StpError(
            f"{name}: nobody moves faster than {speed.max():.2g} m/s",
            expected=f"positions in metres, and somebody who moves at {SLOWEST:g} m/s or more",
            remedy=_factor(tracks)
            or "check units, fps and time_unit; degrees have to be projected to metres first",
        )


def _factor(tracks: Tracks) -> str:
    """The remedy for people who would walk at a usual speed if it were 1000 times as high or low;
    empty for others.
    """
    usual = np.median(jumps(tracks, 0).speed)
    if any(WALKING[0] <= usual * factor <= WALKING[1] for factor in (0.001, 1000)):
        return (
            f"people move at {usual:.4g} m/s, and would walk but for a factor of 1000: is "
            "`time_unit` ms or s, `units` mm, m or km?"
        )
    return ""


def _check_numbers(tracks: Tracks, name: str) -> None:
    finite = np.isfinite(tracks.position).all(axis=1) & np.isfinite(tracks.frame)
    bad = np.flatnonzero(~finite)
    if len(bad):
        (who,) = labels(tracks.person[bad[:1]], tracks.names)
        raise StpError(
            f"{name}: row {bad[0] + 1} (frame {tracks.frame[bad[0]]:g}, person {who}) has no "
            f"finite position (and {len(bad) - 1} more rows)",
            remedy="remove such rows: gaps are filled when scenarios are made",
        )
    bad = np.flatnonzero(tracks.frame % 1)
    if len(bad):
        raise StpError(
            f"{name}: row {bad[0] + 1} is of frame {tracks.frame[bad[0]]:g}",
            expected="frames that are whole numbers",
            remedy="declare a column of seconds as `time`",
        )


def _check_clock(tracks: Tracks, name: str) -> None:
    """Refuse people who appear twice in a frame, and other rates than the declared one."""
    order = np.lexsort((tracks.frame, tracks.person))
    person, frame = tracks.person[order], tracks.frame[order]
    same = np.diff(person) == 0
    passed = np.diff(frame)
    twice = np.flatnonzero(same & (passed == 0))
    if len(twice):
        more = f" (and {len(twice) - 1} more)" if len(twice) > 1 else ""
        (who,) = labels(person[twice[:1]], tracks.names)
        raise StpError(
            f"{name}: person {who} is twice in frame {frame[twice[0]]:g}{more}",
            expected="one detection of each person and frame",
            remedy="keep one of them, or give the two people different names",
        )
    intervals, counts = np.unique(passed[same], return_counts=True)
    if not len(intervals):
        return
    usual = intervals[np.argmax(counts)]
    odd = np.flatnonzero(same & (passed % tracks.step != 0))
    if len(odd):
        first = odd[0]
        (who,) = labels(person[odd[:1]], tracks.names)
        raise StpError(
            f"{name}: mixed rates: {len(odd)} of {counts.sum()} intervals are no multiple of "
            f"{tracks.step} frames, the first of person {who} from frame "
            f"{frame[first]:g} to {frame[first + 1]:g}; most are of {usual:g}",
            expected=f"annotations every {tracks.step} frames, {1 / tracks.dt:g} a second",
            remedy="declare the step of this file, or its two rates as two datasets",
        )
    shared = int(np.gcd.reduce(intervals.astype(np.int64)))
    is_ms = abs(usual / 1000 / tracks.dt - 1) < 0.01
    if usual > 2 * tracks.step or (usual != tracks.step and shared != tracks.step):
        raise StpError(
            f"{name}: most people are annotated every {usual:g} frames",
            expected=f"every {tracks.step} frames, {1 / tracks.dt:g} times a second",
            remedy=f"set `step: {usual:g}`, with the seconds (dt) of that many frames"
            + ("; or declare milliseconds as `time`, with `time_unit: ms`" if is_ms else ""),
        )
