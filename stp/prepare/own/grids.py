"""Fields on a grid: NetCDF files and Zarr stores, variables and levels chosen by name.

GRIB files are converted first: ``cdo -f nc4 copy in.grib out.nc``, or ``grib_to_netcdf``.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr

from stp.core.errors import StpError, nearest
from stp.core.options import levels_by_name, require
from stp.data.raw_files import RawFiles
from stp.prepare.netcdf import as_stated
from stp.prepare.own.calendar import Clock, read_times
from stp.prepare.own.far_values import marks_of, states_range
from stp.prepare.own.field_files import DAMAGE, open_fields
from stp.prepare.own.options import Common, Coordinate, RawContents, Recording, files_of

NETCDF = (".nc", ".nc4", ".cdf", ".netcdf")
GRIB = (".grib", ".grib2", ".grb", ".grb2")
SUFFIXES = (*NETCDF, ".zarr")
KNOWN = {
    "time": ("time", "valid_time", "t", "date"),
    "y": ("lat", "latitude", "y", "nlat", "south_north", "rlat"),
    "x": ("lon", "longitude", "x", "nlon", "west_east", "rlon"),
    "level": ("level", "plev", "pressure_level", "isobaricInhPa", "lev", "depth", "height"),
}
"""Names of dimensions that need not be stated."""
EXPVER = "expver"
"""The dimension of ERA5 beside ERA5T: 1 is final, and 5 is preliminary and goes on where 1 ends."""
RIGHT = np.pi / 2 + 1e-6
"""A right angle, in radians."""
# What is said of the places, as CF has it.
PLACES = {
    "lat": {"standard_name": "latitude", "units": "degrees_north"},
    "lon": {"standard_name": "longitude", "units": "degrees_east"},
}


@dataclass(frozen=True, kw_only=True)
class GridOptions(Common):
    """Options for grids.

    Attributes:
        variables: in the order of the channels: {t2m: , z: [500, 850]} are three, t2m and two
            levels of z. A recipe has them as a list: [{name: t2m, levels: []}, ...].
        time: name of the dimension of time; likewise y, x and level. Usual names are known.
        y: rows.
        x: columns.
        level: levels.
        select: values of further dimensions, such as {number: 0}.
        missing: a value or values that stand for missing ones beside those that files declare; []
            says that there is none, so that a lone value far from all others is meant.
        fill: replaces missing values (NaN), which are an error unless it is set.
        gaps: what a missing time means: error, or cut (no window reaches across).
        cycle: what the climatology repeats: year (of monthly data), day, or day_of_year (of steps
            that divide a day; a window across 29 February is a day off after it); nothing unless
            set.
    """

    variables: list[dict[str, Any]]
    time: str | None = None
    y: str | None = None
    x: str | None = None
    level: str | None = None
    select: dict[str, Any] = field(default_factory=dict)
    missing: Any = None
    fill: float | None = None
    gaps: Literal["error", "cut"] = "error"
    cycle: Literal["year", "day", "day_of_year"] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, levels in self.levels.items():
            ok = all(isinstance(level, int | float) for level in levels)
            require(ok, f"variables.{name}", levels, "numbers")
        names = self.channels()
        require(len(set(names)) == len(names), "variables", names, "every channel once")
        marks_of(self.missing)

    @property
    def levels(self) -> dict[str, list[Any]]:
        """The levels of each variable, in the order of the channels; none of those without."""
        return levels_by_name(self.variables)

    def channels(self) -> list[str]:
        """Names of the channels: t2m, z500, z850."""
        return [
            name if level is None else f"{name}{level:g}"
            for name, levels in self.levels.items()
            for level in levels or [None]
        ]


class Task(NamedTuple):
    """Some frames: stretches (path, first, stop), one after the other, what to take of them, and
    what replaces missing values."""

    stretches: list[tuple[Path, int, int]]
    options: GridOptions
    fill: float | None


class Field(NamedTuple):
    """What one file holds: its times, its grid, the units of its variables.

    Coordinates are by axis, each with the name that it gets; `states_range` is by channel.
    """

    name: str
    clock: Clock
    places: dict[str, tuple[str, np.ndarray]]
    units: dict[str, str]
    states_range: list[bool]
    raw_bytes: int


def raw_contents(
    raw: RawFiles, options: GridOptions, shape: tuple[int, int, int], _: Path
) -> RawContents:
    """Find the files, and compare times and grids.

    Raises:
        StpError: a file is damaged; a variable, level or dimension is missing; the grid has another
            size; or times have gaps or repeat.
    """
    names = names_of(raw)
    channels = options.channels()
    require(len(channels) == shape[0], "variables", channels, f"{shape[0]} channels, as in shape")
    fields = [_field(raw, name, options, shape) for name in names]
    _require_one_grid(raw, fields)
    if options.splits.get("by") == "time":  # one after the other
        fields.sort(key=lambda one: one.clock.seconds[0])
        groups = [fields]
    else:
        groups = [[one] for one in fields]
    clocks, recordings, files = [], [], []
    for group in groups:
        clock = Clock.joined([one.clock for one in group])
        where = ", ".join(str(raw_path(raw, one.name)) for one in group[:2])
        cuts = clock.gaps(where, options.gaps)
        label = group[0].name if len(group) == 1 else str(PurePosixPath(group[0].name).parent)
        read = sum(one.raw_bytes for one in group)
        recordings.append(Recording(label, label, len(clock.names), cuts, clock.names, read))
        clocks.append(clock)
        files.append([(raw_path(raw, one.name), len(one.clock.names)) for one in group])
    steps = {clock.step_name for clock in clocks if clock.step_name}
    if len(steps) > 1:
        raise StpError(
            f"files with different steps of time: {', '.join(sorted(steps))}",
            expected="one step for all of the dataset",
            remedy="make a dataset of each",
        )
    phases = clocks[0].phases(options.cycle, options.frame_step)

    def task(number: int, first: int, stop: int) -> Task:
        stretches, base = [], 0
        for path, length in files[number]:
            a, b = max(first - base, 0), min(stop - base, length)
            if a < b:
                stretches.append((path, a, b))
            base += length
        return Task(stretches, options, options.fill)

    def phase(number: int, frame: int) -> int:
        return clocks[number].phase(frame, options.cycle, options.frame_step)

    units = fields[0].units
    return RawContents(
        recordings,
        task,
        decode,
        np.float32,
        int(np.prod(shape)) * 8,
        {
            "variables": channels,
            "variable_units": [units[channel] for channel in channels],
            "time_step": next(iter(steps), None),
        },
        _coordinates(fields[0], clocks, channels),
        phases,
        phase if phases > 1 else None,
        unmarked=[
            channel
            for channel in range(len(channels))
            if options.missing is None and not all(one.states_range[channel] for one in fields)
        ],
    )


def raw_path(raw: RawFiles, name: str) -> Path:
    """The file or, of a Zarr store, the folder. All of it is compared with the lock.

    Raises:
        StpError: something is missing, differs from the lock, or lies elsewhere.
    """
    if not name.endswith(".zarr"):
        return raw.find(name)
    inside = [one for one in raw.names if one.startswith(f"{name}/")]
    paths = [raw.find(one) for one in inside]
    depth = len(PurePosixPath(inside[0]).parts) - len(PurePosixPath(name).parts)
    root = paths[0].parents[depth - 1]
    strangers = sorted({p for p in root.rglob("*") if not p.is_dir()} ^ set(paths))
    if strangers:
        raise StpError(
            f"{root}: {strangers[0]} does not belong to what was locked of this store",
            expected=f"all {len(paths)} files of it in one folder, and no others",
            remedy="restore the store, run `stp fetch` again while nothing was made of it, or "
            "declare it as a new release",
        )
    return root


def names_of(raw: RawFiles) -> list[str]:
    """The names of NetCDF files and Zarr stores."""
    names: dict[str, None] = {}
    for name in raw.names:
        store = next((p for p in PurePosixPath(name).parents if p.suffix == ".zarr"), None)
        if store is not None:
            names[str(store)] = None
        elif name.lower().endswith(NETCDF):
            names[name] = None
        elif name.lower().endswith(GRIB):
            raise StpError(
                f"{name} is a GRIB file",
                expected="NetCDF or Zarr",
                remedy="convert it: cdo -f nc4 copy IN.grib OUT.nc, or grib_to_netcdf -o OUT.nc IN",
            )
    return files_of(list(names), "grids", SUFFIXES)


@contextmanager
def opened(path: Path) -> Iterator[xr.Dataset]:
    """A file or store, nothing of it read yet.

    Raises:
        StpError: it is damaged.
    """
    try:
        dataset = open_fields(path)
    except DAMAGE as error:
        raise _damaged(path, "it", error) from error
    with dataset:
        yield dataset


def _field(raw: RawFiles, name: str, options: GridOptions, shape: tuple[int, int, int]) -> Field:
    path = raw_path(raw, name)
    with opened(path) as dataset:
        columns = list(_columns(dataset, options, path))
        first = columns[0]
        sizes = [first.sizes["y"], first.sizes["x"]]
        if sizes != list(shape[1:]):
            raise StpError(
                f"{path}: a grid of {sizes[0]} x {sizes[1]}",
                expected=f"{shape[1]} x {shape[2]}, as in shape",
                remedy="change shape; if rows and columns are swapped, set y and x",
            )
        try:
            clock = read_times(first["time"], path)
            places = {
                axis: (named(first.attrs[f"stp_{axis}"], first[axis]), first[axis].to_numpy())
                for axis in ("y", "x")
                if axis in first.coords
            }
        except DAMAGE as error:
            raise _damaged(path, "its coordinates", error) from error
        units = {
            channel: str(column.attrs.get("units", ""))
            for channel, column in zip(options.channels(), columns, strict=True)
        }
        stated = [states_range(column.attrs) for column in columns]
        read = sum(column.nbytes for column in columns)
    return Field(name, clock, places, units, stated, read)


def named(name: str, places: xr.DataArray) -> str:
    """``lat`` and ``lon``, by which metrics weigh rows; another name for numbers or radians."""
    units, largest = str(places.attrs.get("units", "")), float(abs(places).max())
    for short, most in (("lat", 90.0), ("lon", np.inf)):
        # Without units, latitudes that small are radians, or so near the equator that weights of
        # rows hardly matter.
        is_degrees = units.startswith(("deg", "°")) if units else short == "lon" or largest > RIGHT
        if short in name and name != f"n{short}" and is_degrees and largest <= most:
            return short
    return f"{name}_" if name in ("frame", "channel", *PLACES) else name


def _columns(dataset: xr.Dataset, options: GridOptions, path: Path) -> Iterator[xr.DataArray]:
    """The channels, each (time, y, x), not yet read."""
    for dim in options.select:
        if dim not in dataset.variables and dim not in dataset.dims:
            known = [str(one) for one in dataset.dims]
            raise StpError(
                f"{path}: select names {dim!r}, which it does not have",
                expected=f"one of {', '.join(known)}",
                remedy=nearest(dim, known),
            )
    for name, levels in options.levels.items():
        if name not in dataset.data_vars:
            known = [str(one) for one in dataset.data_vars]
            raise StpError(
                f"{path}: no variable {name!r}",
                expected=f"one of {', '.join(known) or 'none'}",
                remedy=nearest(name, known),
            )
        column = _turned(dataset[name], options, path, bool(levels))
        if not levels:
            yield column
            continue
        try:
            if "level" not in column.coords:
                raise KeyError("it has none")
            heights = np.asarray(column["level"].values, float)
        except DAMAGE as error:
            raise _damaged(path, f"the levels of {name}", error) from error
        for level in levels:
            at = np.flatnonzero(np.isclose(heights, float(level)))
            if len(at) != 1:
                raise StpError(
                    f"{path}: {name} has no level {level}",
                    expected=f"one of {', '.join(f'{h:g}' for h in heights)}",
                    remedy="change variables",
                )
            yield column.isel(level=int(at[0]))


def _turned(
    column: xr.DataArray, options: GridOptions, path: Path, has_levels: bool
) -> xr.DataArray:
    """A variable with the dimensions time, y, x, and level where it has levels.

    Before them is `EXPVER`, if it has several versions and none is selected.
    """
    for dim, value in options.select.items():
        if dim in column.dims:
            try:
                if dim not in column.coords and value not in range(column.sizes[dim]):
                    raise KeyError(f"it has no values, and {column.sizes[dim]} places from 0")
                column = column.sel({dim: value})
            except DAMAGE as error:
                raise StpError(
                    f"{path}: {column.name} has no {dim} = {value!r} ({error})",
                    expected="a value of that dimension",
                    remedy="change select",
                ) from error
    dims = [str(dim) for dim in column.dims]
    names = {}
    for axis in ("time", "y", "x", *(["level"] if has_levels else [])):
        stated = getattr(options, axis)
        found = [dim for dim in dims if dim == stated or (not stated and dim in KNOWN[axis])]
        if len(found) != 1:
            raise StpError(
                f"{path}: {column.name} has the dimensions {', '.join(dims)}; which is {axis}?",
                expected=stated or f"one called {', '.join(KNOWN[axis])}",
                remedy=f"set {axis}: <name of the dimension> in the options",
            )
        names[found[0]] = axis
    versions = [EXPVER] if column.sizes.get(EXPVER, 1) > 1 else []
    if versions and EXPVER in column.coords:
        column = column.isel({EXPVER: np.argsort(column[EXPVER].to_numpy())})
    for dim in dims:
        if dim not in names and dim not in versions:
            if column.sizes[dim] != 1:
                raise StpError(
                    f"{path}: {column.name} has a dimension {dim} of length {column.sizes[dim]}",
                    expected="time, y, x and chosen levels",
                    remedy=f"choose levels in variables, or set select: {{{dim}: <value>}}",
                )
            column = column.isel({dim: 0}, drop=True)
    spatial = {axis: dim for dim, axis in names.items() if axis in ("y", "x")}
    others = [name for name in column.coords if name not in names]
    column = column.drop_vars(others).rename({d: a for d, a in names.items() if d != a})
    column.attrs.update({f"stp_{axis}": dim for axis, dim in spatial.items()})
    if "time" not in column.coords:
        raise StpError(
            f"{path}: {column.name} has no coordinate of time",
            expected="dates along the dimension of time",
            remedy="write them into the file, or use the arrays as kind: arrays",
        )
    levels = ["level"] if has_levels else []
    return column.transpose(*versions, "time", *levels, "y", "x")


def _require_one_grid(raw: RawFiles, fields: Sequence[Field]) -> None:
    first = fields[0]
    for one in fields[1:]:
        same = one.places.keys() == first.places.keys() and all(
            name == first.places[axis][0] and np.array_equal(values, first.places[axis][1])
            for axis, (name, values) in one.places.items()
        )
        if not same or one.units != first.units:
            raise StpError(
                f"{raw_path(raw, one.name)}: another grid or other units than {first.name}",
                expected="the same coordinates and units in all files",
                remedy="bring them onto one grid, or make two datasets",
            )


def _coordinates(one: Field, clocks: Sequence[Clock], channels: Sequence[str]) -> list[Coordinate]:
    found = []
    for axis, (name, values) in one.places.items():
        found.append(Coordinate(name, axis, values, PLACES.get(name, {})))
    calendar = clocks[0].calendar
    attrs = {"standard_name": "time", "units": "seconds since 1970-01-01", "calendar": calendar}
    seconds = np.concatenate([clock.seconds for clock in clocks])
    found.append(Coordinate("time", "frame", seconds, attrs))
    found.append(Coordinate("variable", "channel", np.array(channels), {}))
    return found


def decode(_: RawFiles, task: Task) -> np.ndarray:
    """Some frames, float32 (T, C, H, W).

    Raises:
        StpError: a file is damaged, or values are missing.
    """
    blocks, marks = [], marks_of(task.options.missing)
    for path, first, stop in task.stretches:
        with opened(path) as dataset:
            columns = []
            for column in _columns(dataset, task.options, path):
                try:
                    values = np.asarray(column.isel(time=slice(first, stop)).values)
                    if len(marks):
                        held = marks.astype(values.dtype)
                        values = np.where(np.isin(values, held), np.nan, values)
                    values = as_stated(values, column, path)
                    if EXPVER in column.dims:
                        values = _first_of(values)
                    columns.append(np.ascontiguousarray(values, np.float32))
                except DAMAGE as error:
                    raise _damaged(path, str(column.name), error) from error
        block = np.stack(columns, axis=1)
        missing = np.isnan(block)
        if missing.any():
            channel = int(np.flatnonzero(missing.any(axis=(0, 2, 3)))[0])
            if task.fill is None:
                raise StpError(
                    f"{path}: {task.options.channels()[channel]} has "
                    f"{int(missing[:, channel].sum())} missing values (NaN) in times "
                    f"{first}..{stop - 1}{_selected(task.options)}",
                    expected="numbers everywhere",
                    remedy="set the option fill to the value that stands for them",
                )
            block[missing] = task.fill
        blocks.append(block)
    return np.concatenate(blocks)


def _first_of(versions: np.ndarray) -> np.ndarray:
    """Values of the first version, (T, H, W), and of the next one where that has none."""
    found = versions[0]
    for version in versions[1:]:
        found = np.where(np.isnan(found), version, found)
    return found


def _selected(options: GridOptions) -> str:
    """The choice that values may be missing for, for errors."""
    chosen = ", ".join(f"{dim} {value}" for dim, value in options.select.items())
    return f" of {chosen}, which select has chosen" if chosen else ""


def _damaged(path: Path, what: str, error: BaseException) -> StpError:
    return StpError(
        f"{path}: {what} cannot be read ({error or type(error).__name__})",
        expected="a complete NetCDF file or Zarr store",
        remedy="replace it, or leave it out of the raw files",
    )
