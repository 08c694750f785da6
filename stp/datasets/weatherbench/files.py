"""Read WeatherBench's NetCDF files, after checks of units, levels, grid and times."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from stp.core.errors import RawFileError, StpError
from stp.data.raw_files import RawFiles
from stp.prepare.netcdf import DAMAGE, load, open_field

SAME = 1e-3  # degrees; coordinates are stored in single or double precision


class RawField(NamedTuple):
    """A variable of a file, with the levels that become channels.

    Attributes:
        file: path of the file, below the raw folder.
        name: name of the variable in the file.
        levels: pressure levels, hPa, in the order of the channels; empty for a field at the
            surface.
        units: required units, if the file states any.
    """

    file: str
    name: str
    levels: tuple[int, ...]
    units: str


class Axes(NamedTuple):
    """Times, latitudes and longitudes of a WeatherBench file.

    Attributes:
        hours: times, hours since 1970-01-01 UTC, ascending.
        lat: latitudes, degrees north, ascending.
        lon: longitudes, degrees east.
        flipped: whether latitudes run from north to south in the file.
    """

    hours: np.ndarray
    lat: np.ndarray
    lon: np.ndarray
    flipped: bool


def _dims_of(field: RawField, ensemble: bool) -> tuple[str, ...]:
    grid = ("latitude", "longitude") if ensemble else ("lat", "lon")
    member = ("number",) if ensemble else ()
    return (*member, "time", *(("level",) if field.levels else ()), *grid)


def open_checked(path: Path, field: RawField, ensemble: bool = False) -> tuple[xr.DataArray, Axes]:
    """Open a variable lazily, and check its units, levels and axes.

    Args:
        path: path of the file.
        field: the variable.
        ensemble: whether the file has several members. Such files have the dimension "number", and
            call the axes of the grid "latitude" and "longitude" instead of "lat" and "lon".

    Returns:
        the variable, with ascending latitudes, and its axes.

    Raises:
        StpError: the file is damaged; a level is missing; units differ; the grid is not regular; or
            times are not ascending full hours.
    """
    try:
        values = open_field(path, field.name, _dims_of(field, ensemble))
        units = str(values.attrs.get("units", field.units))
        axes = _axes(path, values)
    except DAMAGE as error:
        raise _damage_error(path, field.name, error) from error
    if units != field.units:
        raise RawFileError(path, f"{field.name} is in {units!r}", expected=f"{field.units!r}")
    if field.levels:
        levels = values["level"].to_numpy().tolist()
        missing = [level for level in field.levels if level not in levels]
        if missing or len(set(levels)) != len(levels):
            raise RawFileError(
                path,
                f"{field.name} has the levels {levels}",
                expected=f"each once, with {', '.join(map(str, missing or field.levels))} hPa",
            )
    if axes.flipped:
        values = values.isel({values.dims[-2]: slice(None, None, -1)})
    return values, axes


def read_frames(raw: RawFiles, field: RawField, at: Sequence[int]) -> np.ndarray:
    """Read a variable at some times, float32 (times, levels or 1, lat, lon).

    Args:
        raw: the raw files.
        field: the variable.
        at: indices along the time axis.

    Raises:
        StpError: the file is damaged, or a value is missing.
    """
    path = raw.find(field.file)
    values, _ = open_checked(path, field)
    return load_field(path, values.isel(time=list(at)), field)


def load_field(path: Path, values: xr.DataArray, field: RawField) -> np.ndarray:
    """Read an opened variable, float32 (times, levels or 1, lat, lon).

    Args:
        path: path of the file, for errors.
        values: the opened variable, from `open_checked`, at the times to read.
        field: the variable, with its levels in the order of the result.

    Raises:
        StpError: the file is damaged, or a value is missing.
    """
    try:
        if field.levels:
            values = values.sel(level=list(field.levels))
        fields = load(values, path).to_numpy().astype(np.float32, copy=False)
    except DAMAGE as error:
        raise _damage_error(path, field.name, error) from error
    finite = np.isfinite(fields).all(axis=tuple(range(1, fields.ndim)))
    if not finite.all():
        hour = values["time"].to_numpy()[int(finite.argmin())].astype("datetime64[h]")
        raise RawFileError(
            path,
            f"{field.name} has missing values (NaN) at {hour}"
            f" and {int((~finite).sum()) - 1} other times",
        )
    return fields if field.levels else fields[:, None]


def find_hours(path: Path, hours: np.ndarray, required: np.ndarray, earlier: int = 0) -> int:
    """Return the index of the first required hour in a file, after checks.

    The file must have exactly the required hours, except for those that `earlier` allows.

    Args:
        path: path of the file, for errors.
        hours: time axis of the file.
        required: consecutive hours.
        earlier: number of hours before the required ones that the file may also have.

    Raises:
        StpError: an hour is missing or superfluous.
    """
    expected = f"every hour from {stamp(required[0])} to {stamp(required[-1])}, and no others"
    missing = np.setdiff1d(required, hours)
    if len(missing):
        problem = f"{len(missing)} of {len(required)} hours are missing, first {stamp(missing[0])}"
        raise RawFileError(path, problem, expected=expected)
    more = hours[(hours < required[0] - earlier) | (hours > required[-1])]
    if len(more):
        problem = f"{len(more)} hours too many, first {stamp(more[0])}"
        raise RawFileError(path, problem, expected=expected)
    return int(np.searchsorted(hours, required[0]))


def require_global_grid(path: Path, axes: Axes, height: int, width: int) -> None:
    """Check that axes are the centres of equal boxes that cover the globe, with longitudes from 0.

    Raises:
        StpError: the grid differs.
    """
    lat = -90 + (np.arange(height) + 0.5) * 180 / height
    lon = np.arange(width) * 360 / width
    for axis, centres, name in ((axes.lat, lat, "latitudes"), (axes.lon, lon, "longitudes")):
        if len(axis) != len(centres) or abs(axis - centres).max() > SAME:
            raise RawFileError(
                path,
                f"{len(axis)} {name} from {axis[0]:g} to {axis[-1]:g}",
                expected=f"{len(centres)} from {centres[0]:g} to {centres[-1]:g}",
            )


def stamp(hour: Any) -> str:
    """An hour since 1970 as text, 1979-01-01T07."""
    return str(np.datetime64(int(hour), "h"))


def _axes(path: Path, values: xr.DataArray) -> Axes:
    lat, lon = (values[name].to_numpy().astype(np.float64) for name in values.dims[-2:])
    for name, axis in (("latitudes", lat), ("longitudes", lon)):
        steps = np.diff(axis)
        ok = len(axis) > 1 and np.isfinite(axis).all() and abs(steps - steps[0]).max() < SAME
        ok = ok and abs(steps[0]) > SAME and (name == "latitudes" or steps[0] > 0)
        if not ok:
            raise RawFileError(
                path,
                f"its {name} are {axis[:3].tolist()}, ...",
                expected="a regular grid, with longitudes from west to east",
            )
    flipped = bool(lat[0] > lat[-1])
    return Axes(
        _hours(path, values["time"].to_numpy()), lat[::-1] if flipped else lat, lon, flipped
    )


def _hours(path: Path, times: np.ndarray) -> np.ndarray:
    """The time axis in hours since 1970; see `open_checked`."""
    if times.dtype.kind != "M" or np.isnat(times).any():
        raise RawFileError(
            path,
            "its times are not dates",
            expected="a time axis with units such as hours since 1979-01-01",
        )
    hours = times.astype("datetime64[h]")
    for bad, problem in (
        (np.flatnonzero(hours != times), "is no full hour"),
        (np.flatnonzero(np.diff(hours.astype(np.int64)) == 0) + 1, "comes twice"),
        (np.flatnonzero(np.diff(hours.astype(np.int64)) < 0) + 1, "follows a later hour"),
    ):
        if len(bad):
            raise RawFileError(
                path,
                f"the time {times[bad[0]].astype('datetime64[m]')} {problem}",
            )
    return hours.astype(np.int64)


def _damage_error(path: Path, name: str, error: BaseException) -> StpError:
    return RawFileError(path, f"{name} cannot be read ({error})")
