"""Tracks: who was detected where and when.

A dataset of human motion is a table of detections. Frames are those of the recording, and are never
renumbered; ``step`` says how many of them lie between two annotations, ``dt`` how many seconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from stp.errors import StpError

APART = 60.0
"""Seconds between two recordings of a dataset."""


@dataclass(frozen=True)
class Tracks:
    """Detections, in the order of their file.

    Attributes:
        frame: float64 (R,): whole numbers, float because filled gaps may lie between.
        person: int64 (R,).
        position: float64 (R, 2), metres.
        step: frames between two annotations.
        dt: seconds between two annotations.
    """

    frame: np.ndarray
    person: np.ndarray
    position: np.ndarray
    step: int
    dt: float

    def __len__(self) -> int:
        return len(self.frame)

    def rows(self, chosen: np.ndarray | slice) -> "Tracks":
        """Some of the detections, in their order."""
        return replace(
            self,
            frame=self.frame[chosen],
            person=self.person[chosen],
            position=self.position[chosen],
        )

    def part(self, begin: float, end: float) -> "Tracks":
        """The detections between two shares of the rows, as Atlas splits calibration and test.

        A track that straddles a cut is cut: it is rows that are counted, not people or seconds.

        Args:
            begin, end: shares, from 0 to 1.
        """
        return self.rows(slice(int(len(self) * begin), int(len(self) * end)))

    def people(self) -> dict[int, np.ndarray]:
        """Row numbers of each person, in the order in which people and rows come."""
        order = np.argsort(self.person, kind="stable")
        names, first = np.unique(self.person[order], return_index=True)
        rows = np.split(order, first[1:])
        appear = sorted(range(len(names)), key=lambda i: int(rows[i][0]))
        return {int(names[i]): rows[i] for i in appear}

    def decimated(self, rate: int) -> "Tracks":
        """Keep every ``rate``-th annotation, counted from the first frame, without a filter."""
        kept = self.step * rate
        ahead = self.frame.astype(np.int64) - int(self.frame.min())
        return replace(self.rows(ahead % kept == 0), step=kept, dt=self.dt * rate)


def joined(parts: Sequence[Tracks]) -> Tracks:
    """Put recordings behind each other, far enough apart that none meets another.

    The next one begins at 1.01 times the last frame of the one before, as in the released code of
    Atlas; but `APART` later at least, which short recordings need.

    Raises:
        StpError: they have different rates.
    """
    if len({(part.step, part.dt) for part in parts}) != 1:
        rates = ", ".join(f"{1 / part.dt:g} Hz every {part.step} frames" for part in parts)
        raise StpError(
            f"recordings of several rates: {rates}",
            expected="the same rate in all files of a dataset",
            remedy="declare them as datasets of their own",
        )
    shifted, behind = [], 0.0
    for part in parts:
        moved = replace(part, frame=part.frame + behind)
        last = int(moved.frame.max())
        behind = max(1.01 * last, last + APART / part.dt * part.step)
        shifted.append(moved)
    return replace(
        parts[0],
        frame=np.concatenate([part.frame for part in shifted]),
        person=np.concatenate([part.person for part in shifted]),
        position=np.concatenate([part.position for part in shifted]),
    )


FASTEST = 10.0
"""Metres per second that no walking person reaches: more is a teleport."""


def check(tracks: Tracks, name: str) -> None:
    """Refuse detections that no predictor can use.

    Args:
        name: of the file or dataset, for people.

    Raises:
        StpError: there are none, positions are not finite, a person is at two places in one frame,
            or moves faster than `FASTEST`.
    """
    if not len(tracks):
        raise StpError(f"{name}: no detections", expected="at least one row")
    bad = np.flatnonzero(~np.isfinite(tracks.position).all(axis=1))
    if len(bad):
        raise StpError(
            f"{name}: row {bad[0]} (frame {tracks.frame[bad[0]]:g}, person "
            f"{tracks.person[bad[0]]}) has no finite position, and so have {len(bad) - 1} more",
            expected="metres",
            remedy="leave such rows out: gaps are filled when scenarios are made",
        )
    for person, rows in tracks.people().items():
        frames = tracks.frame[rows]
        order = np.argsort(frames, kind="stable")
        passed = np.diff(frames[order])
        if (passed == 0).any():
            twice = frames[order][np.flatnonzero(passed == 0)[0]]
            raise StpError(
                f"{name}: person {person} is twice in frame {twice:g}",
                expected="one detection of each person and frame",
            )
        seconds = passed / tracks.step * tracks.dt
        speed = np.linalg.norm(np.diff(tracks.position[rows][order], axis=0), axis=1) / seconds
        if (speed > FASTEST).any():
            where = int(np.argmax(speed))
            raise StpError(
                f"{name}: person {person} moves at {speed[where]:.1f} m/s from frame "
                f"{frames[order][where]:g} to {frames[order][where + 1]:g}",
                expected=f"at most {FASTEST:g} m/s, in metres",
                remedy="check units and rate, or give the two pieces different names",
            )
