"""Read detections from tables with declared columns.

    path: hall.csv
    columns: {frame: t, person: id, x: x_mm, y: y_mm}
    metres: 0.001          # of one unit of x and y
    step: 1
    dt: 0.04

A time may replace the frame. In such files, each person may have separate times, so detections are
interpolated to common times; interpolated and excluded detections are counted.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from stp.core.errors import RawFileError, StpError, suggest_name
from stp.prepare.track_readers import text
from stp.prepare.track_readers.numbers import to_whole_numbers
from stp.tracks.tracks import Tracks

_NUMBER = re.compile(r"[-+]?(0|[1-9]\d*)(\.\d*(e[-+]?\d+)?)?", re.IGNORECASE)
"""Pattern of numeric identifiers of people; 007 and 1e3 are names, different from 7 and 1000."""
DAY = 86_400.0
"""Length of a day, seconds."""
TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""Seconds per unit of time."""


@dataclass(frozen=True)
class Columns:
    """Columns of a table of detections, declared in the configuration.

    Each is the name of a column or, for files without a header, its index, from 0.

    Attributes:
        x, y: columns of positions.
        person: column of people; None if each file is one person.
        frame: column of whole frame numbers; None for files with times.
        time: column of times, numbers or dates; None for files with frame numbers.
        lost: column that marks rows without a detection by values other than 0 or false; None if no
            column does.
    """

    x: str | int
    y: str | int
    person: str | int | None = None
    frame: str | int | None = None
    time: str | int | None = None
    lost: str | int | None = None

    @property
    def declared_columns(self) -> list[str | int]:
        """The declared columns, by name or index, without those that are None."""
        return [name for name in vars(self).values() if name is not None]

    @property
    def are_numbers(self) -> bool:
        """Whether all columns are declared by index, for files without a header."""
        return all(isinstance(name, int) for name in self.declared_columns)


@dataclass(frozen=True)
class Rows:
    """The R detections in the files of one recording, unchanged.

    Attributes:
        when: frame number, or time in seconds, of each detection, float64 (R,).
        person: number of the person of each detection, int64 (R,).
        position: position of each detection, float64 (R, 2), in the unit of the files.
        names: identifiers of people, by number; empty if the numbers are the identifiers.
        lost: number of further rows that are marked as lost.
    """

    when: np.ndarray
    person: np.ndarray
    position: np.ndarray
    names: dict[int, str]
    lost: int

    def name(self, person: int) -> str:
        """The identifier of a person in the files."""
        return f"person {self.names.get(person, person)}"


@dataclass(frozen=True)
class Recording:
    """The detections of a recording, and counts of interpolated and excluded rows.

    Attributes:
        tracks: the detections; if the files have times, interpolated at common times.
        rows: number of rows in its files.
        lost: number of rows that are marked as lost.
        interpolated: number of detections whose position is interpolated between two rows.
        left_out: texts about people who were left out because of too few rows, such as "person 7,
            seen once".
    """

    tracks: Tracks
    rows: int
    lost: int = 0
    interpolated: int = 0
    left_out: tuple[str, ...] = ()


def read(
    paths: Path | Sequence[Path],
    columns: Columns,
    *,
    metres: float,
    step: int,
    dt: float,
    time_unit: float = 1.0,
) -> Recording:
    """Read the CSV or Parquet files of one recording.

    If the files have times in place of frame numbers, positions are interpolated at common times of
    all people, ``dt`` seconds apart. People with too few rows for this are left out.

    Args:
        paths: paths of the ``.parquet`` files or text tables.
        columns: names or numbers of the columns.
        metres: metres per unit of x and y.
        step: number of frames between two annotations; not used for files with times.
        dt: seconds between two annotations; for files with times, seconds between two common times.
        time_unit: seconds per unit of numeric times.

    Raises:
        StpError: a file cannot be read or lacks a column; a value is not a finite number. For files
            with times: a person has two positions at one time, or the rows of all people are too
            far apart in time.
    """
    paths = [paths] if isinstance(paths, Path) else list(paths)
    detected = rows(paths, columns, time_unit)
    position = detected.position * metres
    count = len(detected.when) + detected.lost
    if columns.frame is not None:
        tracks = Tracks(detected.when, detected.person, position, step, dt, detected.names)
        return Recording(tracks, count, detected.lost)
    title = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    time, person, position = _drop_repeats(detected, position, title)
    _check_length(time, person, dt, title)
    tracks, interpolated = on_one_clock(time, person, position, dt)
    usual, of_people = intervals(time, person)
    lacking = np.setdiff1d(person, tracks.person)
    if not len(tracks) or usual > (LONGEST + ROUNDING) * dt:
        seldom = f"every {usual:.4g} s" if usual else "once each"
        raise StpError(
            f"{title}: people are seen {seldom}, and the clock is of {dt:g} s",
            expected=f"detections of a person that are at most {LONGEST:g} steps of dt apart",
            remedy=f"set `dt: {usual:.4g}`, or correct time_unit, such as ms, a factor of 1000"
            if usual
            else "check the columns",
        )
    left_out = tuple(
        f"{detected.name(who)}, seen every {every:.3g} s"
        if (every := of_people.get(who))
        else f"{detected.name(who)}, seen once"
        for who in lacking.tolist()
    )
    tracks = replace(tracks, names=detected.names)
    return Recording(tracks, count, detected.lost, interpolated, left_out)


def rows(paths: Sequence[Path], columns: Columns, time_unit: float = 1.0) -> Rows:
    """Read the detections of the files of one recording unchanged: times are not interpolated.

    Args:
        paths: paths of the ``.parquet`` files or text tables.
        columns: names or numbers of the columns.
        time_unit: seconds per unit of numeric times.

    Raises:
        StpError: a file cannot be read or lacks a column, a value is not a finite number, or there
            are no detections.
    """
    if (columns.frame is None) == (columns.time is None):
        raise StpError(
            f"{paths[0]}: neither or both of frame and time are declared",
            expected="one of them",
            remedy="change columns in the configuration",
        )
    parts = [
        _one_file(path, columns, time_unit, name)
        for path, name in zip(paths, _file_names(paths), strict=True)
    ]
    table = pd.concat([part for part, _ in parts], keys=range(len(paths)))
    lost = sum(lost for _, lost in parts)
    if not len(table):
        marked = f"; {lost} rows are marked as lost" if lost else ""
        raise RawFileError(paths[0], f"no detections{marked}")
    person, names = _number_people(table["person"], paths[0])
    position = table[["x", "y"]].to_numpy(np.float64)
    detected = Rows(table["when"].to_numpy(np.float64), person, position, names, lost)
    if columns.time is not None:
        _require_one_day(detected, table.index, paths, columns)
    return detected


def _require_one_day(
    detected: Rows, index: pd.Index, paths: Sequence[Path], columns: Columns
) -> None:
    """Refuse times of day that cross midnight: without dates, their order is unknown.

    Args:
        detected: detections with times in seconds.
        index: indices of the file and of the row in the file, for each detection.
        paths: paths of the files.
        columns: names or numbers of the columns.

    Raises:
        StpError: all times are within a day, and times of a person, or of all people, are more than
            half a day apart.
    """
    time, person = detected.when, detected.person
    if time.min() < 0 or time.max() >= DAY:
        return
    for group in (person, np.zeros(len(time))):
        order = np.lexsort((time, group))
        pauses = np.diff(time[order]) * (np.diff(group[order]) == 0)
        if not len(pauses) or pauses.max() <= DAY / 2:
            continue
        at = int(pauses.argmax())
        (early, _), (late, _) = ends = [(order[at + i], index[order[at + i]]) for i in (0, 1)]
        places = [
            f"{paths[file]}: {_row_location(paths[file], columns, row)}" for _, (file, row) in ends
        ]
        clock = [timedelta(seconds=float(time[i])) for i in (early, late)]
        who = f"{detected.name(int(person[early]))} is not" if group is person else "nobody is"
        raise StpError(
            f"{places[1]}: {who} seen from {clock[0]} ({places[0]}) to {clock[1]}",
            expected="times of one day, without pauses of half a day",
            remedy="if the recording runs over midnight, write dates before the times "
            "(2024-05-01 23:59:50); if these are several recordings, put each into its own file",
        )


def _number_people(column: pd.Series, path: Path) -> tuple[np.ndarray, dict[int, str]]:
    """A number for the person of each row; names by number, if identifiers are not numbers."""
    if pd.api.types.is_float_dtype(column):
        column = pd.Series(to_whole_numbers(column.to_numpy(np.float64), path, "person"))
    # -1 means no person in scenarios
    if pd.api.types.is_integer_dtype(column) and column.min() >= 0 and column.max() < 2**63:
        return column.to_numpy(np.int64), {}
    # by name, so that the order of rows does not matter
    numbers, names = pd.factorize(column.astype(str), sort=True)
    return np.asarray(numbers, np.int64) + 1, dict(enumerate(map(str, names), start=1))


def _numbers_or_names(column: pd.Series) -> pd.Series:
    """Convert the identifiers of people in a text file to numbers if all are numeric."""
    words = column.str.strip()
    known = words.dropna().unique()
    if not all(map(_NUMBER.fullmatch, known)):
        return words
    numbers = pd.Series({word: float(word) if "." in word else int(word) for word in known})
    return words.map(numbers.astype(object) if words.isna().any() else numbers)


def _file_names(paths: Sequence[Path]) -> list[str]:
    """Identifiers of people for files that have one person each, from the file names."""
    stems = [path.stem for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    folder = os.path.commonpath([path.parent for path in paths])
    return [path.relative_to(folder).as_posix() for path in paths]


def _one_file(
    path: Path, columns: Columns, time_unit: float, name: str
) -> tuple[pd.DataFrame, int]:
    """Frame or time, person, x and y of each row, and the number of rows marked as lost.

    Without a column of people, all rows belong to the person ``name``.
    """
    named, by_number = columns.declared_columns, columns.are_numbers
    form = None if path.suffix.lower() == ".parquet" else text.layout(path)
    words = [] if columns.person is None else [columns.person]
    numbers = [
        name for name in (columns.frame, columns.time, columns.x, columns.y) if name is not None
    ]
    has_commas = form is not None and form.decimal == ","
    words += numbers if has_commas else []
    table = _parquet(path) if form is None else text.table(path, form, by_number, words=words)
    lacking = [str(name) for name in named if name not in table.columns]
    if lacking:
        names = [str(name) for name in table.columns]
        raise StpError(
            f"{path}: no column {', '.join(lacking)}",
            expected=f"the declared columns among {', '.join(names)}",
            remedy=suggest_name(lacking[0], names),
        )
    if form is not None and has_commas:
        text.write_points(path, form, table, numbers, by_number)
    if columns.time is not None:
        when = seconds(table[columns.time], time_unit)
    else:
        when = pd.to_numeric(table[columns.frame], errors="coerce")
    part = pd.DataFrame({"when": when.astype(np.float64)})
    for axis, column in (("x", columns.x), ("y", columns.y)):
        part[axis] = pd.to_numeric(table[column], errors="coerce").astype(np.float64)
    if columns.person is None:
        part["person"] = name
    else:
        people = table[columns.person]
        part["person"] = people if form is None else _numbers_or_names(people)
    lost = np.zeros(len(table), bool) if columns.lost is None else is_set(table[columns.lost])
    bad = ~np.isfinite(part[["when", "x", "y"]].to_numpy()).all(axis=1) & ~lost
    bad = np.flatnonzero(bad if bad.any() else part["person"].isna() & ~lost)
    if len(bad):
        row = int(bad[0])
        raise StpError(
            f"{path}: {_row_location(path, columns, row)}: not a finite number"
            + (f"; neither are {len(bad) - 1} others" if len(bad) > 1 else ""),
            expected="numbers in all declared columns; times may be dates (2024-05-01 10:00:40.4)",
            remedy="leave such rows out: gaps are filled when scenarios are made",
        )
    return part[~lost], int(lost.sum())


def seconds(column: pd.Series, unit: float = 1.0) -> pd.Series:
    """Convert a column of times to seconds.

    Args:
        column: numbers, dates (ISO 8601, UTC by default) or times of day.
        unit: seconds per unit of numbers.

    Returns:
        seconds, one for each row: of dates since 1970, of times of day since midnight; NaN for
        other values.
    """
    if pd.api.types.is_datetime64_any_dtype(column):
        return _of_dates(column)
    if pd.api.types.is_timedelta64_dtype(column):
        return column.dt.total_seconds()
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.notna().any() or not len(column):
        return numbers * unit
    words = column.astype(str).str.strip().str.replace(",", ".", regex=False)
    dates = pd.to_datetime(
        words.str.replace("/", "-", regex=False), format="ISO8601", utc=True, errors="coerce"
    )
    if dates.notna().any():
        return _of_dates(dates)
    return pd.to_timedelta(words, errors="coerce").dt.total_seconds()


def _of_dates(dates: pd.Series) -> pd.Series:
    zone = dates.dt.tz
    start = pd.Timestamp(0, tz="UTC") if zone is not None else pd.Timestamp(0)
    return (dates - start).dt.total_seconds()


def _row_location(path: Path, columns: Columns, row: int) -> str:
    if path.suffix.lower() == ".parquet":
        return f"row {row + 1}"
    return f"line {text.line_of(path, text.layout(path), row, columns.are_numbers)}"


def is_set(column: pd.Series) -> np.ndarray:
    """Whether each row is marked, such as ``lost``: its value is not 0, false, no or empty."""
    words = column.astype(str).str.strip().str.lower()
    return ~words.isin(["0", "0.0", "false", "no", "", "nan", "none"]).to_numpy()


def _parquet(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        raise RawFileError(
            path, f"cannot be read ({error})", expected="detections in a CSV or Parquet file"
        ) from None


def _drop_repeats(
    detected: Rows, position: np.ndarray, title: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, people and positions without repeated rows."""
    table = pd.DataFrame(
        {"person": detected.person, "time": detected.when, "x": position[:, 0], "y": position[:, 1]}
    )
    table = table.drop_duplicates()
    if (twice := table.duplicated(["person", "time"])).any():
        first = table[twice].iloc[0]
        raise StpError(
            f"{title}: {detected.name(int(first.person))} is in two places at {first.time:.12g} s"
            + (f"; so are {twice.sum() - 1} others" if twice.sum() > 1 else ""),
            remedy="keep one of them, or give the two people different names",
        )
    numbers = table["person"].to_numpy(), table[["x", "y"]].to_numpy()
    return table["time"].to_numpy(), *numbers


def _check_length(time: np.ndarray, person: np.ndarray, dt: float, title: str) -> None:
    ends = pd.Series(time).groupby(person).agg(["min", "max"])
    steps = float((ends["max"] - ends["min"]).max() / dt)
    if steps > MOST_STEPS:
        raise StpError(
            f"{title}: somebody is seen for {steps:.3g} moments of {dt} s",
            expected=f"at most {MOST_STEPS:,}",
            remedy="correct the times, or the unit that the configuration declares (time_unit)",
        )


def time_between(time: np.ndarray, person: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Times between consecutive detections of a person, with the person of each interval.

    Args:
        time: time of each detection, seconds or frames, (R,).
        person: number of the person of each detection, (R,).

    Returns:
        intervals of time and their people, (I,) each, sorted by person and time; intervals of
        length 0 are left out.
    """
    order = np.lexsort((time, person))
    passed = np.diff(time[order])
    same = (np.diff(person[order]) == 0) & (passed > 0)
    return passed[same], person[order][1:][same]


def intervals(time: np.ndarray, person: np.ndarray) -> tuple[float, dict[int, float]]:
    """Compute the median time between two consecutive detections of a person.

    Args:
        time: time of each detection, seconds or frames, (R,).
        person: number of the person of each detection, (R,).

    Returns:
        the median over all people (0 if everybody has one detection); and the median of each person
        with several detections, by number of the person.
    """
    passed, who = time_between(time, person)
    if not len(passed):
        return 0.0, {}
    of_people = pd.Series(passed).groupby(who).median()
    return float(np.median(passed)), dict(
        zip(of_people.index.to_numpy().tolist(), of_people.to_numpy().tolist(), strict=True)
    )


MOST_STEPS = 10_000_000
"""Maximum number of steps from the first to the last time of a person: 11 days at 0.1 s."""
LONGEST = 2.0
"""Maximum pause that is interpolated, in steps; a longer one is a gap."""
ROUNDING = 1e-6
"""Tolerance in steps for rounding, as 1.6 - 0.8 is not 0.8."""
AT_A_ROW = 0.05
"""Distance in steps below which a common time counts as the time of a row, not interpolated."""


def on_one_clock(
    time: np.ndarray, person: np.ndarray, position: np.ndarray, dt: float
) -> tuple[Tracks, int]:
    """Interpolate the positions of all people at common times, ``dt`` seconds apart.

    Gaps (pauses of a person of more than `LONGEST` steps) are not filled. If all rows already are
    at common times, positions are not changed.

    Args:
        time: times of the rows, seconds, (R,).
        person: people of the rows, (R,).
        position: positions of the rows, metres, (R, 2).
        dt: seconds between two common times.

    Returns:
        detections, with times as frame numbers in steps of ``dt``, and the number of interpolated
        detections.
    """
    begin = time.min()
    # times since 1970 are exact to 2.4e-7 s only
    near = max(1e-9, 4 * float(np.spacing(np.abs(time).max())) / dt)
    order = np.lexsort((person, time))
    moments = (time[order] - begin) / dt
    frames = np.rint(moments)
    if (np.abs(moments - frames) <= AT_A_ROW).all():
        return Tracks(frames, person[order].astype(np.int64), position[order], 1, dt), 0
    tracks, interpolated = [], 0
    order = np.lexsort((time, person))
    names, first = np.unique(person[order], return_index=True)
    for number, rows in zip(names, np.split(order, first[1:]), strict=True):
        own = (time[rows] - begin) / dt
        frames = np.arange(np.ceil(own[0] - near), np.floor(own[-1] + near) + 1)
        if not len(frames):
            continue
        after = np.searchsorted(own, frames - near).clip(1, max(1, len(own) - 1))
        if len(own) > 1:
            bridged = own[after] - own[after - 1] <= LONGEST + ROUNDING
            if not bridged.any():
                continue
            away = np.minimum(np.abs(own[after] - frames), np.abs(own[after - 1] - frames))
            kept = bridged | (away <= near)  # after a pause there is no interval to bridge
            frames = frames[kept]
            interpolated += int((away[kept] > AT_A_ROW).sum())
        x, y = (np.interp(frames, own, position[rows, axis]) for axis in (0, 1))
        tracks.append(np.column_stack([frames, np.full(len(frames), number), x, y]))
    table = np.concatenate(tracks) if tracks else np.empty((0, 4))
    table = table[np.argsort(table[:, 0], kind="stable")]
    return Tracks(table[:, 0], table[:, 1].astype(np.int64), table[:, 2:], 1, dt), interpolated
