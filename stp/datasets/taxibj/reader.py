"""TaxiBJ: taxis that enter and leave each cell of a 32 x 32 grid of Beijing, every half hour.

Zhang, Zheng and Qi 2017, "Deep spatio-temporal residual networks for citywide crowd flows
prediction". One HDF5 file for each of four periods, ``BJ13_M32x32_T30_InOut.h5`` ... ``BJ16``:
``date`` (n,) contains text ``yyyymmddSS``, where SS = 01..48 is the half hour of the day, and
``data`` (n, 2, 32, 32) contains inflow and outflow. Half hours that were not recorded are missing.

As in the authors' code, days without all 48 half hours are left out, and windows have no gaps.
Splits are by time: the last windows are for the test, the windows before for validation.
"""

import datetime
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import PositiveFloat, PositiveInt

from stp.core.errors import RawFileError, StpError
from stp.core.job import Extras, Job, Recipe
from stp.core.options import build, require
from stp.data.raw_files import RawFiles
from stp.data.windows import starts
from stp.prepare.frames import Piece, write_frames
from stp.prepare.hdf5 import open_array, read
from stp.prepare.output import Clip, attributes, write_coordinate, write_index
from stp.prepare.planned_counts import Lists, Planned

FILES = tuple(f"taxibj/BJ{year}_M32x32_T30_InOut.h5" for year in (13, 14, 15, 16))
DATE = re.compile(r"(\d{4})(\d{2})(\d{2})(\d{2})")
SLOTS = 48  # half hours of a day
EPOCH = datetime.date(2013, 1, 1)
UNITS = "1/(30 min)"
CHANNELS = ["inflow", "outflow"]
PIECE = 1024  # half hours: 16 MB of float64


@dataclass(frozen=True)
class TaxiBJOptions:
    """Options of the reader of TaxiBJ.

    Attributes:
        complete_days: whether days without all 48 half hours are left out, as in the authors' code
            (DeepST, ``remove_incomplete_days``).
        clips: numbers of windows for validation and test, ``{val: n, test: n}`` (PredBench,
            Table 1).
        scale: divisor of the flows (PredBench's released configuration: 1250).
    """

    complete_days: bool = True
    clips: dict[str, PositiveInt] = field(default_factory=lambda: {"val": 500, "test": 500})
    scale: PositiveFloat = 1250.0

    def __post_init__(self) -> None:
        require(set(self.clips) == {"val", "test"}, "clips", self.clips, "{val: n, test: n}")


class Stretch(NamedTuple):
    """A stretch of consecutive half hours in a file, without a gap.

    Attributes:
        file: name of the raw file.
        first: first row in the file.
        rows: number of rows.
        slot: time of the first row, half hours since 2013-01-01.
    """

    file: str
    first: int
    rows: int
    slot: int


def run(job: Job) -> Extras:
    """Write the frames (``frames.zarr``) and the clips (``index.parquet``) of TaxiBJ.

    Returns:
        facts for the receipt (record of the preparation), such as numbers of clips.

    Raises:
        StpError: an option or a raw file is wrong.
    """
    recipe = job.recipe
    options = build(TaxiBJOptions, recipe["options"], "prepare options")
    raw = RawFiles(job.inputs["raw"], job.runtime["raw_roots"])
    shape = tuple(recipe["shape"])
    require(len(shape) == 3 and shape[0] == 2, "shape", recipe["shape"], "[2, height, width]")
    stretches = find_stretches(raw, options)
    pieces = [
        Piece(
            f"{stretch.file} rows {first}..{first + rows - 1}",
            rows,
            (stretch.file, first, rows, shape),
            rows * int(np.prod(shape)) * 8,
        )
        for stretch in stretches
        for first in range(stretch.first, stretch.first + stretch.rows, PIECE)
        for rows in [min(PIECE, stretch.first + stretch.rows - first)]
    ]
    written = write_frames(
        job,
        raw,
        pieces,
        decode_flows,
        attrs=attributes(
            recipe,
            raw,
            units=UNITS,
            stored_scale=1.0,
            stored_offset=0.0,
            normalisation={
                "offset": 0.0,
                "scale": float(options.scale),
                "method": "fixed",
                "from": "PredBench's configuration",
            },
            phases=SLOTS,
            variables=CHANNELS,
        ),
        dtype=np.float32,
        unit="pieces",
    )
    slots = np.concatenate([np.arange(s.slot, s.slot + s.rows) for s in stretches])
    write_coordinate(
        written.group,
        "time",
        "frame",
        30 * slots.astype(np.int64),
        units=f"minutes since {EPOCH.isoformat()} 00:00:00",
        standard_name="time",
        long_name="begin of the half hour, local time of Beijing",
        calendar="standard",
    )
    write_coordinate(written.group, "variable", "channel", np.array(CHANNELS))
    written.group["frames"].attrs.update(
        units=UNITS, long_name="taxis that enter or leave a cell", coordinates="time variable"
    )
    index = write_index(
        job.out, cut_windows(stretches, options, recipe["context"] + recipe["horizon"])
    )
    largest = written.statistics.of(list(range(len(pieces))))["max"]
    return {
        **index,
        **written.extras,
        "stretches": len(stretches),
        "largest": dict(zip(CHANNELS, largest, strict=True)),
    }


def count(recipe: Recipe, raw: Lists) -> Planned:
    """Count the clips that `run` will write, before the data are downloaded.

    If the raw files are there, windows are counted from their dates. Without them, only the numbers
    of validation and test clips are known.

    Args:
        recipe: recipe of the preparation, with ``options``, ``context`` and ``horizon``.
        raw: finds the HDF5 files among the raw files. They may be missing.

    Returns:
        the clips, or their numbers by split, or the reason why a number is not known yet.

    Raises:
        StpError: an option or a raw file is wrong.
    """
    options = build(TaxiBJOptions, recipe["options"], "prepare options")
    length = recipe["context"] + recipe["horizon"]
    if all(any((Path(root) / name).is_file() for root in raw.roots) for name in FILES):
        return Planned(cut_windows(find_stretches(raw, options), options, length))
    reason = (
        "depends on which half hours are absent from the files; the authors' log has 445 complete"
        f" days, so 57 unbroken stretches would give {445 * SLOTS - 57 * (length - 1):,} windows"
    )
    return Planned((), dict(options.clips), dict.fromkeys(("train", "strict"), reason))


def find_stretches(raw: RawFiles | Lists, options: TaxiBJOptions) -> list[Stretch]:
    """Find all stretches of consecutive half hours in the raw files, sorted by time.

    Args:
        raw: finds the HDF5 files: `RawFiles` in the preparation; `Lists` in `count`, which is
            called before the checksums of raw files are recorded.
        options: whether incomplete days are left out.

    Raises:
        StpError: a file is missing or damaged, or its dates are not ascending half hours.
    """
    stretches: list[Stretch] = []
    last, before = -1, ""
    for name in FILES:
        slots = read_dates(raw.find(name))
        if slots[0] <= last:
            raise RawFileError(
                raw.find(name),
                f"it begins before {before} ends",
                expected="files of different periods, in the order of their names",
            )
        last, before = int(slots[-1]), name
        stretches += [Stretch(name, *rows) for rows in find_series(slots, options.complete_days)]
    return stretches


def read_dates(path: Path) -> np.ndarray:
    """Read the half hours of a file, counted from 2013-01-01, ascending.

    Raises:
        StpError: the file is damaged, or a date is invalid, or dates do not ascend.
    """
    with open_array(path, "date", ndim=1, dtypes=("bytes", "object")) as dataset:
        dates = read(dataset, slice(None), path)
    expected = "text yyyymmddSS, SS being the half hour of the day, 01..48"
    slots = np.empty(len(dates), np.int64)
    for i, date in enumerate(dates.tolist()):
        slot = _slot(_decode_date(date))
        if slot is None:
            raise RawFileError(path, f"date {i} is {_decode_date(date)[:20]!r}", expected=expected)
        slots[i] = slot
    if not len(slots):
        raise RawFileError(path, "there are no dates in it", expected=expected)
    wrong = np.flatnonzero(np.diff(slots) <= 0)
    if len(wrong):
        i = int(wrong[0])
        how = "again" if slots[i] == slots[i + 1] else "earlier"
        raise RawFileError(
            path,
            f"date {i + 1} is {_decode_date(dates[i + 1])}, {how} after {_decode_date(dates[i])}",
        )
    return slots


def _decode_date(date: Any) -> str:
    return date.decode("ascii", "replace") if isinstance(date, bytes) else str(date)


def _slot(text: str) -> int | None:
    match = DATE.fullmatch(text)
    if match is None or not 1 <= int(match[4]) <= SLOTS:
        return None
    try:
        day = datetime.date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None
    return (day - EPOCH).days * SLOTS + int(match[4]) - 1


def find_series(slots: np.ndarray, complete_days: bool) -> Iterator[tuple[int, int, int]]:
    """Find the stretches of consecutive half hours in a file.

    Args:
        slots: half hours of the rows, counted from 2013-01-01, ascending.
        complete_days: whether to leave out days without all 48 half hours.

    Yields:
        first row, number of rows, and half hour of the first row, for each stretch.
    """
    rows = np.arange(len(slots))
    if complete_days:
        days, counts = np.unique(slots // SLOTS, return_counts=True)
        rows = rows[np.isin(slots // SLOTS, days[counts == SLOTS])]
    if len(rows):
        for stretch in np.split(rows, np.flatnonzero(np.diff(slots[rows]) != 1) + 1):
            yield int(stretch[0]), len(stretch), int(slots[stretch[0]])


def cut_windows(stretches: Iterable[Stretch], options: TaxiBJOptions, length: int) -> list[Clip]:
    """Cut stretches of consecutive half hours into windows, and assign these to splits by time.

    Args:
        stretches: the stretches, sorted by time; the store has the frames of one stretch after the
            other.
        options: numbers of validation and test windows.
        length: number of frames in a window.

    Returns:
        the clips of all splits, and of the subset ``strict``: the test windows that begin after the
        last day of which another split has a frame.

    Raises:
        StpError: there are too few windows.
    """
    windows = []
    base = 0
    for stretch in stretches:
        for start in starts(0, stretch.rows, length, 1).tolist():
            windows.append((base + start, stretch.slot + start))
        base += stretch.rows
    test = options.clips["test"]
    later = test + options.clips["val"]
    if len(windows) <= later:
        raise StpError(
            f"TaxiBJ: only {len(windows)} windows of {length} half hours without a gap",
            expected=f"more than the {later} for validation and the test",
            remedy="lower `clips` in the options of the reader",
        )
    splits = ["train"] * (len(windows) - later) + ["val"] * options.clips["val"] + ["test"] * test
    clips = []
    for split, (start, slot) in zip(splits, windows, strict=True):
        day = (EPOCH + datetime.timedelta(days=slot // SLOTS)).isoformat()
        name = f"{day}/half-hour-{slot % SLOTS + 1:02d}"
        clips.append(Clip(split, name, start, 1, length, day, slot % SLOTS))
    last = (windows[-test - 1][1] + length - 1) // SLOTS  # the last day seen before the test
    apart = [
        clip._replace(split="strict")
        for clip, (_, slot) in zip(clips[-test:], windows[-test:], strict=True)
        if slot // SLOTS > last
    ]
    return clips + apart


def decode_flows(raw: RawFiles, task: tuple[str, int, int, tuple[int, ...]]) -> np.ndarray:
    """Read rows of a file, float32 (T, 2, H, W), taxis per half hour.

    Args:
        raw: the raw files.
        task: name of the file, first row, number of rows, and shape of a frame (2, H, W).

    Raises:
        StpError: the file is damaged or has another shape, or values are not flows.
    """
    name, first, rows, shape = task
    path = raw.find(name)
    with (
        open_array(path, "date", ndim=1, dtypes=("bytes", "object")) as dates,
        open_array(path, "data", ndim=4, dtypes=("float64", "float32")) as dataset,
    ):
        if dataset.shape[1:] != shape or len(dataset) != len(dates):
            raise RawFileError(
                path,
                f"data has shape {dataset.shape}",
                expected=f"as many rows as date, {len(dates)}, each {shape}",
            )
        values = read(dataset, slice(first, first + rows), path)
    wrong = ~np.isfinite(values) | (values < 0) | (values > np.finfo(np.float32).max)
    if wrong.any():
        row = first + int(np.flatnonzero(wrong.any(axis=(1, 2, 3)))[0])
        raise RawFileError(
            path,
            f"{int(wrong.sum())} values of data are no flows, first in row {row}",
        )
    return values.astype(np.float32)
