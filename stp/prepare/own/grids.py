"""Read fields on a grid from NetCDF files and Zarr stores; variables and levels are chosen by name.

GRIB files have to be converted before: ``cdo -f nc4 copy in.grib out.nc``, or ``grib_to_netcdf``.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr

from stp.core.errors import RawFileError, StpError, suggest_name
from stp.core.options import levels_by_name, require
from stp.data.raw_files import RawFiles
from stp.prepare.netcdf import as_stated
from stp.prepare.own.axis_names import DEGREES, USUAL_NAMES, coordinate_name, require_directions
from stp.prepare.own.calendar import Clock, read_times
from stp.prepare.own.far_values import marks_of, states_range
from stp.prepare.own.field_files import DAMAGE, open_fields, require_chunks
from stp.prepare.own.options import Common, Coordinate, RawContents, Recording, files_of

NETCDF = (".nc", ".nc4", ".cdf", ".netcdf")
GRIB = (".grib", ".grib2", ".grb", ".grb2")
SUFFIXES = (*NETCDF, ".zarr")
EXPVER = "expver"
"""The dimension of ERA5 (1, final) and ERA5T (5, preliminary), which continues where ERA5 ends."""


@dataclass(frozen=True, kw_only=True)
class GridOptions(Common):
    """Options of the reader of the user's grids, such as weather fields.

    Attributes:
        variables: levels of each variable, in the order of the channels: {t2m: , z: [500, 850]}
            gives three channels, t2m and two levels of z. In a recipe, this is a list: [{name: t2m,
            levels: []}, ...].
        time: name of the time dimension; by default, a usual name such as ``time``.
        y: name of the dimension of rows; by default, a usual name such as ``lat`` or ``y``.
        x: name of the dimension of columns; by default, a usual name such as ``lon`` or ``x``.
        level: name of the dimension of levels; by default, a usual name such as ``plev``.
        select: values of further dimensions, such as {number: 0}.
        missing: code for missing values, such as -9999, or a list of codes, besides those that
            files declare. [] states that there are none, so that a single value far from all others
            is accepted.
        fill: number that replaces missing values (NaN), or a list of one for each channel; by
            default, missing values are an error.
        gaps: handling of missing times: error, or cut (windows do not cross gaps).
        cycle: period of the climatology: year (a mean for each month, for monthly data), day (for
            each time of day), or day_of_year (for each time of each day of the year, for steps that
            divide a day); by default, one mean for all times. In day_of_year, days are counted from
            the first frame of a window, in years of 365 days. If 29 February lies within the
            window, later frames are compared with the mean of the following day.
    """

    variables: list[dict[str, Any]]
    time: str | None = None
    y: str | None = None
    x: str | None = None
    level: str | None = None
    select: dict[str, Any] = field(default_factory=dict)
    missing: Any = None
    fill: float | list[float] | None = None
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
        """Levels by name of the variable, in the order of the channels; empty for variables without
        levels.
        """
        return levels_by_name(self.variables)

    def channels(self) -> list[str]:
        """Names of the channels: a variable, and its level if it has levels.

        For example, the variables ``{t2m: , z: [500, 850]}`` give t2m, z500 and z850.
        """
        return [
            name if level is None else f"{name}{level:g}"
            for name, levels in self.levels.items()
            for level in levels or [None]
        ]


class Task(NamedTuple):
    """Frames of one recording to read, which may lie in several files.

    Attributes:
        stretches: ranges of frames that follow one another: path of a file or store, index of its
            first frame to read, and index of the frame after the last one to read.
        options: options of the reader.
        fill: value that replaces missing values, or one for each channel; None if missing values
            are errors.
    """

    stretches: list[tuple[Path, int, int]]
    options: GridOptions
    fill: float | list[float] | None


class Field(NamedTuple):
    """What is known of a file before its values are read.

    Attributes:
        name: name of the raw file or store.
        clock: times of the frames.
        coordinates: by axis, y or x, the name and the values of its coordinate.
        units: units of each channel.
        states_range: for each channel, whether its variable states its valid range.
        raw_bytes: size of the values, in bytes.
    """

    name: str
    clock: Clock
    coordinates: dict[str, tuple[str, np.ndarray]]
    units: dict[str, str]
    states_range: list[bool]
    raw_bytes: int


def raw_contents(
    raw: RawFiles, options: GridOptions, shape: tuple[int, int, int], _: Path
) -> RawContents:
    """Find the files of fields, compare their times and grids, and describe the recordings in them.

    Args:
        raw: the raw files.
        options: options of the reader.
        shape: required number of channels, height and width of frames.
        _: folder for unpacked files, which other kinds of data need.

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
        fields.sort(key=lambda field: field.clock.seconds[0])
        groups = [fields]
    else:
        groups = [[each] for each in fields]
    clocks, recordings, files = [], [], []
    for group in groups:
        clock = Clock.concatenate([each.clock for each in group])
        paths = [raw_path(raw, each.name) for each in group]
        where = ", ".join(map(str, paths[:2]))
        cuts = clock.gaps(where, options.gaps)
        label = group[0].name if len(group) == 1 else str(PurePosixPath(group[0].name).parent)
        size = sum(each.raw_bytes for each in group)
        recordings.append(Recording(label, label, len(clock.names), cuts, clock.names, size))
        clocks.append(clock)
        lengths = [len(each.clock.names) for each in group]
        files.append(list(zip(paths, lengths, strict=True)))
    steps = {clock.step_name for clock in clocks if clock.step_name}
    if len(steps) > 1:
        raise StpError(
            f"files with different time steps: {', '.join(sorted(steps))}",
            remedy="declare a dataset for each",
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
            if options.missing is None and not all(each.states_range[channel] for each in fields)
        ],
    )


def raw_path(raw: RawFiles, name: str) -> Path:
    """Find the path of a file or Zarr store, and compare all of its files with the lock file.

    Args:
        raw: the raw files.
        name: name of the file or store, from `names_of`.

    Raises:
        StpError: a file is missing or differs from the lock file; or the folder of a Zarr store has
            other files, or not all of its files are below the same raw folder.
    """
    if not name.endswith(".zarr"):
        return raw.find(name)
    inside = [file for file in raw.names if file.startswith(f"{name}/")]
    paths = [raw.find(file) for file in inside]
    depth = len(PurePosixPath(inside[0]).parts) - len(PurePosixPath(name).parts)
    root = paths[0].parents[depth - 1]
    differing = sorted({p for p in root.rglob("*") if not p.is_dir()} ^ set(paths))
    if differing:
        raise RawFileError(
            root,
            f"{differing[0]} is not one of the files that were locked of this store",
            expected=f"the {len(paths)} locked files in one folder, and no others",
            remedy="restore the store; or run `stp fetch` again, if nothing was made of it yet; or "
            "declare it as a new release",
        )
    return root


def names_of(raw: RawFiles) -> list[str]:
    """Find the names of NetCDF files and Zarr stores among the raw files.

    Raises:
        StpError: there are none, or there is a GRIB file.
    """
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
def open_grid(path: Path) -> Iterator[xr.Dataset]:
    """Context manager: open a NetCDF file or Zarr store; values are read when they are used.

    Args:
        path: path of the file, or of the folder of the store.

    Yields:
        all variables and coordinates of the file or store. Times are decoded as dates; packed
        values are left as they are stored.

    Raises:
        StpError: the file or store is damaged.
    """
    try:
        dataset = open_fields(path)
    except DAMAGE as error:
        raise _damage_error(path, "it", error) from error
    with dataset:
        yield dataset


def _field(raw: RawFiles, name: str, options: GridOptions, shape: tuple[int, int, int]) -> Field:
    path = raw_path(raw, name)
    with open_grid(path) as dataset:
        columns = list(_columns(dataset, options, path))
        first = columns[0]
        _require_same_axes(columns, path)
        sizes = [first.sizes["y"], first.sizes["x"]]
        if sizes != list(shape[1:]):
            raise RawFileError(
                path,
                f"a grid of {sizes[0]} x {sizes[1]}",
                expected=f"{shape[1]} x {shape[2]}, as in shape",
                remedy="change shape; if rows and columns are swapped, set y and x",
            )
        require_directions(path, first)
        try:
            require_chunks(path, dataset, options.levels)
            clock = read_times(first["time"], path)
            coordinates = {
                axis: (
                    coordinate_name(first.attrs[f"stp_{axis}"], first[axis]),
                    first[axis].to_numpy(),
                )
                for axis in ("y", "x")
                if axis in first.coords
            }
        except DAMAGE as error:
            raise _damage_error(path, "the coordinates", error) from error
        units = {
            channel: str(column.attrs.get("units", ""))
            for channel, column in zip(options.channels(), columns, strict=True)
        }
        stated = [states_range(column.attrs) for column in columns]
        size = sum(column.nbytes for column in columns)
    return Field(name, clock, coordinates, units, stated, size)


def _require_same_axes(columns: Sequence[xr.DataArray], path: Path) -> None:
    """Refuse channels of a file with times, rows or columns that differ from the first channel."""
    first = columns[0]
    for column in columns[1:]:
        for axis in ("time", "y", "x"):
            try:
                is_same = column.get_index(axis).equals(first.get_index(axis))
            except DAMAGE as error:
                raise _damage_error(path, "the coordinates", error) from error
            if not is_same:
                raise RawFileError(
                    path,
                    f"{column.name} and {first.name} differ in {axis}",
                    expected="the same times, rows and columns for all variables",
                    remedy="regrid the variables, or declare a dataset for each",
                )


def _columns(dataset: xr.Dataset, options: GridOptions, path: Path) -> Iterator[xr.DataArray]:
    """Yield the channels, each with dimensions (time, y, x), lazily."""
    for dim in options.select:
        if dim not in dataset.variables and dim not in dataset.dims:
            dims = [str(dim) for dim in dataset.dims]
            raise RawFileError(
                path,
                f"no dimension {dim!r}, which the option select names",
                expected=f"one of {', '.join(dims)}",
                remedy=suggest_name(dim, dims),
            )
    for name, levels in options.levels.items():
        if name not in dataset.data_vars:
            variables = [str(variable) for variable in dataset.data_vars]
            raise RawFileError(
                path,
                f"no variable {name!r}",
                expected=f"one of {', '.join(variables) or 'none'}",
                remedy=suggest_name(name, variables),
            )
        column = _transpose_variable(dataset[name], options, path, bool(levels))
        if not levels:
            yield column
            continue
        try:
            if "level" not in column.coords:
                raise KeyError("there are none")
            heights = np.asarray(column["level"].values, float)
        except DAMAGE as error:
            raise _damage_error(path, f"the levels of {name}", error) from error
        for level in levels:
            at = np.flatnonzero(np.isclose(heights, float(level)))
            if len(at) != 1:
                raise RawFileError(
                    path,
                    f"{name} has no level {level}",
                    expected=f"one of {', '.join(f'{h:g}' for h in heights)}",
                    remedy="change variables",
                )
            yield column.isel(level=int(at[0]))


def _transpose_variable(
    column: xr.DataArray, options: GridOptions, path: Path, has_levels: bool
) -> xr.DataArray:
    """Transpose a variable to the dimensions time, y, x, and level if it has levels.

    The first dimension is `EXPVER`, if there are several versions and none is selected.
    """
    for dim, value in options.select.items():
        if dim in column.dims:
            try:
                if dim not in column.coords and value not in range(column.sizes[dim]):
                    raise KeyError(f"a number from 0 to {column.sizes[dim] - 1}")
                column = column.sel({dim: value})
            except DAMAGE as error:
                raise RawFileError(
                    path,
                    f"{column.name} has no {dim} = {value!r} ({error})",
                    remedy="change select",
                ) from error
    dims = [str(dim) for dim in column.dims]
    names = {}
    for axis in ("time", "y", "x", *(["level"] if has_levels else [])):
        stated = getattr(options, axis)
        matches = [
            dim for dim in dims if dim == stated or (not stated and dim in USUAL_NAMES[axis])
        ]
        if len(matches) != 1:
            raise RawFileError(
                path,
                f"{column.name} has the dimensions {', '.join(dims)}; which is {axis}?",
                expected=stated or f"one called {', '.join(USUAL_NAMES[axis])}",
                remedy=f"set {axis}: <name of the dimension> in the options",
            )
        names[matches[0]] = axis
    versions = [EXPVER] if column.sizes.get(EXPVER, 1) > 1 else []
    if versions and EXPVER in column.coords:
        column = column.isel({EXPVER: np.argsort(column[EXPVER].to_numpy())})
    for dim in dims:
        if dim not in names and dim not in versions:
            if column.sizes[dim] != 1:
                raise RawFileError(
                    path,
                    f"{column.name} has a dimension {dim} of length {column.sizes[dim]}",
                    expected="time, y, x and chosen levels",
                    remedy=f"choose levels in variables, or set select: {{{dim}: <value>}}",
                )
            column = column.isel({dim: 0}, drop=True)
    spatial = {axis: dim for dim, axis in names.items() if axis in ("y", "x")}
    others = [name for name in column.coords if name not in names]
    column = column.drop_vars(others).rename({d: a for d, a in names.items() if d != a})
    column.attrs.update({f"stp_{axis}": dim for axis, dim in spatial.items()})
    if "time" not in column.coords:
        raise RawFileError(
            path,
            f"{column.name} has no time coordinate",
            expected="dates along the time dimension",
            remedy="write them into the file, or use kind: arrays",
        )
    levels = ["level"] if has_levels else []
    return column.transpose(*versions, "time", *levels, "y", "x")


def _require_one_grid(raw: RawFiles, fields: Sequence[Field]) -> None:
    first = fields[0]
    names = {axis: name for axis, (name, _) in first.coordinates.items()}
    for other in fields[1:]:
        is_same = {axis: name for axis, (name, _) in other.coordinates.items()} == names and all(
            np.array_equal(values, first.coordinates[axis][1])
            for axis, (_, values) in other.coordinates.items()
        )
        if not is_same or other.units != first.units:
            raise RawFileError(
                raw_path(raw, other.name),
                f"its grid or units differ from those of {first.name}",
                remedy="regrid the files, or declare two datasets",
            )


def _coordinates(
    first: Field, clocks: Sequence[Clock], channels: Sequence[str]
) -> list[Coordinate]:
    coordinates = [
        Coordinate(name, axis, values, DEGREES.get(name, {}))
        for axis, (name, values) in first.coordinates.items()
    ]
    calendar = clocks[0].calendar
    attrs = {"standard_name": "time", "units": "seconds since 1970-01-01", "calendar": calendar}
    seconds = np.concatenate([clock.seconds for clock in clocks])
    return [
        *coordinates,
        Coordinate("time", "frame", seconds, attrs),
        Coordinate("variable", "channel", np.array(channels), {}),
    ]


def decode(_: RawFiles, task: Task) -> np.ndarray:
    """Read some frames of a recording, with all channels, from one or several files.

    Args:
        _: the raw files, which other kinds of data need; here ``task`` has the paths.
        task: which frames to read from which files, and the options.

    Returns:
        frames in the order of the task, float32 (T, C, H, W); missing values are replaced by
        ``task.fill``.

    Raises:
        StpError: a file is damaged, or values are missing and ``task.fill`` is None.
    """
    blocks, codes = [], marks_of(task.options.missing)
    for path, first, stop in task.stretches:
        with open_grid(path) as dataset:
            columns = []
            for column in _columns(dataset, task.options, path):
                try:
                    values = np.asarray(column.isel(time=slice(first, stop)).values)
                    if len(codes):
                        is_missing = np.isin(values, codes.astype(values.dtype))
                        values = np.where(is_missing, np.nan, values)
                    values = as_stated(values, column, path)
                    if EXPVER in column.dims:
                        values = _merge_versions(values)
                    columns.append(np.ascontiguousarray(values, np.float32))
                except DAMAGE as error:
                    raise _damage_error(path, str(column.name), error) from error
        block = np.stack(columns, axis=1)
        missing = np.isnan(block)
        if missing.any():
            channel = int(np.flatnonzero(missing.any(axis=(0, 2, 3)))[0])
            if task.fill is None:
                raise RawFileError(
                    path,
                    f"{task.options.channels()[channel]} has {int(missing[:, channel].sum())} "
                    f"missing values (NaN) at times {first}..{stop - 1}"
                    f"{_selection_text(task.options)}",
                    remedy="set the option fill to the value that replaces them",
                )
            np.copyto(block, np.reshape(task.fill, (-1, 1, 1)), where=missing)
        blocks.append(block)
    return np.concatenate(blocks)


def _merge_versions(versions: np.ndarray) -> np.ndarray:
    """Merge versions: values of the first version, (T, H, W), and of the next one where these are
    missing.
    """
    values = versions[0]
    for version in versions[1:]:
        values = np.where(np.isnan(values), version, values)
    return values


def _selection_text(options: GridOptions) -> str:
    """Text about the selection with missing values, for errors."""
    chosen = ", ".join(f"{dim} {value}" for dim, value in options.select.items())
    return f" of {chosen} (option select)" if chosen else ""


def _damage_error(path: Path, part: str, error: BaseException) -> StpError:
    return RawFileError(
        path,
        f"{part} cannot be read ({error or type(error).__name__})",
        remedy="replace it, or leave it out of the raw files",
    )
