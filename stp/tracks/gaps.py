"""Fill gaps in tracks, moments in which a person was not detected, as in the Atlas benchmark."""

from dataclasses import replace

import numpy as np

from stp.tracks.tracks import Tracks

LONGEST_GAP = 4.0
"""Longest gap that is filled, seconds (Atlas, released code)."""


def find_gaps(frames: np.ndarray) -> np.ndarray:
    """Find gaps in a person's detections: intervals longer than the person's shortest interval.

    The last interval is ignored, as in the released code of Atlas, whose results depend on this.

    Args:
        frames: frame numbers of the person's detections, ascending.

    Returns:
        index of the detection before each gap.
    """
    intervals = np.diff(frames)[:-1]
    return np.flatnonzero(intervals != intervals.min()) if len(intervals) else np.empty(0, int)


def count_missing(tracks: Tracks) -> int:
    """Count positions that `fill_gaps` would add: those in gaps of up to `LONGEST_GAP` (4 s)."""
    order = np.lexsort((tracks.frame, tracks.person))
    steps = np.diff(tracks.frame[order]) / tracks.step
    own = np.diff(tracks.person[order]) == 0
    gaps = steps[own & (steps > 1) & (steps * tracks.dt <= LONGEST_GAP + 1e-9)]
    return int(np.floor(gaps - 1).sum())


def fill_gaps(tracks: Tracks) -> Tracks:
    """Fill gaps of up to `LONGEST_GAP` (4 s) by linear interpolation (Atlas, released code).

    Returns:
        detections and filled positions, person by person in the order of appearance.
    """
    frames, people, positions = [], [], []
    for person, rows in tracks.people().items():
        frame, position = _fill_person(tracks.frame[rows], tracks.position[rows], tracks)
        frames.append(frame)
        people.append(np.full(len(frame), person))
        positions.append(position)
    return replace(
        tracks,
        frame=np.concatenate(frames),
        person=np.concatenate(people),
        position=np.concatenate(positions),
    )


def _fill_person(
    frames: np.ndarray, positions: np.ndarray, tracks: Tracks
) -> tuple[np.ndarray, np.ndarray]:
    longest = np.floor(LONGEST_GAP / tracks.dt * tracks.step)
    new = [frames]
    for before in find_gaps(frames):
        gap = frames[before + 1] - frames[before]
        if gap <= longest:
            count = int(gap / tracks.step + 1)
            new.append(np.linspace(frames[before], frames[before + 1], count)[1:-1])
    every = np.sort(np.concatenate(new))
    axes = [np.interp(every, frames, positions[:, axis]) for axis in (0, 1)]
    return every, np.stack(axes, axis=1)
