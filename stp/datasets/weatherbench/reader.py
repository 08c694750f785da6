"""WeatherBench: hourly ERA5 reanalysis since 1979 on a coarse grid.

Rasp, Dueben, Scher, Weyn, Mouatadid and Thuerey 2020, "WeatherBench: a benchmark data set for
data-driven weather forecasting". A NetCDF file contains one variable for one year. PredBench uses
69 channels at 1.40625 degrees: 4 fields at the surface and 5 on 13 pressure levels, 6 hours apart.

The layout "ensemble" is a file with several members, for short samples of ERA5.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import zarr
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from stp.core.errors import StpError
from stp.core.job import Extras, Job, Recipe
from stp.core.options import build, check_keys, levels_by_name, require, whole
from stp.data.raw_files import RawFiles
from stp.datasets.weatherbench.files import (
    Axes,
    RawField,
    find_hours,
    load_field,
    open_checked,
    read_frames,
    require_global_grid,
    stamp,
)
from stp.prepare.climatology import HOURS, Means, write_climatology
from stp.prepare.frames import Piece, write_frames
from stp.prepare.output import SPLITS, Clip, attributes, write_coordinate, write_index
from stp.prepare.planned_counts import Lists, Planned

PIECE_BYTES = 128 << 20
LEVELS = [50, 100, 150, 200, 250, 300, 400, 500, 600, 700, 850, 925, 1000]
# name, folder, units and CF name, in the order of PredBench's channels:
# configs/_base_/datasets/weatherbench128x256_69.py; units as ERA5 states them
VARIABLES = {
    "t2m": ("2m_temperature", "K", "air_temperature"),
    "u10": ("10m_u_component_of_wind", "m s**-1", "eastward_wind"),
    "v10": ("10m_v_component_of_wind", "m s**-1", "northward_wind"),
    "tp": ("total_precipitation", "m", "lwe_thickness_of_precipitation_amount"),
    "z": ("geopotential", "m**2 s**-2", "geopotential"),
    "t": ("temperature", "K", "air_temperature"),
    "r": ("relative_humidity", "%", "relative_humidity"),
    "u": ("u_component_of_wind", "m s**-1", "eastward_wind"),
    "v": ("v_component_of_wind", "m s**-1", "northward_wind"),
}
FIRST_HOUR = {1979: 7}
"""First hour of years whose files lack earlier ones: accumulated fields begin at 07 UTC
(WeatherBench issues 6 and 33)."""
INTERVAL = 6  # hours between the frames of a window
STRIDE = {"train": 6, "val": 3, "test": 3}  # hours between windows
CLIMATOLOGY = (1993, 2016)  # first and last year; test years are never used
COORDINATES = "variable level channel_units channel_standard_name lat lon"
SURFACE = ("t2m", "u10", "v10", "tp")


@dataclass(frozen=True)
class WeatherbenchOptions:
    """Options of the reader of WeatherBench.

    The defaults are PredBench's: configs/_base_/datasets/weatherbench128x256_69.py and
    predbench/datasets/weatherbench_np.py.

    Attributes:
        layout: "yearly" (WeatherBench, a file for each variable and year) or "ensemble" (one file,
            whose members are assigned to splits).
        resolution: for yearly, spelling of the resolution in the names of folders and files.
        variables: pressure levels of each variable in hPa (empty at the surface), in the order of
            the channels; see `stp.core.options.levels_by_name`.
        years: for yearly, first and last year of each split.
        days_per_year: for yearly, number of days of each year in the files, from 1 January; null
            for whole years.
        subsets: for yearly, further subsets of the test years: number of frames of a window, by
            name.
        file: for ensemble, name of the file.
        members: for ensemble, indices of the members of each split, from 0.
        cluster_days: number of days of a block of a year; windows that start in the same block are
            one cluster.
        normalisation: "published" (constants of the option `published`) or "train" (computed).
        published: for the normalisation "published", [mean, standard deviation] of each channel, by
            its name. They are compared with those computed from the training years.
    """

    layout: Literal["yearly", "ensemble"] = "yearly"
    resolution: str = "1.40625deg"
    variables: list[dict[str, Any]] = field(
        default_factory=lambda: [
            {"name": name, "levels": [] if name in SURFACE else list(LEVELS)} for name in VARIABLES
        ]
    )
    years: dict[str, tuple[int, int]] = field(
        default_factory=lambda: {"train": (1979, 2015), "val": (2016, 2016), "test": (2017, 2018)}
    )
    days_per_year: Annotated[int, Field(ge=1, le=366)] | None = None
    subsets: dict[str, PositiveInt] = field(
        default_factory=lambda: {"extrapolation": 22, "robustness": 9}
    )
    file: str | None = None
    members: dict[str, list[NonNegativeInt]] | None = None
    cluster_days: PositiveInt = 30
    normalisation: Literal["published", "train"] = "train"
    published: dict[str, tuple[float, PositiveFloat]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_keys("variables", self.levels, VARIABLES)
        for name, levels in self.levels.items():
            ok = all(whole(level, 1) for level in levels)
            ok = ok and len(set(levels)) == len(levels) and bool(levels) != (name in SURFACE)
            require(ok, f"variables.{name}", levels, "levels in hPa; [] for a surface field")
        ok = set(self.years) == set(SPLITS)
        ok = ok and all(1678 <= first <= last <= 2261 for first, last in self.years.values())
        require(ok, "years", self.years, "train, val, test: [first, last]")
        dealt = [year for split in SPLITS for year in self.years_of(split)]
        require(len(set(dealt)) == len(dealt), "years", self.years, "no year in two splits")
        require(not set(self.subsets) & set(SPLITS), "subsets", self.subsets, "name: frames >= 1")
        if self.layout == "ensemble":
            members = self.members or {}
            numbers = [n for split in members.values() for n in split]
            ok = set(members) == set(SPLITS) and len(set(numbers)) == len(numbers)
            require(ok, "members", self.members, "train, val, test: different numbers from 0")
            require(self.file is not None, "file", self.file, "the name of the file")
        if self.normalisation == "published":
            lacking = [name for name in self.channels if name not in self.published]
            require(not lacking, "published", sorted(self.published), f"also {', '.join(lacking)}")

    @property
    def levels(self) -> dict[str, list[int]]:
        """Pressure levels (hPa) by name of the variable, in the order of the channels."""
        return levels_by_name(self.variables)

    @property
    def channels(self) -> list[str]:
        """Names of the channels: "t2m", "z_500", ..."""
        return [name for name, _ in self.with_levels]

    @property
    def with_levels(self) -> list[tuple[str, int | None]]:
        """Name and pressure level (hPa) of each channel; the level is None at the surface."""
        channels: list[tuple[str, int | None]] = []
        for name, levels in self.levels.items():
            channels += [(f"{name}_{level}", level) for level in levels] or [(name, None)]
        return channels

    def years_of(self, split: str) -> range:
        """The years of a split."""
        first, last = self.years[split]
        return range(first, last + 1)


class Run(NamedTuple):
    """Consecutive hours of one year, or of a member of an ensemble.

    Attributes:
        name: name of the year or member, such as "1979" or "member-03".
        split: train, val or test.
        first: first hour, in hours since 1970-01-01 UTC.
        hours: number of hours.
        step: number of hours between stored frames.
    """

    name: str
    split: str
    first: int
    hours: int
    step: int

    @property
    def frames(self) -> int:
        """Number of stored frames."""
        return -(-self.hours // self.step)


def runs_of(options: WeatherbenchOptions) -> list[Run]:
    """List the runs (the consecutive hours of one year) of all splits: train, val, test."""
    runs = []
    for split in SPLITS:
        for year in options.years_of(split):
            start, stop = (
                int(np.datetime64(f"{y}", "h").astype(np.int64)) for y in (year, year + 1)
            )
            if options.days_per_year is not None:
                stop = min(stop, start + 24 * options.days_per_year)
            start += FIRST_HOUR.get(year, 0)
            runs.append(Run(str(year), split, start, stop - start, STRIDE[split]))
    return runs


def cut_windows(runs: Iterable[Run], options: WeatherbenchOptions, span: int) -> list[Clip]:
    """Cut years into windows, for the layout "yearly".

    The frames of the years are stored one after the other.

    Windows do not cross the ends of years. As in predbench/datasets/weatherbench_np.py, windows
    that end in the last 6 hours are left out, which gives the published numbers of windows.

    Args:
        runs: the consecutive hours of each year, in the order in which they are stored.
        options: subsets and lengths of clusters.
        span: number of frames in a window.
    """
    clips = []
    base = 0
    for one_run in runs:
        begins = int(np.datetime64(one_run.name, "h").astype(np.int64))
        spans = {one_run.split: span}
        if one_run.split == "test":
            spans |= options.subsets
        for split, frames in spans.items():
            for start in range(0, one_run.hours - frames * INTERVAL, one_run.step):
                hour = one_run.first + start
                block = (hour - begins) // (24 * options.cluster_days)
                clips.append(
                    Clip(
                        split,
                        stamp(hour),
                        base + start // one_run.step,
                        INTERVAL // one_run.step,
                        frames,
                        f"{one_run.name}/block-{block:02d}",
                        hour % 24 // INTERVAL,
                    )
                )
        base += one_run.frames
    return clips


def run(job: Job) -> Extras:
    """Write the frames (``frames.zarr``), the clips (``index.parquet``) and perhaps a climatology.

    The layout "yearly" gets a climatology (``climatology.zarr``), if training years are within
    1993-2016; the layout "ensemble" gets none.

    Returns:
        facts for the receipt (record of the preparation), such as numbers of clips.

    Raises:
        StpError: an option or a raw file is wrong, or a raw file is missing.
    """
    recipe = job.recipe
    options = build(WeatherbenchOptions, recipe["options"], "prepare options")
    raw = RawFiles(job.inputs["raw"], job.runtime["raw_roots"])
    channels = len(options.channels)
    ok = recipe["shape"][0] == channels
    require(ok, "shape", recipe["shape"], f"{channels} channels, as in variables")
    span = recipe["context"] + recipe["horizon"]
    plan = _yearly if options.layout == "yearly" else _ensemble
    runs, pieces, axes, hours, clips, phases = plan(raw, recipe, options, span)

    climatology: dict[str, Any] = {}

    def average(group: zarr.Group) -> None:
        if options.layout == "yearly":
            climatology["climatology"] = _climatology(job, options, group, hours, axes)

    written = write_frames(
        job,
        raw,
        pieces,
        decode_years if options.layout == "yearly" else decode_member,
        attrs=attributes(
            recipe,
            raw,
            units=recipe["units"],
            stored_scale=1.0,
            stored_offset=0.0,
            phases=phases,
            variables=options.channels,
        ),
        dtype=np.float32,
        unit="pieces",
        then=average,
    )
    train = {one_run.name for one_run in runs if one_run.split == "train"}
    at = [i for i, piece in enumerate(pieces) if piece.name.split(" ")[0] in train]
    statistics = written.statistics.of(at)
    latitudes = "flipped to ascend" if axes.flipped else "as stored"
    written.group.attrs.update(
        normalisation=_normalisation(options, statistics),
        training_statistics=statistics,
        notes={"latitudes": latitudes},
    )
    _describe(written.group, options, axes)
    frames = written.group["frames"]
    epoch = {"units": "hours since 1970-01-01 00:00:00", "calendar": "proleptic_gregorian"}
    write_coordinate(written.group, "time", "frame", hours, standard_name="time", **epoch)
    frames.attrs.update(long_name="ERA5 fields, one per channel", coordinates=f"time {COORDINATES}")
    extras: dict[str, Any] = {**write_index(job.out, clips), **written.extras, **climatology}
    if options.normalisation == "published":
        extras["largest difference to the published constants"] = _difference(options, statistics)
    return extras


def count(recipe: Recipe, raw: Lists) -> Planned:
    """Count the clips that `run` will write, from the options and the calendar, without the data.

    Args:
        recipe: recipe of the preparation, with ``options``, ``context`` and ``horizon``.
        raw: not used, since no list is read; `count` of every reader has it.

    Returns:
        the clips, or their numbers by split, or the reason why a number is not known yet.

    Raises:
        StpError: an option is wrong.
    """
    options = build(WeatherbenchOptions, recipe["options"], "prepare options")
    if options.layout != "yearly":
        return Planned(unknown=dict.fromkeys(SPLITS, f"the times are in {options.file}"))
    return Planned(cut_windows(runs_of(options), options, recipe["context"] + recipe["horizon"]))


PreparationPlan = tuple[list[Run], list[Piece], Axes, np.ndarray, list[Clip], int]


def _yearly(
    raw: RawFiles, recipe: Recipe, options: WeatherbenchOptions, span: int
) -> PreparationPlan:
    """Plan the preparation of yearly files; all files are checked before any is read."""
    shape = tuple(recipe["shape"])
    runs = runs_of(options)
    files = {
        (name, one_run.name): file_of(options, name, one_run.name)
        for one_run in runs
        for name in options.levels
    }
    missing = sorted(file for file in files.values() if file not in raw.names)
    if missing:
        raise StpError(
            f"{len(missing)} of {len(files)} WeatherBench files are missing, first {missing[0]}",
            expected="a file for each variable and year",
            remedy="fetch all files of the release, or shorten `variables` or `years`",
        )
    grid: Axes | None = None
    starts: dict[str, dict[str, int]] = {one_run.name: {} for one_run in runs}
    for one_run in runs:
        begins = int(np.datetime64(one_run.name, "h").astype(np.int64))
        hours = np.arange(one_run.first, one_run.first + one_run.hours)
        for name in options.levels:
            field_of_year = _field(options, name, files[name, one_run.name])
            path = raw.find(field_of_year.file)
            _, axes = open_checked(path, field_of_year)
            grid = grid or axes
            require_global_grid(path, axes, *shape[1:])
            earlier = one_run.first - begins
            starts[one_run.name][name] = find_hours(path, axes.hours, hours, earlier)
    assert grid is not None
    frame_bytes = 4 * int(np.prod(shape))
    most = max(1, PIECE_BYTES // frame_bytes)
    pieces = []
    for one_run in runs:
        for first in range(0, one_run.frames, most):
            n = min(most, one_run.frames - first)
            at = [(first + i) * one_run.step for i in range(n)]
            task = [
                (_field(options, name, files[name, one_run.name]), [start + k for k in at])
                for name, start in starts[one_run.name].items()
            ]
            name = f"{one_run.name} from {stamp(one_run.first + at[0])}"
            pieces.append(Piece(name, n, task, n * frame_bytes))
    stamps = [one_run.first + one_run.step * np.arange(one_run.frames) for one_run in runs]
    clips = cut_windows(runs, options, span)
    return runs, pieces, grid, np.concatenate(stamps), clips, 24 // INTERVAL


def _ensemble(
    raw: RawFiles, recipe: Recipe, options: WeatherbenchOptions, span: int
) -> PreparationPlan:
    """Plan the preparation of a file with members, with windows at all times."""
    assert options.file is not None and options.members is not None
    fields = [_field(options, name, options.file) for name in options.levels]
    path = raw.find(options.file)
    opened = [open_checked(path, each, ensemble=True) for each in fields]
    values, axes = opened[0]
    steps = np.diff(axes.hours)
    shape = (recipe["shape"][0], len(axes.lat), len(axes.lon))
    require(list(shape) == list(recipe["shape"]), "shape", recipe["shape"], str(list(shape)))
    if len(steps) < span - 1 or (steps != steps[0]).any() or 24 % int(steps[0]):
        raise StpError(
            f"{path}: times {', '.join(stamp(hour) for hour in axes.hours)}",
            expected=f"at least {span}, equally far apart, a divisor of 24 hours",
            remedy="shorten context or horizon, or use a longer file",
        )
    step, times = int(steps[0]), len(axes.hours)
    runs: list[Run] = []
    clips, pieces = [], []
    for split in SPLITS:
        for member in options.members[split]:
            number = values.sizes["number"]
            require(member < number, f"members.{split}", member, f"below {number}, as in the file")
            name = f"member-{member:02d}"
            base = times * len(runs)
            runs.append(Run(name, split, int(axes.hours[0]), times * step, step))
            pieces.append(Piece(name, times, (fields, member), 4 * times * int(np.prod(shape))))
            for start in range(times - span + 1):
                hour = int(axes.hours[start])
                label = f"{name}/{stamp(hour)}"
                clips.append(Clip(split, label, base + start, 1, span, name, hour % 24 // step))
    return runs, pieces, axes, np.tile(axes.hours, len(runs)), clips, 24 // step


def decode_years(raw: RawFiles, task: list[tuple[RawField, list[int]]]) -> np.ndarray:
    """Read some frames of one year, float32 (T, C, H, W).

    Named after the layout "yearly", of which a file has one variable of one year.

    Args:
        raw: the raw files.
        task: a pair for each variable: its file of this year with its levels, and the indices of T
            frames along the time axis of the file.

    Raises:
        StpError: a file is damaged.
    """
    return np.concatenate([read_frames(raw, each, at) for each, at in task], axis=1)


def decode_member(raw: RawFiles, task: tuple[list[RawField], int]) -> np.ndarray:
    """Read all frames of a member of an ensemble, float32 (T, C, H, W).

    Args:
        raw: the raw files.
        task: the variables with their file and levels; and the index of the member in the file.

    Raises:
        StpError: the file is damaged.
    """
    fields, member = task
    parts = []
    for each in fields:
        path = raw.find(each.file)
        values, _ = open_checked(path, each, ensemble=True)
        parts.append(load_field(path, values.isel(number=member), each))
    return np.concatenate(parts, axis=1)


def file_of(options: WeatherbenchOptions, name: str, year: str) -> str:
    """Path of the raw file of a variable (such as "t2m") and year, below the raw folder."""
    folder = VARIABLES[name][0]
    degrees = options.resolution
    return f"weatherbench/{degrees}/{folder}/{folder}_{year}_{degrees}.nc"


def _field(options: WeatherbenchOptions, name: str, file: str) -> RawField:
    return RawField(file, name, tuple(options.levels[name]), VARIABLES[name][1])


def _normalisation(
    options: WeatherbenchOptions, statistics: dict[str, list[float]]
) -> dict[str, Any]:
    if options.normalisation == "published":
        pairs = [options.published[name] for name in options.channels]
        offset, scale = map(list, zip(*pairs, strict=True))
        source = "published constants"
    else:
        # A constant channel keeps its units.
        offset, scale = statistics["mean"], [std or 1.0 for std in statistics["std"]]
        source = "train split"
    return {"offset": offset, "scale": scale, "method": "z-score", "from": source}


def _difference(options: WeatherbenchOptions, statistics: dict[str, list[float]]) -> dict[str, Any]:
    """Channels with the largest difference from published constants: means (in standard
    deviations), and standard deviations (relative).
    """
    pairs = np.array([options.published[name] for name in options.channels])
    mean = np.abs(np.array(statistics["mean"]) - pairs[:, 0]) / pairs[:, 1]
    std = np.abs(np.array(statistics["std"]) / pairs[:, 1] - 1)
    return {
        name: [options.channels[int(values.argmax())], float(values.max())]
        for name, values in (("mean", mean), ("std", std))
    }


def _describe(group: zarr.Group, options: WeatherbenchOptions, axes: Axes) -> None:
    """Write the coordinates of the grid and of the channels."""
    write_coordinate(group, "lat", "y", axes.lat, standard_name="latitude", units="degrees_north")
    write_coordinate(group, "lon", "x", axes.lon, standard_name="longitude", units="degrees_east")
    names = [channel.split("_")[0] for channel in options.channels]
    write_coordinate(group, "variable", "channel", np.array(options.channels, dtype=object))
    units = np.array([VARIABLES[name][1] for name in names], dtype=object)
    write_coordinate(group, "channel_units", "channel", units, long_name="units of each channel")
    level = [np.nan if value is None else value for _, value in options.with_levels]
    standard = np.array([VARIABLES[name][2] for name in names], dtype=object)
    title = "CF standard name of each channel"
    write_coordinate(group, "channel_standard_name", "channel", standard, long_name=title)
    attrs = {"standard_name": "air_pressure", "units": "hPa", "positive": "down"}
    attrs["comment"] = "NaN at the surface"
    write_coordinate(group, "level", "channel", np.array(level, float), **attrs)


def _climatology(
    job: Job, options: WeatherbenchOptions, prepared: zarr.Group, hours: np.ndarray, axes: Axes
) -> Any:
    """Write the daily climatologies with and without the validation years; returns the years."""
    first, last = CLIMATOLOGY
    train = [y for y in options.years_of("train") if first <= y <= last]
    val = [y for y in options.years_of("val") if first <= y <= last]
    if not train:
        return f"none: no training year in {first}..{last}"
    frames = prepared["frames"]
    assert isinstance(frames, zarr.Array)
    group = write_climatology(
        job.out / "climatology.zarr",
        frames,
        hours,
        [
            Means("with_validation", (*train, *val), "mean of each calendar day, as published"),
            Means("without_validation", tuple(train), "the same without validation years"),
        ],
        {
            "asked": [first, last],
            "hours": list(HOURS),
            "definition": "mean over all frames of a calendar day at these hours UTC, all years",
        },
        job.report,
        int(job.runtime.get("prepare_workers", 1)),
    )
    _describe(group, options, axes)
    for name in ("with_validation", "without_validation"):
        group[name].attrs["coordinates"] = COORDINATES
    return {"with validation": [*train, *val], "without": train}
