"""A measure that was computed elsewhere: a CSV file with the columns video and value."""

import csv
from pathlib import Path

import numpy as np

from stp.core.errors import StpError, nearest
from stp.opinions.prepared import Database


def read(path: Path, database: Database) -> np.ndarray:
    """Read values of all videos, (V, 1).

    Raises:
        StpError: the file cannot be read, or has other videos, one of them twice, or a value that
            is no finite number.
    """
    names = database.names
    expected, remedy = "a CSV file: video,value; a row of each video", "correct the file"
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [(row["video"], row["value"]) for row in csv.DictReader(file)]
    except (OSError, UnicodeDecodeError, csv.Error, KeyError) as error:
        raise StpError(
            f"{path}: cannot be read ({error!r})", expected=expected, remedy=remedy
        ) from None
    found: dict[str, float] = {}
    for video, value in rows:
        if video not in names:
            raise StpError(
                f"{path}: unknown video {video!r}",
                expected=f"the {len(names)} videos of the database",
                remedy=nearest(str(video), names),
            )
        if video in found:
            raise StpError(f"{path}: {video} has two rows", expected=expected, remedy=remedy)
        try:
            found[video] = float(value)
        except (TypeError, ValueError):
            found[video] = float("nan")
        if not np.isfinite(found[video]):
            raise StpError(
                f"{path}: the value of {video} is {value!r}", expected="a number", remedy=remedy
            )
    lacking = sorted(set(names) - set(found))
    if lacking:
        raise StpError(f"{path}: no row of {lacking[0]}", expected=expected, remedy=remedy)
    return np.array([found[name] for name in names])[:, None]
