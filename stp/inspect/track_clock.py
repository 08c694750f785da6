"""Find the rate of detections of people from the frame numbers or times in files."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from stp.prepare.track_readers.detections import AT_A_ROW, TIME_UNITS, Rows, time_between
from stp.tracks.tracks import WALKING

RATES = (1, 2, 2.5, 3, 4, 5, 6, 7.5, 8, 10, 12, 12.5, 15, 20, 24, 25, 30, 50, 60, 100, 120)
"""Usual rates, detections or frames per second."""
STEP = 0.4
"""Seconds between two positions in most evaluations."""
SEEN = (0.004, 5.0)
"""Range of usual intervals between two detections of a person, seconds."""
SMALL_LENGTHS = {"m": 1.0, "cm": 0.01, "mm": 0.001}
"""Units in which positions of people are given, in metres."""


@dataclass(frozen=True)
class Clock:
    """The time between two detections of a person, and whether all detections keep to it.

    Attributes:
        every: usual interval between two detections of a person, in the data's unit of time: frames
            or seconds.
        is_common: whether in each recording all detections are whole multiples of `every` after
            the first one, with a tolerance of 5 % of `every`. If not, they are to be interpolated.
        others: number of detections at other times; 0 if `is_common`.
    """

    every: float
    is_common: bool
    others: int


def clock(recordings: Sequence[Rows]) -> Clock:
    """Find the usual interval between detections of a person, and whether all of them keep to it.

    Args:
        recordings: detections (times, people, positions) of each recording.

    Returns:
        the interval, in the unit of the times (frames or seconds); and whether all detections are
        whole multiples of it apart, else how many are not. If nobody is detected twice, the
        interval is 1, and all keep to it.
    """
    passed = intervals(recordings)
    if not len(passed):
        return Clock(1.0, True, 0)
    usual = float(np.median(passed))
    every = _precise(passed, usual)
    offsets = []
    for recording in recordings:
        moments = (recording.when - recording.when.min()) / every
        offsets.append(np.abs(moments - np.rint(moments)))
    others = int((np.concatenate(offsets) > AT_A_ROW).sum())
    return Clock(every if others == 0 else float(f"{usual:.6g}"), others == 0, others)


def frames_per_second(frames: np.ndarray, times: np.ndarray) -> float | None:
    """Find the frames per second of a file that has frame numbers and times.

    Args:
        frames: frame number of each row of the file, (R,).
        times: time of each row of the file, seconds, (R,).

    Returns:
        frames per second; None if times do not increase evenly with frame numbers.
    """
    order = np.argsort(frames, kind="stable")
    first, last = order[0], order[-1]
    if frames[last] == frames[first] or times[last] == times[first]:
        return None
    measured = float((frames[last] - frames[first]) / (times[last] - times[first]))
    near = float(min(RATES, key=lambda rate: abs(rate - measured)))
    # times of 50 frames a second that are rounded to 0.01 s are off by a quarter of a frame
    for rate, most in ((near, 0.26), (float(f"{measured:.6g}"), 0.5)):
        offsets = np.abs((times - times[first]) * rate - (frames - frames[first]))
        if rate > 0 and offsets.max() < most:
            return rate
    return None


def time_unit(recordings: Sequence[Rows], length: str | None, stated: str | None = None) -> str:
    """Guess the unit of time of detections from the rate of detections and the speed of people.

    The stated unit is kept if people walk at a plausible speed in it. Otherwise, the first unit
    counts in which both rate and speed are plausible. If there is none, the stated unit is kept or,
    if no unit is stated, the first one with a plausible rate is taken.

    Args:
        recordings: detections (times, people, positions) of each recording, with times in an
            unknown unit.
        length: unit of positions: "m", "cm" or "mm"; None or another text if unknown.
        stated: unit of time that the name of the column contains; None if it contains none.

    Returns:
        the unit: "s", "ms", "us" or "ns".
    """
    passed = intervals(recordings)
    usual = float(np.median(passed)) if len(passed) else 0.0
    plausible = [
        unit for unit, seconds in TIME_UNITS.items() if SEEN[0] <= usual * seconds <= SEEN[1]
    ]
    lengths = [SMALL_LENGTHS[length]] if length in SMALL_LENGTHS else SMALL_LENGTHS.values()
    pace = speed(recordings)
    for unit in [stated, *plausible] if stated else plausible:
        if any(WALKING[0] <= pace / TIME_UNITS[unit] * metres <= WALKING[1] for metres in lengths):
            return unit
    return stated or (plausible[0] if plausible else "s")


def speed(recordings: Sequence[Rows]) -> float:
    """Compute the median speed of people, in the data's units of length and time.

    It is 0 if nobody is detected twice.

    Args:
        recordings: detections (times, people, positions) of each recording.
    """
    speeds = []
    for recording in recordings:
        order = np.lexsort((recording.when, recording.person))
        passed = np.diff(recording.when[order])
        same = (np.diff(recording.person[order]) == 0) & (passed > 0)
        way = np.linalg.norm(np.diff(recording.position[order], axis=0), axis=1)
        speeds.append(way[same] / passed[same])
    return float(np.median(np.concatenate(speeds))) if any(map(len, speeds)) else 0.0


def intervals(recordings: Iterable[Rows]) -> np.ndarray:
    """List the intervals between consecutive detections of a person, over all recordings.

    Args:
        recordings: detections (times, people, positions) of each recording.

    Returns:
        the intervals of all people one after the other, in the data's unit of time.
    """
    return np.concatenate([time_between(part.when, part.person)[0] for part in recordings])


def _precise(passed: np.ndarray, usual: float) -> float:
    """The usual interval, as a mean over many intervals, which removes the rounding of times."""
    steps = np.rint(passed / usual)
    near = (steps >= 1) & (np.abs(passed / usual - steps) < 0.2)
    mean = float(passed[near].sum() / steps[near].sum())
    rate = min(RATES, key=lambda rate: abs(rate * mean - 1))
    return float(f"{1 / rate if abs(rate * mean - 1) < 2e-4 else mean:.6g}")
