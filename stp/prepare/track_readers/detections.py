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
import pyarrow as pa

from stp.core.errors import StpError, nearest
from stp.prepare.track_readers.numbers import whole
from stp.tracks.tracks import Tracks


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
        StpError: the file cannot be read, lacks a column, holds what is no finite number, or
            has a person in two places at once.
    """
    if (columns.frame is None) == (columns.time is None):
        raise StpError(
            f"{path}: neither or both of frame and time are declared",
            expected="one of them",
            remedy="change columns in the configuration",
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
    place = [name for name in named if name != columns.person]
    numbers = table[place].apply(pd.to_numeric, errors="coerce")
    bad = np.flatnonzero(~np.isfinite(numbers.to_numpy(np.float64)).all(axis=1))
    bad = bad if len(bad) else np.flatnonzero(table[columns.person].isna())
    if len(bad):
        # a header is the first line of a text
        line = f"row {bad[0] + 1}"
        if path.suffix != ".parquet":
            line = f"line {bad[0] + (1 if _without_header(named) else 2)}"
        raise StpError(
            f"{path}: {line} holds what is no finite number, and so do {len(bad) - 1} more",
            expected="numbers in all declared columns",
            remedy="leave such rows out: gaps are filled when scenarios are made",
        )
    position = numbers[[columns.x, columns.y]].to_numpy(np.float64) * metres
    person = _people(table[columns.person], path)
    if columns.frame is not None:
        return Tracks(numbers[columns.frame].to_numpy(np.float64), person, position, step, dt)
    time = numbers[columns.time].to_numpy(np.float64)
    seen = pd.Series(time).groupby(person).agg(["min", "max"])
    steps = float((seen["max"] - seen["min"]).max() / dt)
    if steps > MOST_STEPS:
        raise StpError(
            f"{path}: somebody is seen for {steps:.3g} moments of {dt} s",
            expected=f"at most {MOST_STEPS:,}",
            remedy="correct the times, or the unit that the configuration declares",
        )
    rows = pd.DataFrame({"person": person, "time": time, "x": position[:, 0], "y": position[:, 1]})
    rows = rows.drop_duplicates()  # the same line twice says nothing else
    if (twice := rows.duplicated(["person", "time"])).any():
        first = rows[twice].iloc[0]
        raise StpError(
            f"{path}: person {first.person:.0f} is in two places at {first.time:g} s, and so are "
            f"{twice.sum() - 1} more",
            expected="one detection of each person and time",
            remedy="keep one of them, or give the two people different names",
        )
    return on_one_clock(time, person, position, dt)


def _people(names: pd.Series, path: Path) -> np.ndarray:
    """Whole numbers as they are; other names are numbered as they come, from 1."""
    if pd.api.types.is_numeric_dtype(names):
        return whole(names.to_numpy(np.float64), path, "person")
    return np.asarray(pd.factorize(names)[0], np.int64) + 1


def _without_header(named: list[str | int]) -> bool:
    return all(isinstance(name, int) for name in named)


def _table(path: Path, named: list[str | int]) -> pd.DataFrame:
    try:
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        header = None if _without_header(named) else 0
        table = pd.read_csv(path, header=header, skipinitialspace=True, low_memory=False)
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        raise StpError(
            f"{path}: cannot be read ({error})",
            expected="detections in a CSV or Parquet file",
            remedy="fetch the file again",
        ) from None
    if not isinstance(table.index, pd.RangeIndex):  # pandas takes the first column for an index
        raise StpError(
            f"{path}: lines have more values than there are names in the first one",
            expected="a name for each column",
            remedy="complete the first line, or take the commas at the ends of lines out",
        )
    return table


MOST_STEPS = 10_000_000
"""From the first to the last moment of one person: 11 days at 0.1 s."""
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
    order = np.lexsort((time, person))
    names, first = np.unique(person[order], return_index=True)
    for number, rows in zip(names, np.split(order, first[1:]), strict=True):
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
