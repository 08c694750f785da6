"""ChaosBench: ERA5 every day at 00 UTC on pressure levels, for forecasts of 44 days.

Nathaniel, Qu, Nguyen, Yu, Busecke, Grover and Gentine 2024, "ChaosBench: a multi-channel,
physics-based benchmark for subseasonal-to-seasonal climate prediction". The release is one tar
stream in parts, with a Zarr group for each day, whose name ends with the date, with variables
(level, latitude, longitude). Days may have any order; the stream is read once. Variables of land
and ocean are in separate streams (`stp.datasets.chaosbench.surface`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Annotated, Any, Literal

import numpy as np
import zarr
from pydantic import ConfigDict, Field, PositiveFloat, PositiveInt, with_config

from stp.core.errors import StpError
from stp.core.job import Extras, Job, Recipe
from stp.core.options import build, check_keys, levels_by_name, require, whole
from stp.data.daily_fields import STANDARD_GRAVITY, Grid
from stp.data.raw_files import RawFiles
from stp.data.zarr_rows import MappedRows
from stp.datasets.chaosbench.levels import DaysOfStore, DaysOfStream
from stp.datasets.chaosbench.surface import (
    ERA5_LAND,
    LAND,
    OCEAN,
    ORAS5,
    STANDARD_NAMES,
    SurfaceStream,
    month_before,
    month_of,
)
from stp.prepare.climatology import Means, Window, write_climatology
from stp.prepare.frames import STORE, Piece, Statistics, Stream, write_frames
from stp.prepare.output import SPLITS, Clip, attributes, write_coordinate, write_index
from stp.prepare.planned_counts import Lists, Planned
from stp.prepare.terciles import write_terciles

LEVELS = [10, 50, 100, 200, 300, 500, 700, 850, 925, 1000]
# name -> units and CF standard name, in the order of the release's channels
VARIABLES = {
    "z": ("gpm", "geopotential_height"),
    "q": ("kg kg**-1", "specific_humidity"),
    "t": ("K", "air_temperature"),
    "u": ("m s**-1", "eastward_wind"),
    "v": ("m s**-1", "northward_wind"),
    "w": ("Pa s**-1", "lagrangian_tendency_of_air_pressure"),
}
SPANS = (1, 7, 14)
"""Terciles are computed of means over these numbers of days: a day, a week, two weeks."""
COORDINATES = "variable level channel_units channel_standard_name lat lon"
SEASONS = {"djf": [12, 1, 2], "mam": [3, 4, 5], "jja": [6, 7, 8], "son": [9, 10, 11]}
ERA5_PARTS = "chaosbench/era5/era5_chunks.tar.gz.*"
LAND_PARTS = "chaosbench/lra5/lra5_chunks.tar.gz.*"
OCEAN_PARTS = "chaosbench/oras5/oras5_chunks.tar.gz.*"
"""Pattern of the raw files that are the parts of a tar stream, in the order of their names."""

Years = Annotated[list[Annotated[int, Field(ge=1678, le=2261)]], Field(min_length=2, max_length=2)]
"""First and last year."""


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True)
class Starts:
    """Rule for the starts of a test subset: years and, optionally, days of the month or months.

    Attributes:
        years: first and last year.
        days: days of the month, e.g. [1, 15]; null for all days.
        months: months, from 1, e.g. [12, 1, 2]; null for all months.
    """

    years: Years
    days: list[Annotated[int, Field(ge=1, le=31)]] | None = None
    months: list[Annotated[int, Field(ge=1, le=12)]] | None = None


@dataclass(frozen=True)
class ChaosbenchOptions:
    """Options of the reader of ChaosBench; defaults are those of the paper and its released code.

    Attributes:
        store: pattern of the folder of a Zarr store of WeatherBench 2, such as
            ``chaosbench/weatherbench2/*.zarr``, from which variables on levels are read; see
            `stp.datasets.chaosbench.levels`. By default (null), they are read from the release of
            ChaosBench: the tar stream in the files ``chaosbench/era5/era5_chunks.tar.gz.*``.
        variables: variables with their pressure levels in hPa, in the order of the channels; see
            `stp.core.options.levels_by_name`.
        years: first and last year of each split.
        days_per_year: number of days to read of each year, from 1 January; null for whole years.
        subsets: further test windows: first and last year, or `Starts`, by name. By default,
            `common_starts` are the starts of released forecasts of trained models; other subsets
            are seasons.
        stride: number of days between windows of each split; subsets have the stride of the test.
        gravity: divisor by which the release computed heights from geopotential, m s-2; prepared
            heights are always geopotential over 9.80665 m s-2.
        land: variables of ERA5-Land, which follow the channels on levels.
        ocean: variables of ORAS5, which follow the channels of land.
        ocean_month: which monthly mean of the ocean a day gets. "published": that of its own month,
            as in the release; on the 1st, it is mostly about the future. "lagged": that of the
            previous month, which was known in time; only days of the very first month get that of
            their own.
        window_days: number of days, odd, around each calendar day over which a further climatology
            of training years, `windowed`, is averaged; null without this climatology.
        published_climatology: first and last year of a further climatology, `published`; null
            without this climatology. The released code takes [1994, 2023], which includes test
            years. As there, the n-th days of all years are averaged instead of equal dates: the
            60th day is 29 February in leap years, and 1 March in others.
        normalisation: "train": mean and standard deviation of each channel over training years; or
            "published": over all days, including test years and the zeros over sea or land.
    """

    store: str | None = None
    variables: list[dict[str, Any]] = field(
        default_factory=lambda: [{"name": name, "levels": list(LEVELS)} for name in VARIABLES]
    )
    years: dict[str, Years] = field(
        default_factory=lambda: {"train": [1979, 2015], "val": [2016, 2021], "test": [2022, 2022]}
    )
    days_per_year: Annotated[int, Field(ge=1, le=366)] | None = None
    subsets: dict[str, Years | Starts] = field(
        default_factory=lambda: {
            "two_years": [2022, 2023],
            "common_starts": Starts([2022, 2022], days=[1, 15]),
            **{name: Starts([2022, 2023], months=of) for name, of in SEASONS.items()},
        }
    )
    stride: dict[str, PositiveInt] = field(default_factory=lambda: dict.fromkeys(SPLITS, 1))
    gravity: PositiveFloat = 9.81
    land: list[str] = field(default_factory=list)
    ocean: list[str] = field(default_factory=list)
    ocean_month: Literal["published", "lagged"] = "published"
    window_days: Annotated[int, Field(ge=3, le=365)] | None = None
    published_climatology: Years | None = None
    normalisation: Literal["train", "published"] = "train"

    def __post_init__(self) -> None:
        check_keys("variables", self.levels, VARIABLES)
        for name, levels in self.levels.items():
            ok = all(whole(level, 1) for level in levels)
            ok = ok and bool(levels) and len(set(levels)) == len(levels)
            require(ok, f"variables.{name}", levels, "different levels in hPa, one at least")
        require(set(self.years) == set(SPLITS), "years", self.years, "train, val, test")
        check_keys("subsets", set(self.subsets) & set(SPLITS), ())
        for name in (*self.years, *self.subsets):
            first, last = self._span(name)
            require(first <= last, f"years of {name}", [first, last], "[first, last]")
        dealt = [year for split in SPLITS for year in self.years_of(split)]
        require(len(set(dealt)) == len(dealt), "years", self.years, "no year in two splits")
        for name in self.subsets:
            ok = not set(self.years_of(name)) & {*self.years_of("train"), *self.years_of("val")}
            require(ok, f"subsets.{name}", self.subsets[name], "no year of train or val")
        require(set(self.stride) == set(SPLITS), "stride", self.stride, "train, val, test: days")
        for option, names, variables in (("land", self.land, LAND), ("ocean", self.ocean, OCEAN)):
            check_keys(option, names, variables)
            require(len(set(names)) == len(names), option, names, "different variables")
        require((self.window_days or 1) % 2 == 1, "window_days", self.window_days, "an odd number")
        if (span := self.published_climatology) is not None:
            years = {*range(span[0], span[1] + 1)}
            ok = bool(years) and years <= {*self.all_years}
            require(ok, "published_climatology", span, "[first, last], years that are read")

    @property
    def levels(self) -> dict[str, list[int]]:
        """Pressure levels (hPa) by name of the variable, in the order of the channels."""
        return levels_by_name(self.variables)

    @property
    def channels(self) -> list[str]:
        """Names of all channels, in order: levels ("z_10"), land ("t2m"), ocean ("sosstsst")."""
        return [*self.on_levels, *self.surface]

    @property
    def on_levels(self) -> list[str]:
        """Names of the channels on pressure levels, such as "z_10" for z at 10 hPa."""
        return [f"{name}_{level}" for name, levels in self.levels.items() for level in levels]

    @property
    def surface(self) -> list[str]:
        """Names of the channels of land and ocean."""
        return [*self.land, *self.ocean]

    def years_of(self, split: str) -> range:
        """The years of a split or test subset."""
        first, last = self._span(split)
        return range(first, last + 1)

    def starts_on(self, split: str, day: str) -> bool:
        """Whether windows of a split or test subset start on a day, such as "2022-01-15"."""
        subset = self.subsets.get(split)
        if not isinstance(subset, Starts):
            return True
        _, month, number = map(int, day.split("-"))
        return month in (subset.months or [month]) and number in (subset.days or [number])

    def _span(self, split: str) -> Years:
        years = {**self.years, **self.subsets}[split]
        return years.years if isinstance(years, Starts) else years

    @property
    def all_years(self) -> list[int]:
        """All years that are read, ascending."""
        return sorted({y for split in (*SPLITS, *self.subsets) for y in self.years_of(split)})

    @property
    def days(self) -> np.ndarray:
        """All days that are read, datetime64[D], ascending."""
        spans = ((f"{year}-01-01", f"{year + 1}-01-01") for year in self.all_years)
        return np.concatenate(
            [np.arange(*span, dtype="datetime64[D]")[: self.days_per_year] for span in spans]
        )


def cut_windows(
    options: ChaosbenchOptions, span: int
) -> tuple[list[Clip], dict[str, tuple[int, int]]]:
    """Cut the windows of all splits and test subsets, and locate their clusters.

    A window has consecutive days of one split or subset. All days of the window are among those
    that the reader reads (`ChaosbenchOptions.days`). Each window is a cluster (the unit of
    statistical tests), which lasts until the next window starts. Since overlapping forecasts depend
    on each other, `stp.score.blocks` merges clusters into blocks longer than a lead time.

    As in the released code, the last window that would fit is left out, which gives the 320 starts
    of 2022 of the published scores.

    Args:
        options: options of the reader.
        span: number of days in a window.

    Returns:
        the clips; and for each cluster, by its name, the index of its first frame in the store, and
        its number of frames. The store has a frame for each day.
    """
    days = options.days
    clips, blocks = [], {}
    for split in (*SPLITS, *options.subsets):
        years = options.years_of(split)
        first = int(np.searchsorted(days, np.datetime64(f"{years[0]}-01-01")))
        count = int(np.searchsorted(days, np.datetime64(f"{years[-1] + 1}-01-01"))) - first
        stride = options.stride.get(split, options.stride["test"])
        last = first + np.arange(max(count - span, 0)) + span - 1
        unbroken = days[last] - days[last - span + 1] == np.timedelta64(span - 1, "D")
        begins = [
            start
            for start in range(0, count - span, stride)
            if unbroken[start] and options.starts_on(split, str(days[first + start]))
        ]
        ends = [*begins[1:], begins[-1] + stride] if begins else []
        for start, end in zip(begins, ends, strict=True):
            cluster = f"{split}/block-{start:04d}"
            clips.append(Clip(split, str(days[first + start]), first + start, 1, span, cluster))
            blocks[cluster] = first + start, end - start
    return clips, blocks


def run(job: Job) -> Extras:
    """Write the days (``frames.zarr``), the clips (``index.parquet``) and ``climatology.zarr``.

    Returns:
        facts for the receipt (record of the preparation), such as numbers of clips.

    Raises:
        StpError: an option or a raw file is wrong; a day is missing, or its grid or units are
            wrong, or values are missing.
    """
    recipe = job.recipe
    options = build(ChaosbenchOptions, recipe["options"], "prepare options")
    raw = RawFiles(job.inputs["raw"], job.runtime["raw_roots"])
    shape = recipe["shape"]
    channels = len(options.channels)
    require(shape[0] == channels, "shape", shape, f"{channels} channels, as `variables` says")
    grid = Grid(*shape[1:])
    days = options.days
    hours = days.astype("datetime64[h]").astype(np.int64)
    clips, blocks = cut_windows(options, recipe["context"] + recipe["horizon"])
    levels: DaysOfStore | DaysOfStream
    if options.store is not None:
        levels = DaysOfStore(raw, options.store, options.levels, grid)
    else:
        names = _names(raw, ERA5_PARTS)
        levels = DaysOfStream(raw, names, options.levels, grid, options.gravity)
    a_day = sum(map(raw.size, raw.names)) // len(days)
    pieces = [Piece(str(day), 1, None, a_day) for day in days.tolist()]
    surface = _surface(job, raw, options, grid, [piece.name for piece in pieces])
    climatology: dict[str, Any] = {}

    def average(group: zarr.Group) -> None:
        climatology["climatology"] = _climatology(job, options, group, hours, grid)

    written = write_frames(
        job,
        raw,
        pieces,
        Stream(_reader(levels, [piece.name for piece in pieces], surface)),
        attrs=attributes(
            recipe,
            raw,
            units=recipe["units"],
            stored_scale=1.0,
            stored_offset=0.0,
            phases=1,
            variables=options.channels,
            conventions={
                "gravity": STANDARD_GRAVITY,
                "gravity of the release": 1.0 if options.store else options.gravity,
                **({"month of the ocean": options.ocean_month} if options.ocean else {}),
            },
        ),
        dtype=np.float32,
        unit="days",
        then=average,
        may_lack=range(len(options.on_levels), channels),
    )
    for stream in surface:
        stream.close()
    written.group.attrs["normalisation"] = _normalisation(options, written.statistics, pieces, grid)
    _describe(written.group, options, grid)
    epoch = {"units": "hours since 1970-01-01 00:00:00", "calendar": "proleptic_gregorian"}
    write_coordinate(written.group, "time", "frame", hours, standard_name="time", **epoch)
    frames = written.group["frames"]
    frames.attrs.update(
        long_name="fields of a day, one a channel", coordinates=f"time {COORDINATES}"
    )
    return {**write_index(job.out, clips, blocks=blocks), **written.extras, **climatology}


def count(recipe: Recipe, raw: Lists) -> Planned:
    """Count the clips that `run` will write, from the options and the calendar alone.

    Used before the data are downloaded, to compare the numbers with the published ones.

    Args:
        recipe: recipe of the preparation, with ``options``, ``context`` and ``horizon``.
        raw: not used, since no list is read; `count` of every reader has it.

    Returns:
        the clips, or their numbers by split, or the reason why a number is not known yet.

    Raises:
        StpError: an option is wrong.
    """
    options = build(ChaosbenchOptions, recipe["options"], "prepare options")
    return Planned(cut_windows(options, recipe["context"] + recipe["horizon"])[0])


def _names(raw: RawFiles, parts: str) -> list[str]:
    """Names of the raw files that are parts of a stream, in order."""
    names = [name for name in raw.names if fnmatch(name, parts)]
    if not names:
        raise StpError(
            f"no raw file is a part of the stream {parts}",
            expected=f"some; the release has {', '.join(raw.names[:5])}",
            remedy="correct the pattern of the parts, or the files of the release",
        )
    return names


def _surface(
    job: Job, raw: RawFiles, options: ChaosbenchOptions, grid: Grid, days: list[str]
) -> list[SurfaceStream]:
    """The streams of land and ocean, if their variables are in the options."""
    streams = []
    if options.land:
        names = _names(raw, LAND_PARTS)
        shown_on = {day: day for day in days}
        land = SurfaceStream(ERA5_LAND, raw, names, options.land, grid, shown_on, job.state)
        streams.append(land)
    if options.ocean:
        names = _names(raw, OCEAN_PARTS)
        shown_on = {day: month_of(day) for day in days}
        if options.ocean_month == "lagged":
            later = [day for day in days if month_of(day) != month_of(days[0])]
            shown_on |= {day: month_before(day) for day in later}
        streams.append(SurfaceStream(ORAS5, raw, names, options.ocean, grid, shown_on, job.state))
    return streams


def _reader(
    levels: DaysOfStore | DaysOfStream, days: list[str], surface: list[SurfaceStream]
) -> Callable[[list[int]], Iterator[tuple[int, np.ndarray]]]:
    def read(numbers: list[int]) -> Iterator[tuple[int, np.ndarray]]:
        number = {days[i]: i for i in numbers}
        todo = sorted(number)
        for stream in surface:
            stream.collect(todo)
        for day, on_levels in levels.read(todo):
            fields = on_levels
            if surface:
                fields = np.concatenate([fields, *(stream.of(day) for stream in surface)])
            yield number.pop(day), fields[None]
            for stream in surface:  # the day is stored by now
                stream.done(day)
        if number:
            raise StpError(
                f"{levels.name}: {len(number)} of {len(days)} days are missing, "
                f"first {min(number)}",
                expected="every day of the years of all splits: a missing day would shift all "
                "that follow",
                remedy="fetch all of the release, or choose other `years`",
            )

    return read


def _describe(group: zarr.Group, options: ChaosbenchOptions, grid: Grid) -> None:
    """Write the coordinates of the grid and of the channels."""
    lat = {"standard_name": "latitude", "units": "degrees_north"}
    write_coordinate(group, "lat", "y", grid.lat, **lat)
    lon = {"standard_name": "longitude", "units": "degrees_east"}
    write_coordinate(group, "lon", "x", grid.lon, **lon)
    channels = [(name, level) for name, levels in options.levels.items() for level in levels]
    write_coordinate(group, "variable", "channel", np.array(options.channels, dtype=object))
    surface = {**LAND, **OCEAN}  # name -> units
    units = [VARIABLES[name][0] for name, _ in channels]
    units += [surface[name] for name in options.surface]
    description = "units of each channel"
    values = np.array(units, dtype=object)
    write_coordinate(group, "channel_units", "channel", values, long_name=description)
    standard = [
        *(VARIABLES[name][1] for name, _ in channels),
        *(STANDARD_NAMES.get(name, "") for name in options.surface),
    ]
    description = "CF standard name of each channel, where it has one"
    values = np.array(standard, dtype=object)
    write_coordinate(group, "channel_standard_name", "channel", values, long_name=description)
    pressure = {"standard_name": "air_pressure", "units": "hPa", "positive": "down"}
    level = np.array([*(level for _, level in channels), *(np.nan for _ in options.surface)], float)
    write_coordinate(group, "level", "channel", level, **pressure)


def _normalisation(
    options: ChaosbenchOptions, statistics: Statistics, pieces: list[Piece], grid: Grid
) -> dict[str, Any]:
    """Offset and scale of each channel, in the units of the data."""
    train = options.years_of("train")
    if options.normalisation == "published":
        # As in the release, zeros over the sea count: n is the number of all grid points.
        n = len(pieces) * grid.rows * grid.columns
        mean = statistics.sum.sum(axis=0) / n
        variance = np.maximum(statistics.squares.sum(axis=0) / n - mean**2, 0)
        moments = {"mean": mean.tolist(), "std": np.sqrt(variance).tolist()}
        source = "all days that are read and all grid points, as published"
    else:
        training = [i for i, piece in enumerate(pieces) if int(piece.name[:4]) in train]
        moments = statistics.of(training)
        source = "train split"
    # A channel that never changes keeps its units.
    scale = [std or 1.0 for std in moments["std"]]
    return {"offset": moments["mean"], "scale": scale, "method": "z-score", "from": source}


def _climatology(
    job: Job, options: ChaosbenchOptions, prepared: zarr.Group, hours: np.ndarray, grid: Grid
) -> Any:
    """Write the daily climatologies with and without validation years; return their years."""
    train, val = (tuple(options.years_of(split)) for split in ("train", "val"))
    frames = prepared["frames"]
    assert isinstance(frames, zarr.Array)
    definition = "mean of each calendar day"
    plain = Means(
        "without_validation", train, f"{definition}, training years", "climatology_deviation"
    )
    means_to_write = [
        plain,
        Means("with_validation", (*train, *val), f"{definition}, training and validation years"),
    ]
    if options.published_climatology is not None:
        first, last = options.published_climatology
        definition = "mean of the n-th day of each year, as published"
        years = tuple(range(first, last + 1))
        published = Means("published", years, definition, "published_deviation", by_number=True)
        means_to_write.append(published)
    windows = []
    if options.window_days is not None:
        windows.append(Window("windowed", plain, options.window_days, "windowed_deviation"))
    group = write_climatology(
        job.out / "climatology.zarr",
        frames,
        hours,
        means_to_write,
        {"definition": "over all frames of a calendar day, 29 February over leap years"},
        job.report,
        int(job.runtime.get("prepare_workers", 1)),
        windows,
    )
    terciles = write_terciles(
        group,
        MappedRows(job.state / STORE / "frames"),
        options.days,
        train,
        SPANS,
        job.report,
        int(job.runtime.get("prepare_workers", 1)),
    )
    _describe(group, options, grid)
    names = [name for means in means_to_write for name in (means.name, means.deviation)]
    names += [name for window in windows for name in (window.name, window.deviation)]
    for name in filter(None, (*names, *terciles)):
        group[name].attrs["coordinates"] = COORDINATES
    years_of = {means.name.replace("_", " "): list(means.years) for means in means_to_write}
    return {**years_of, **({"window of days": options.window_days} if windows else {})}
