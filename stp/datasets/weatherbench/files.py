"""Files with global fields, one hour after the other: what must be checked before they are read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from stp.core.errors import RawFileError, StpError
from stp.data.raw_files import RawFiles
from stp.prepare.netcdf import DAMAGE, load, open_field

SAME = 1e-3  # degrees; coordinates are stored in single or double precision


class Field(NamedTuple):
    """One variable of one file, and what of it becomes channels.

    Attributes:
        file: below the raw folder.
        name: of the variable in the file.
        levels: hPa, in the order of the channels; none for a field at the surface.
        units: that the file must state, if it states any.
    """

    file: str
    name: str
    levels: tuple[int, ...]
    units: str


class Axes(NamedTuple):
    """Where the values of a file lie.

    Attributes:
        hours: since 1970-01-01, UTC; ascending, without a gap.
        lat: degrees north, ascending.
        lon: degrees east.
        flipped: the file has its latitudes from north to south.
    """

    hours: np.ndarray
    lat: np.ndarray
    lon: np.ndarray
    flipped: bool


def dims_of(field: Field, ensemble: bool) -> tuple[str, ...]:
    """The dimensions that a variable must have, in the order in which they are used."""
    grid = ("latitude", "longitude") if ensemble else ("lat", "lon")
    member = ("number",) if ensemble else ()
    return (*member, "time", *(("level",) if field.levels else ()), *grid)


def open_checked(path: Path, field: Field, ensemble: bool = False) -> tuple[xr.DataArray, Axes]:
    """Open a variable and check its units, levels and axes; nothing is read yet.

    Args:
        path: of the file.
        field: what is wanted of it.
        ensemble: of members, with other names of dimensions.

    Returns:
        The variable with its latitudes ascending, and its axes.

    Raises:
        StpError: the file is damaged; a level is missing; units differ; the grid is not regular; a
            time comes twice, goes back, or is no full hour.
    """
    try:
        values = open_field(path, field.name, dims_of(field, ensemble))
        units = str(values.attrs.get("units", field.units))
        axes = _axes(path, values)
    except DAMAGE as error:
        raise _damaged(path, field.name, error) from error
    if units != field.units:
        raise StpError(
            f"{path}: {field.name} is in {units!r}",
            expected=f"{field.units!r}",
            remedy="fetch the official file, or correct `variables`",
        )
    if field.levels:
        there = values["level"].to_numpy().tolist()
        lost = [level for level in field.levels if level not in there]
        if lost or len(set(there)) != len(there):
            raise StpError(
                f"{path}: {field.name} has the levels {there}",
                expected=f"each once, with {', '.join(map(str, lost or field.levels))} hPa",
                remedy="fetch the file with all levels, or correct `variables`",
            )
    if axes.flipped:
        values = values.isel({values.dims[-2]: slice(None, None, -1)})
    return values, axes


def read_frames(raw: RawFiles, field: Field, at: Sequence[int]) -> np.ndarray:
    """Some moments of a variable, float32 (moments, levels or 1, lat, lon).

    Args:
        raw: the raw files.
        field: what to read.
        at: places on the file's time axis.

    Raises:
        StpError: the file is damaged, or a value is missing.
    """
    path = raw.find(field.file)
    values, _ = open_checked(path, field)
    return take(path, values.isel(time=list(at)), field)


def take(path: Path, values: xr.DataArray, field: Field) -> np.ndarray:
    """Read an opened variable, with its levels in the wanted order, as (time, level, lat, lon).

    Raises:
        StpError: the file is damaged, or a value is missing.
    """
    try:
        if field.levels:
            values = values.sel(level=list(field.levels))
        found = load(values, path).to_numpy().astype(np.float32, copy=False)
    except DAMAGE as error:
        raise _damaged(path, field.name, error) from error
    finite = np.isfinite(found).all(axis=tuple(range(1, found.ndim)))
    if not finite.all():
        hour = values["time"].to_numpy()[int(finite.argmin())].astype("datetime64[h]")
        raise StpError(
            f"{path}: {field.name} has missing values (NaN) at {hour}"
            f" and {int((~finite).sum()) - 1} other times",
            expected="numbers everywhere",
            remedy="fetch the file again, or leave the first hours of the year out (`first_hour`)",
        )
    return found if field.levels else found[:, None]


def find_hours(path: Path, hours: np.ndarray, wanted: np.ndarray, earlier: int = 0) -> int:
    """Where the wanted hours begin in a file that must hold exactly them.

    Args:
        path: of the file, for errors.
        hours: its time axis.
        wanted: without a gap.
        earlier: so many hours before the wanted ones may be there as well.

    Raises:
        StpError: an hour is missing, or there is one too many.
    """
    missing = np.setdiff1d(wanted, hours)
    if len(missing):
        raise StpError(
            f"{path}: {len(missing)} of {len(wanted)} hours are missing, first {stamp(missing[0])}",
            expected=f"every hour from {stamp(wanted[0])} to {stamp(wanted[-1])}",
            remedy="fetch the file again; a file without gaps is needed",
        )
    more = hours[(hours < wanted[0] - earlier) | (hours > wanted[-1])]
    if len(more):
        raise StpError(
            f"{path}: {len(more)} hours do not belong into it, first {stamp(more[0])}",
            expected=f"the hours from {stamp(wanted[0])} to {stamp(wanted[-1])}",
            remedy="fetch the file again, or correct `days_per_year`",
        )
    return int(np.searchsorted(hours, wanted[0]))


def require_global_grid(path: Path, axes: Axes, height: int, width: int) -> None:
    """Insist on the centres of equal boxes that cover the globe, longitudes from 0.

    Raises:
        StpError: the grid is another one.
    """
    lat = -90 + (np.arange(height) + 0.5) * 180 / height
    lon = np.arange(width) * 360 / width
    for axis, wanted, what in ((axes.lat, lat, "latitudes"), (axes.lon, lon, "longitudes")):
        if len(axis) != len(wanted) or abs(axis - wanted).max() > SAME:
            raise StpError(
                f"{path}: {len(axis)} {what} from {axis[0]:g} to {axis[-1]:g}",
                expected=f"{len(wanted)} from {wanted[0]:g} to {wanted[-1]:g}",
                remedy="fetch the resolution that the configuration names, or correct `shape`",
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
            "its times are no dates",
            expected="a time axis with units such as hours since 1979-01-01",
        )
    hours = times.astype("datetime64[h]")
    for bad, what in (
        (np.flatnonzero(hours != times), "is no full hour"),
        (np.flatnonzero(np.diff(hours.astype(np.int64)) == 0) + 1, "comes twice"),
        (np.flatnonzero(np.diff(hours.astype(np.int64)) < 0) + 1, "follows a later hour"),
    ):
        if len(bad):
            raise RawFileError(
                path,
                f"the time {times[bad[0]].astype('datetime64[m]')} {what}",
                expected="hours one after the other",
            )
    return hours.astype(np.int64)


def _damaged(path: Path, name: str, error: BaseException) -> StpError:
    return RawFileError(path, f"{name} cannot be read ({error})", expected="a complete NetCDF file")
