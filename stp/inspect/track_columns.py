"""Guess the columns of a file of detections from their names, otherwise from their values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from stp.core.errors import FileError, StpError, suggest_name
from stp.prepare.track_readers import text
from stp.prepare.track_readers.detections import is_set, seconds

FRAME = (
    "frame", "frameid", "framenumber", "framenum", "frameno", "framenr", "frameindex", "frameidx",
    "imageid", "timestep", "f",
)  # fmt: skip
TIME = (
    "time", "timestamp", "seconds", "secs", "sec", "datetime", "date", "timeofday", "epoch",
    "unixtime", "tstamp", "stamp", "headerstamp", "utc", "t",
)  # fmt: skip
PERSON = (
    "person", "personid", "pid", "track", "trackid", "tracknumber", "pedestrian",
    "pedestrianid", "ped", "pedid", "agent", "agentid", "object", "objectid", "objid", "obj",
    "target", "targetid", "human", "humanid", "subject", "subjectid", "actor", "actorid",
    "entity", "entityid", "id", "uid", "name", "p", "who",
)  # fmt: skip
LOST = ("lost", "islost", "outside", "outofview")
"""Names of columns that mark rows without a detection (SDD and VATIC, CVAT)."""
PLACE = r"{axis}|(pos|position|poseposition|world|coord|location|loc|centre|center|c|p){axis}|" \
    r"{axis}(pos|position|world|coord|coordinate|location|loc|centre|center)"  # fmt: skip
BOXES = re.compile(r"(bb|bbox|box)(left|top|width|height|x|y|w|h|[xy]?[12])|[xy](min|max)|[xy][12]")
_LENGTHS = {
    "m": "m metre metres meter meters", "cm": "cm", "mm": "mm", "km": "km",
    "ft": "ft feet foot", "in": "in inch inches",
}  # fmt: skip
_DURATIONS = {
    "s": "s sec secs seconds", "ms": "ms msec millis milliseconds",
    "us": "us µs usec micros microseconds", "ns": "ns nsec nanos nanoseconds",
}  # fmt: skip
LENGTHS = {word: unit for unit, words in _LENGTHS.items() for word in words.split()}
DURATIONS = {word: unit for unit, words in _DURATIONS.items() for word in words.split()}
PIXELS = ("px", "pixel", "pixels")
"""Units of pictures, which are not units of the ground."""
MOST_ROWS = 5000
"""Number of rows whose values are read."""


@dataclass
class Guessed:
    """The guessed columns of a file of detections of people.

    Attributes:
        columns: name or number of a column by its role: frame, time, person, x, y or lost.
        length: unit of x and y, if their names contain it.
        duration: unit of times, if the name of the column contains it; ``s`` for dates.
        left_out: names of the other columns.
        by_values: whether columns without names were guessed from their values.
    """

    columns: dict[str, Any] = field(default_factory=dict)
    length: str | None = None
    duration: str | None = None
    left_out: list[str] = field(default_factory=list)
    by_values: bool = False


def guess_columns(path: Path, alone: bool = True) -> Guessed:
    """Guess the columns of a file of detections.

    Args:
        path: path of the file.
        alone: whether this is the only file of the dataset; it must then have a column that
            identifies people. Of several files, each may have the detections of one person, so such
            a column may be missing.

    Raises:
        StpError: the file cannot be read, or a column is missing.
    """
    if path.suffix.lower() == ".parquet":
        try:
            table = next(pq.ParquetFile(path).iter_batches(MOST_ROWS)).to_pandas()
        except (OSError, ValueError, StopIteration) as error:
            raise FileError(path, f"cannot be read ({error})") from None
        return _by_name(path, [str(name) for name in table.columns], table, alone)
    form = text.layout(path)
    if form.names is not None:
        try:
            table = text.table(path, form, by_number=False, most=MOST_ROWS)
            return _by_name(path, form.names, table, alone)
        except StpError:
            if not form.in_comment:  # a comment may be any four words
                raise
    return _by_value(path, text.table(path, form, by_number=True, most=MOST_ROWS))


def _split_unit(name: str) -> tuple[str, str]:
    """Split a name into lower-case text without punctuation, and a unit."""
    matched = re.fullmatch(r"(.*?)\s*[\[(]\s*([^\])]*)\s*[\])]", name.strip())
    if matched:
        return re.sub(r"[^a-z0-9]", "", matched[1].lower()), matched[2].strip().lower()
    word, _, unit = re.sub(r"[\s.\-]+", "_", name.strip().lower()).rpartition("_")
    if word and unit in {*LENGTHS, *DURATIONS}:
        return re.sub(r"[^a-z0-9]", "", word), unit
    return re.sub(r"[^a-z0-9]", "", name.lower()), ""


def _by_name(path: Path, names: Sequence[str], table: pd.DataFrame, alone: bool) -> Guessed:
    guessed = Guessed()
    plain = [(*_split_unit(name), name) for name in names]
    for key, words in (("frame", FRAME), ("time", TIME), ("person", PERSON), ("lost", LOST)):
        free = [column for column in plain if column[2] not in guessed.columns.values()]
        matches = (column for word in words for column in free if column[0] == word)
        if match := next(matches, None):
            word, unit, guessed.columns[key] = match
            if key == "time":
                guessed.duration = DURATIONS.get(unit)
                if word in ("seconds", "secs", "sec"):
                    guessed.duration = "s"
    for axis in "xy":
        pattern = re.compile(PLACE.format(axis=axis))
        glued = re.compile(f"{axis}({'|'.join(LENGTHS)})")
        for of_name, unit, name in sorted(
            plain, key=lambda entry: ("world" not in entry[0], entry[0])
        ):
            short = glued.fullmatch(of_name)
            if (unit not in PIXELS and pattern.fullmatch(of_name)) or short:
                guessed.columns[axis] = name
                guessed.length = LENGTHS.get(short[1] if short else unit) or guessed.length
                break
    if "lost" in guessed.columns:  # the last one
        guessed.columns["lost"] = guessed.columns.pop("lost")
    guessed.left_out = [name for name in names if name and name not in guessed.columns.values()]
    _require(path, names, guessed, alone)
    if "time" in guessed.columns:
        _look_at_times(table, guessed)
    if "lost" in guessed.columns and not is_set(table[guessed.columns["lost"]]).any():
        guessed.left_out.append(guessed.columns.pop("lost"))
    return guessed


def _require(path: Path, names: Sequence[str], guessed: Guessed, alone: bool) -> None:
    missing = [key for key in ("person", "x", "y") if key not in guessed.columns]
    if not alone and "person" in missing:
        missing.remove("person")
    if not {"frame", "time"} & set(guessed.columns):
        missing.insert(0, "frame or time")
    boxes = [name for name in names if BOXES.fullmatch(_split_unit(name)[0])]
    if boxes and {"x", "y"} & set(missing):
        raise _boxes_error(path, ", ".join(boxes))
    if missing:
        raise FileError(
            path,
            f"no column for {', '.join(missing)} among {', '.join(names)}",
            expected="names such as frame, id, x, y in the first line",
            remedy=suggest_name(missing[0], names),
        )


def _boxes_error(path: Path, origin: str) -> FileError:
    return FileError(
        path,
        f"boxes in a picture ({origin}), and no positions on the ground",
        expected="columns x and y, in metres or another unit of length",
        remedy="map the middle of each box's lower edge to the ground, with the homography of the "
        "camera, and write frame, id, x and y",
    )


def _look_at_times(table: pd.DataFrame, guessed: Guessed) -> None:
    """Set the unit of dates; leave out an unreadable column of times beside frames."""
    column = table[guessed.columns["time"]]
    is_number = pd.api.types.is_numeric_dtype(column)
    if not is_number and seconds(column).notna().any():
        words = pd.Series(column.astype(str).to_numpy(), dtype=object)
        if pd.to_numeric(words, errors="coerce").isna().all():
            guessed.duration = "s"
    if "frame" in guessed.columns and seconds(column).isna().any():
        guessed.left_out.append(guessed.columns.pop("time"))


def _by_value(path: Path, table: pd.DataFrame) -> Guessed:
    """Guess columns without names from the usual orders of columns.

    Usual orders are: frame or time, person, x and y (SGAN, TrajNet), perhaps with person and frame
    exchanged; frame, person, x, z, y and velocities (EWAP); time, person, x, y, z and more (ATC).
    """
    width = table.shape[1]
    numbers = table.apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
    if width < 4:
        raise FileError(
            path,
            f"{width} columns without names",
            expected="a first line with names such as frame, id, x, y; or four columns: frame, "
            "person, x, y",
            remedy="add such a line, or write the YAML by hand (docs/own_data.md)",
        )
    if width in (9, 10) and (np.isnan(numbers[:, 7:9]) | (numbers[:, 7:9] == -1)).all():
        raise _boxes_error(path, "as in MOTChallenge")
    flags = numbers[:, 6:9]
    if width == 10 and np.isnan(numbers[:, 9]).all() and np.isin(flags, (0, 1)).all():
        raise _boxes_error(path, "as in the Stanford Drone Dataset")
    x, y = 2, 3
    if width in (9, 10):  # MOTChallenge: frame, person, box, confidence, x, y, z
        x, y = 7, 8
    elif width == 8 and _are_whole(numbers[:, 0]) and np.ptp(numbers[:, 3]) == 0:
        x, y = 2, 4
    first, second = 0, 1
    if (
        width == 4
        and _are_whole(numbers[:, :2])
        and _median_step(numbers, 1, 0) < _median_step(numbers, 0, 1)
    ):
        first, second = 1, 0
    when = (
        "frame" if _are_whole(numbers[:, first]) and np.nanmax(numbers[:, first]) < 1e9 else "time"
    )
    columns = {when: first, "person": second, "x": x, "y": y}
    others = [str(number) for number in range(width) if number not in columns.values()]
    dates = np.isnan(numbers[:, first]).all()
    return Guessed(columns, None, "s" if dates else None, others, by_values=True)


def _are_whole(values: np.ndarray) -> bool:
    return bool(np.isfinite(values).all() and (values % 1 == 0).all())


def _median_step(numbers: np.ndarray, when: int, person: int) -> float:
    """Median distance between consecutive rows of a person, for a guess of the columns."""
    order = np.lexsort((numbers[:, when], numbers[:, person]))
    same = np.diff(numbers[order, person]) == 0
    way = np.linalg.norm(np.diff(numbers[order][:, 2:4], axis=0), axis=1)[same]
    return float(np.median(way)) if len(way) else np.inf
