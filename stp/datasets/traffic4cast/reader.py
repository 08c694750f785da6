"""Traffic4Cast 2021: traffic in ten cities on a grid of 100 m, every five minutes.

Eichenberger et al. 2022, "Traffic4cast at NeurIPS 2021 - temporal and spatial few-shot transfer
learning in gridded geo-spatial processes". One HDF5 file for each day of a city,
``<CITY>/training/<yyyy-mm-dd>_<CITY>_8ch.h5``, with an array uint8 (288, 495, 436, 8): periods of
five minutes of the day (local time), rows, columns, and for each of four headings the volume and
the speed of the traffic, both scaled to 0..255. PredBench crops the centre, 128 rows x 112 columns.
"""

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from pydantic import PositiveInt

from stp.core.errors import RawFileError, StpError
from stp.core.job import Extras, Job, Recipe
from stp.core.json_files import read_json
from stp.core.options import build, require
from stp.data.raw_files import RawFiles
from stp.data.windows import starts
from stp.prepare.frames import Piece, write_frames
from stp.prepare.hdf5 import open_array, read
from stp.prepare.output import Clip, attributes, write_coordinate, write_index
from stp.prepare.pixels import read_inputs
from stp.prepare.planned_counts import Lists, Planned

FOLDER = "traffic4cast2021"
LISTS = {
    "train": "predbench_annotations/traffic4cast2021/traffic4cast2021_train.json",
    "val": "predbench_annotations/traffic4cast2021/traffic4cast2021_val.json",
    # The name is misspelled where it is published.
    "test": "predbench_annotations/traffic4cast2021/traiifc4cast2021_test.json",
    "moscow": "predbench_annotations/traffic4cast2021/traffic4cast2021_moscow.json",
}
PATH = re.compile(r"(?P<city>\w+)/training/(?P<day>\d{4}-\d\d-\d\d)_(?P=city)_8ch\.h5")
STEPS = 288  # periods of five minutes per day
BLOCK = 12  # periods that are read at once; they take 20 MB unpacked
EPOCH = datetime.date(2019, 1, 1)
# The order in the files, according to data_layout.py of the competition's code.
VARIABLES = [f"{what}_{way}" for way in ("NE", "NW", "SE", "SW") for what in ("volume", "speed")]


@dataclass(frozen=True)
class Traffic4CastOptions:
    """Options of the reader of Traffic4Cast.

    Attributes:
        grid: numbers of rows and columns of the raw data.
        stride: number of frames from one window to the next (PredBench's released configuration:
            10).
    """

    grid: tuple[PositiveInt, PositiveInt] = (495, 436)
    stride: PositiveInt = 10


class Day(NamedTuple):
    """A day of a city, which is one raw file.

    Attributes:
        split: train, val, test, or the test subset moscow (a city without training days).
            PredBench has a list of days for each.
        file: name of the raw file.
        city: name of the city, such as "BERLIN".
        date: date, such as "2019-01-04".
    """

    split: str
    file: str
    city: str
    date: str

    @property
    def name(self) -> str:
        return f"{self.city}/{self.date}"


def read_days(raw: RawFiles | Lists) -> list[Day]:
    """Read PredBench's four lists of files (train, val, test, moscow), each the data of one day.

    Args:
        raw: finds the lists: `RawFiles` in the preparation; `Lists` in `count`, which is called
            before the checksums of raw files are recorded.

    Returns:
        the days, list after list.

    Raises:
        StpError: a list is missing or damaged, or names a day twice.
    """
    days = []
    split_of: dict[str, str] = {}
    for split, name in LISTS.items():
        path = raw.find(name)
        listed = read_json(path, list, "a JSON list of files", error=RawFileError)
        if not listed:
            raise RawFileError(path, "no files in the list")
        for item in listed:
            match = PATH.fullmatch(item) if isinstance(item, str) else None
            if match is None or not _is_date(match["day"]):
                raise RawFileError(
                    path,
                    repr(str(item)[:100]),
                    expected="<CITY>/training/<yyyy-mm-dd>_<CITY>_8ch.h5",
                )
            if item in split_of:
                raise RawFileError(path, f"{item} is listed twice, first for {split_of[item]}")
            split_of[item] = split
            days.append(Day(split, f"{FOLDER}/{item}", match["city"], match["day"]))
    return days


def _is_date(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def cut_windows(days: Iterable[Day], options: Traffic4CastOptions, length: int) -> list[Clip]:
    """Cut days, whose frames are stored one after the other, into windows.

    Args:
        days: the days, in the order in which they are stored.
        options: the stride.
        length: number of frames in a window.
    """
    return [
        Clip(
            day.split,
            f"{day.name}/step-{step:03d}",
            number * STEPS + step,
            1,
            length,
            day.name,
            step,
        )
        for number, day in enumerate(days)
        for step in starts(0, STEPS, length, options.stride).tolist()
    ]


def run(job: Job) -> Extras:
    """Write the frames (``frames.zarr``) and the clips (``index.parquet``) of Traffic4Cast 2021.

    Returns:
        facts for the receipt (record of the preparation), such as numbers of clips.

    Raises:
        StpError: an option or a raw file is wrong, or a raw file is missing.
    """
    recipe = job.recipe
    options, raw, height, width, span = read_inputs(job, Traffic4CastOptions, len(VARIABLES))
    ok = height <= options.grid[0] and width <= options.grid[1]
    require(ok, "shape", recipe["shape"], f"height and width within the grid {options.grid}")
    days = read_days(raw)
    names = set(raw.names)
    missing = [day.file for day in days if day.file not in names]
    if missing:
        raise StpError(
            f"{len(missing)} of {len(days)} listed files are missing, first {missing[0]}",
            expected=f"every file of the lists, below {FOLDER}/<CITY>/training/",
            remedy="unpack the archive of each city there",
        )
    attrs = attributes(
        recipe,
        raw,
        units="1",
        stored_scale=1.0,
        stored_offset=0.0,
        normalisation={
            "offset": 0.0,
            "scale": 255.0,
            "method": "fixed",
            "from": "PredBench's configuration",
        },
        phases=STEPS,
        variables=VARIABLES,
    )
    crop = (height, width)
    written = write_frames(
        job,
        raw,
        [
            Piece(day.name, STEPS, (day.file, options.grid, crop), raw.size(day.file))
            for day in days
        ],
        decode_day,
        attrs=attrs,
        dtype=np.uint8,
        unit="days",
    )
    minutes = [(datetime.date.fromisoformat(d.date) - EPOCH).days * 24 * 60 for d in days]
    write_coordinate(
        written.group,
        "time",
        "frame",
        np.add.outer(np.array(minutes, np.int64), 5 * np.arange(STEPS)).reshape(-1),
        units=f"minutes since {EPOCH.isoformat()} 00:00:00",
        standard_name="time",
        long_name="begin of the five minutes, local time of the city",
        calendar="standard",
    )
    write_coordinate(written.group, "variable", "channel", np.array(VARIABLES))
    written.group["frames"].attrs.update(
        units="1",
        long_name="traffic volume and speed, each scaled to 0..255",
        coordinates="time variable",
    )
    counts = write_index(job.out, cut_windows(days, options, span))
    return {**counts, **written.extras, **count_shared_days(days)}


def count(recipe: Recipe, raw: Lists) -> Planned:
    """Count the clips that `run` will write, from PredBench's lists of days, without the data.

    Used before the data are downloaded, to compare the numbers with the published ones.

    Args:
        recipe: recipe of the preparation, with ``options``, ``context`` and ``horizon``.
        raw: finds PredBench's lists of days among the raw files.

    Returns:
        the clips, or their numbers by split, or the reason why a number is not known yet.

    Raises:
        StpError: an option is wrong, or a list is wrong or missing.
    """
    options = build(Traffic4CastOptions, recipe["options"], "prepare options")
    return Planned(cut_windows(read_days(raw), options, recipe["context"] + recipe["horizon"]))


def count_shared_days(days: Iterable[Day]) -> dict[str, int]:
    """Count how many test days resemble training days, as facts for the receipt of the preparation.

    No test day is a training day of the same city, but it may be close to one.

    Returns:
        number of test days by description: all; those in cities of training days; those on dates of
        training days; and those on the day before or after a training day of their city.
    """
    days = list(days)
    train = [day for day in days if day.split == "train"]
    test = [day for day in days if day.split == "test"]
    cities, dates = {day.city for day in train}, {day.date for day in train}
    trained = {(day.city, datetime.date.fromisoformat(day.date)) for day in train}

    def beside(day: Day) -> bool:
        date = datetime.date.fromisoformat(day.date)
        return any((day.city, date + datetime.timedelta(days=by)) in trained for by in (-1, 1))

    return {
        "test days": len(test),
        "test days in cities of training": sum(day.city in cities for day in test),
        "test days on dates of training": sum(day.date in dates for day in test),
        "test days next to a training day of their city": sum(beside(day) for day in test),
    }


def decode_day(raw: RawFiles, task: tuple[str, tuple[int, int], tuple[int, int]]) -> np.ndarray:
    """Read the centre of all frames of a day, uint8 (288, 8, height, width).

    Args:
        raw: the raw files.
        task: name of the file; numbers of rows and columns of the raw grid; and height and width of
            the centre that is read.

    Raises:
        StpError: the file is damaged, or has another shape.
    """
    name, grid, (height, width) = task
    path = raw.find(name)
    # PredBench's crop rounds down: rows 183..310 and columns 162..273 of the official grid.
    top, left = (grid[0] - height) // 2, (grid[1] - width) // 2
    shape = (STEPS, *grid, len(VARIABLES))
    frames = np.empty((STEPS, len(VARIABLES), height, width), np.uint8)
    with open_array(path, "array", ndim=4, dtypes=("uint8",)) as dataset:
        if dataset.shape != shape:
            raise RawFileError(
                path,
                f"array has shape {dataset.shape}",
                expected=f"{shape}: steps, rows, columns, channels",
            )
        for first in range(0, STEPS, BLOCK):
            part = np.s_[first : first + BLOCK, top : top + height, left : left + width]
            frames[first : first + BLOCK] = np.moveaxis(read(dataset, part, path), -1, 1)
    return frames
