"""Detections in columns: your own, and files whose columns are known (ATC; THÖR, resampled).

    path: hall.csv
    columns: {frame: t, person: id, x: x_mm, y: y_mm}
    metres: 0.001          # of one unit of x and y
    step: 1
    dt: 0.04

A time in seconds serves where there is no frame: rows are brought to a common clock, since such
files have a clock of their own for each person.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from stp.errors import StpError, nearest
from stp.motion.tracks import Tracks


@dataclass(frozen=True)
class Columns:
    """Where a file has what; numbers for files without a header.

    Attributes:
        person, x, y: names or numbers of columns.
        frame: whole numbers; or
        time: seconds.
    """

    person: str | int
    x: str | int
    y: str | int
    frame: str | int | None = None
    time: str | int | None = None


ATC = Columns(time=0, person=1, x=2, y=3)
"""Of ``atc-YYYYMMDD.csv``: seconds, person, and millimetres."""
THOR = Columns(time=0, person=1, x=2, y=3)
"""Of the resampled THÖR files of CLiFF-LHMP: seconds, person, and metres."""


def read(path: Path, columns: Columns, *, metres: float, step: int, dt: float) -> Tracks:
    """Read a CSV or Parquet file.

    Args:
        path: of the file; ``.parquet``, or text with commas.
        columns: where it has what.
        metres: in one unit of x and y.
        step: frames between two annotations; with times, 1.
        dt: seconds between two annotations: with times, those of the common clock.

    Raises:
        StpError: the file cannot be read, lacks a column, or holds what is no number.
    """
    if (columns.frame is None) == (columns.time is None):
        raise StpError(
            f"{path}: neither or both of frame and time are declared", expected="one of them"
        )
    named = [name for name in vars(columns).values() if name is not None]
    table = _table(path, named)
    lacking = [str(name) for name in named if name not in table.columns]
    if lacking:
        known = [str(name) for name in table.columns]
        raise StpError(
            f"{path}: no column {', '.join(lacking)}",
            expected=f"the declared columns among {', '.join(known)}",
            remedy=nearest(lacking[0], known),
        )
    numbers = table[named].apply(pd.to_numeric, errors="coerce")
    bad = numbers.index[numbers.isna().any(axis=1)]
    if len(bad):
        raise StpError(
            f"{path}: row {bad[0] + 1} holds what is no number, and so do {len(bad) - 1} more",
            expected="numbers in all declared columns",
        )
    position = numbers[[columns.x, columns.y]].to_numpy(np.float64) * metres
    person = numbers[columns.person].to_numpy(np.int64)
    if columns.frame is not None:
        return Tracks(numbers[columns.frame].to_numpy(np.float64), person, position, step, dt)
    return on_one_clock(numbers[columns.time].to_numpy(np.float64), person, position, dt)


def _table(path: Path, named: list[str | int]) -> pd.DataFrame:
    try:
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        without_header = all(isinstance(name, int) for name in named)
        return pd.read_csv(path, header=None if without_header else 0, skipinitialspace=True)
    except (OSError, ValueError) as error:  # pandas' and Arrow's errors are ValueErrors
        raise StpError(
            f"{path}: cannot be read ({error})",
            expected="detections in a CSV or Parquet file",
            remedy="fetch the file again",
        ) from None


LONGEST = 2.0
"""Steps that a clock bridges: a pause of more is a gap, which stays."""


def on_one_clock(time: np.ndarray, person: np.ndarray, position: np.ndarray, dt: float) -> Tracks:
    """Interpolate all people at the same moments, ``dt`` seconds apart; gaps stay gaps.

    Args:
        time: seconds, (R,); each person has moments of its own.
        person: (R,).
        position: metres, (R, 2).
        dt: seconds.

    Returns:
        detections by moment, in frames of ``dt``.
    """
    begin = time.min()
    found = []
    for number in np.unique(person):
        rows = np.flatnonzero(person == number)
        rows = rows[np.argsort(time[rows], kind="stable")]
        own = (time[rows] - begin) / dt
        frames = np.arange(np.ceil(own[0] - 1e-9), np.floor(own[-1] + 1e-9) + 1)
        if not len(frames):
            continue
        after = np.searchsorted(own, frames - 1e-9).clip(1, max(1, len(own) - 1))
        if len(own) > 1:
            bridged = own[after] - own[after - 1] <= LONGEST
            frames = frames[bridged]
        x, y = (np.interp(frames, own, position[rows, axis]) for axis in (0, 1))
        found.append(np.column_stack([frames, np.full(len(frames), number), x, y]))
    table = np.concatenate(found) if found else np.empty((0, 4))
    table = table[np.argsort(table[:, 0], kind="stable")]
    return Tracks(table[:, 0], table[:, 1].astype(np.int64), table[:, 2:], 1, dt)
