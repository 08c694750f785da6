"""A measure computed elsewhere: a CSV file with a column ``video`` and columns of values."""

import csv
from pathlib import Path

import numpy as np

from stp.core.errors import StpError, nearest
from stp.opinions.prepared import Database


def read(path: Path, database: Database) -> np.ndarray:
    """Read values of all videos.

    Returns:
        float64 (V, D), a column for each one beside ``video``. Of several, each is brought to mean
        0 and deviation 1 over all videos, since units of different columns do not compare.

    Raises:
        StpError: the file cannot be read, has other videos or one of them twice, or has a value
            that is no finite number.
    """
    names = database.names
    expected, remedy = "a CSV file: video,value; a row of each video", "correct the file"
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
            columns = [name for name in reader.fieldnames or () if name != "video"]
        if not columns or "video" not in (reader.fieldnames or ()):
            raise ValueError(f"columns {', '.join(reader.fieldnames or ())}")
    except (OSError, ValueError, csv.Error) as error:
        raise StpError(
            f"{path}: cannot be read ({error})", expected=expected, remedy=remedy
        ) from None
    values_of: dict[str, list[float]] = {}
    for row in rows:
        video = row["video"]
        if video not in names:
            raise StpError(
                f"{path}: unknown video {video!r}",
                expected=f"the {len(names)} videos of the database",
                remedy=nearest(str(video), names),
            )
        if video in values_of:
            raise StpError(f"{path}: {video} has two rows", expected=expected, remedy=remedy)
        values_of[video] = [_number(path, row, column) for column in columns]
    lacking = sorted(set(names) - set(values_of))
    if lacking:
        raise StpError(f"{path}: no row of {lacking[0]}", expected=expected, remedy=remedy)
    values = np.array([values_of[name] for name in names])
    if len(columns) == 1:
        return values
    deviation = values.std(axis=0)
    return np.asarray((values - values.mean(axis=0)) / np.where(deviation > 0, deviation, 1))


def _number(path: Path, row: dict[str, str], column: str) -> float:
    try:
        value = float(row[column])
    except (TypeError, ValueError):
        value = float("nan")
    if not np.isfinite(value):
        raise StpError(
            f"{path}: {column} of {row['video']} is {row[column]!r}",
            expected="a number",
            remedy="correct the file",
        )
    return value
