"""Read and check global fields of one day, or of one forecast, in a Zarr group.

The group has variables such as ``z`` with dimensions (..., level, latitude, longitude); its name
ends with the date, ``era5_full_1.5deg_20220101.zarr``. Fields are returned with latitudes from
north to south, longitudes from 0 to 360 degrees and geopotential height in geopotential metres.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from zarr.core.buffer import cpu
from zarr.storage import MemoryStore

from stp.core.errors import StpError
from stp.data.tar_stream import Folder

STANDARD_GRAVITY = 9.80665
"""Standard gravity, m s-2; geopotential height is geopotential over standard gravity."""
SAME = 1e-3
"""Maximum difference of equal coordinates, which may have single precision, degrees."""
HEIGHT = "z"
"""Name of the variable of geopotential, or geopotential height."""
# Bounds of the global mean, for winds of absolute values: any weather, but not other units.
PLAUSIBLE = {
    **{"t": (180.0, 320.0, "K"), "q": (-1e-4, 0.05, "kg kg**-1")},
    **{"u": (0.0, 45.0, "m s**-1"), "v": (0.0, 25.0, "m s**-1"), "w": (0.0, 0.5, "Pa s**-1")},
}
WINDS = ("u", "v", "w")
SCALE_HEIGHT = (5000.0, 9000.0)
"""Bounds of the scale height of pressure, m: 5.9 km at 200 K, 8.8 km at 300 K."""


class Grid(NamedTuple):
    """A regular grid with both poles, latitudes from north to south, longitudes from 0.

    Attributes:
        rows: number of latitudes, from 90 to -90 degrees.
        columns: number of longitudes.
    """

    rows: int
    columns: int

    @property
    def lat(self) -> np.ndarray:
        """Latitudes, degrees north, (rows,)."""
        return np.linspace(90, -90, self.rows)

    @property
    def lon(self) -> np.ndarray:
        """Longitudes, degrees east, (columns,)."""
        return np.arange(self.columns) * 360 / self.columns


def date_of(name: str) -> str | None:
    """The date in a group's name, ``2022-01-01`` of ``era5_full_1.5deg_20220101.zarr``, or None."""
    match = re.search(r"(\d{4})(\d\d)(\d\d)\.zarr$", name)
    return "-".join(match.groups()) if match else None


def open_group(folder: Folder) -> xr.Dataset:
    """Open the Zarr group of a folder without reading fields.

    Raises:
        StpError: the folder is no Zarr group, or a damaged one.
    """
    store: Any = folder.aside
    if store is None:
        held = {key: cpu.Buffer.from_bytes(content) for key, content in folder.files.items()}
        store = MemoryStore(dict(held))
    try:
        return xr.open_zarr(store, consolidated=False, chunks=None, decode_times=False)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        # xarray raises AttributeError for arrays without names of dimensions.
        raise _damage_error(folder.name, error) from error


def read_fields(
    name: str,
    opened: xr.Dataset,
    variables: Mapping[str, Sequence[int]],
    grid: Grid,
    *,
    gravity: float,
    outer: Sequence[str] = (),
    at: Mapping[str, Any] | None = None,
) -> np.ndarray:
    """Read the fields of some variables from the Zarr group of a day.

    Args:
        name: name of the group, for errors.
        opened: the group.
        variables: levels in hPa by variable, in the order of the channels.
        grid: expected grid.
        gravity: divisor of geopotential that gave the stored ``z``, m s-2; 1 if geopotential is
            stored.
        outer: dimensions before the level, in the order of the result, such as ("number", "step").
        at: indices along these dimensions, by name; all by default.

    Returns:
        fields, float32 (*outer, C, rows, columns), in K, gpm, kg kg**-1 and m s**-1; may contain
        NaN.

    Raises:
        StpError: a variable or level is missing, grid or units differ, or the group is damaged.
    """
    flip, roll = orientation(name, opened, grid)
    parts = []
    for variable, levels in variables.items():
        values = _variable(name, opened, variable, levels, outer)
        try:
            read = values.isel(dict(at or {})).sel(level=list(levels)).to_numpy()
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise _damage_error(name, error) from error
        fields = np.asarray(read, np.float32)
        if variable == HEIGHT and gravity != STANDARD_GRAVITY:
            fields = fields * np.float32(gravity / STANDARD_GRAVITY)
        check_units(name, variable, levels, fields)
        parts.append(np.roll(fields[..., ::-1, :] if flip else fields, roll, axis=-1))
    return np.ascontiguousarray(np.concatenate(parts, axis=-3))


def read_surface(
    name: str,
    opened: xr.Dataset,
    variables: Sequence[str],
    grid: Grid,
    *,
    shown_by: str,
    between: Mapping[str, tuple[float, float]],
) -> tuple[np.ndarray, np.ndarray]:
    """Read variables of land or of the ocean from the Zarr group of a day.

    These variables have no levels. Those of land have values on land only, those of the ocean at
    sea only; at all other points, the group stores 0. Of a day, all variables have values at the
    same points.

    Args:
        name: name of the group, for errors.
        opened: the group of the day.
        variables: names of the variables, in the order of the channels.
        grid: expected grid.
        shown_by: name of the variable that tells where values are: it is 0 exactly at the points
            without values, such as ``t2m`` for land.
        between: by variable, lowest and highest plausible mean of absolute values over the points
            with values. A mean beyond these bounds is an error.

    Returns:
        fields, float32 (C, rows, columns) in the units of the group, NaN at points without values;
        and the mask of points with values, bool (rows, columns).

    Raises:
        StpError: a variable is missing, the grid differs, a mean is beyond its bounds (as in other
            units), the group is damaged, or values are missing.
    """
    flip, roll = orientation(name, opened, grid)

    def field(variable: str) -> np.ndarray:
        values = _variable(name, opened, variable, None, ())
        try:
            array = values.to_numpy().astype(np.float32)
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise _damage_error(name, error) from error
        return np.roll(array[::-1] if flip else array, roll, axis=-1)

    first = field(shown_by)
    has_value = np.isfinite(first) & (first != 0)

    def check(variable: str, values: np.ndarray) -> None:
        sizes, (low, high) = np.abs(values[has_value]), between[variable]
        mean = float(sizes.mean(dtype=np.float64)) if has_value.any() else np.nan
        if not low <= mean <= high:
            raise StpError(
                f"{name}: {variable} is {mean:.6g} in the mean over {int(has_value.sum())} points, "
                "without signs",
                expected=f"{low:g} to {high:g}, and 0 at points without values",
                remedy="fetch the official release: units differ, or values are missing",
            )

    check(shown_by, first)
    fields = np.empty((len(variables), *has_value.shape), np.float32)
    for channel, variable in enumerate(variables):
        values = first if variable == shown_by else field(variable)
        bad = int((~np.isfinite(values) & has_value).sum())
        if bad:
            raise StpError(
                f"{name}: {bad} values of {variable} are missing where {shown_by} has some",
                remedy="fetch the official parts again",
            )
        check(variable, values)
        fields[channel] = np.where(has_value, values, np.float32(np.nan))
    return fields, has_value


def _variable(
    name: str, opened: xr.Dataset, variable: str, levels: Sequence[int] | None, outer: Sequence[str]
) -> xr.DataArray:
    """A variable with its dimensions in order; ``levels`` is None for variables without levels."""
    dims = (*outer, *(() if levels is None else ("level",)), "latitude", "longitude")
    if variable not in opened:
        raise StpError(
            f"{name}: no variable {variable!r}",
            expected=f"variables {', '.join(sorted(map(str, opened.data_vars)))}",
            remedy="fetch the official release, or remove it from `variables`",
        )
    values = opened[variable]
    if set(values.dims) != set(dims) or (levels is not None and "level" not in opened.coords):
        raise StpError(
            f"{name}: {variable} has dimensions {', '.join(map(str, values.dims))}",
            expected=", ".join(dims),
            remedy="fetch the official release",
        )
    if levels is None:
        return values.transpose(*dims)
    stored = opened["level"].to_numpy().tolist()
    missing = [level for level in levels if level not in stored]
    if missing or len(set(stored)) != len(stored):
        raise StpError(
            f"{name}: {variable} has the levels {stored}",
            expected=f"each once, with {', '.join(map(str, missing or levels))} hPa",
            remedy="fetch the official release, or correct `variables`",
        )
    return values.transpose(*dims)


def check_times(name: str, opened: xr.Dataset, days: np.ndarray) -> None:
    """Refuse a forecast whose ``time`` and ``valid_time``, if present, contradict its start and
    steps.

    Args:
        name: name of the group, which ends with the date of the start.
        opened: the group, with times as numbers; some may be missing.
        days: lead time of each step, days, (steps,).

    Raises:
        StpError: the start differs from the date in the name, a valid time is not start + step, or
            times cannot be read.
    """
    start = np.datetime64(str(date_of(name)), "ns")
    valid = xr.DataArray(start + days.astype("timedelta64[D]"), dims="step")
    for variable, expected in (("time", xr.DataArray(start)), ("valid_time", valid)):
        if variable not in opened.variables:
            continue
        try:
            times = xr.decode_cf(opened[[variable]], decode_timedelta=False)[variable].load()
        except (OSError, ValueError, KeyError, RuntimeError, OverflowError) as error:
            raise _damage_error(name, error) from error
        if not np.issubdtype(times.dtype, np.datetime64):
            continue  # numbers without a unit
        times = times.isel(step=slice(len(days))) if "step" in times.dims else times
        off = times.notnull() & (times != expected)
        if not off.any():
            continue
        if variable == "time":
            text = f"its time is {_hour(times)}, and its name says {_hour(start)}"
        elif (times.notnull() & (times < start)).any():
            text = f"the start {_hour(start)} is after its valid time {_hour(times.min())}"
        else:
            first = _hour(times.where(off).min())
            text = f"valid times are not start and step together, as {first}"
        raise StpError(
            f"{name}: {text}",
            expected="the start in the name and in `time`, and valid_time = start + step",
            remedy="fetch the official archive",
        )


def _hour(time: Any) -> str:
    """The only time of an array as ``2022-01-01T00``."""
    return str(np.asarray(time).astype("datetime64[h]"))


def orientation(name: str, opened: xr.Dataset, grid: Grid) -> tuple[bool, int]:
    """Determine how to turn fields to the expected grid: flip latitudes, roll longitudes.

    Args:
        name: name of the Zarr group or store, for errors.
        opened: the group or store, with coordinates latitude and longitude, degrees.
        grid: expected grid. The stored grid may differ from it in two ways only: latitudes from
            south to north, and another first longitude.

    Returns:
        whether latitudes run from south to north, so that rows have to be flipped; and the number
        of columns by which longitudes have to be rolled to begin at 0.

    Raises:
        StpError: the grid differs.
    """
    try:
        lat, lon = (opened[axis].to_numpy().astype(float) for axis in ("latitude", "longitude"))
    except KeyError as error:
        raise _other_grid(name, f"no coordinate {error}", grid) from None
    if lat.shape != (grid.rows,) or lon.shape != (grid.columns,):
        raise _other_grid(name, f"{lat.size} latitudes and {lon.size} longitudes", grid)
    flip = bool(lat[0] < lat[-1])
    lat = lat[::-1] if flip else lat
    cell = 360 / grid.columns
    east = np.round(lon[0] % 360 / cell)
    off = max(
        float(np.abs(lat - grid.lat).max()),
        float(np.abs((lon - (east + np.arange(grid.columns)) * cell + 180) % 360 - 180).max()),
    )
    if off > SAME:
        raise _other_grid(
            name,
            f"latitudes {lat[0]:g} to {lat[-1]:g}, longitudes from {lon[0]:g}: "
            f"off by up to {off:g} degrees",
            grid,
        )
    return flip, int(east) % grid.columns


def _other_grid(name: str, difference: str, grid: Grid) -> StpError:
    return StpError(
        f"{name}: the grid is another one: {difference}",
        expected=f"{grid.rows} latitudes from 90 to -90 and {grid.columns} longitudes from 0, "
        f"every {360 / grid.columns:g} degrees",
        remedy="fetch the official release, or regrid the files",
    )


def check_units(name: str, variable: str, levels: Sequence[int], fields: np.ndarray) -> None:
    """Refuse fields whose global means are implausible in the expected units.

    Fields without any value are accepted.

    Args:
        name: source of the fields, for errors.
        variable: name of the variable, such as ``z``; those without plausible bounds are accepted.
        levels: level of each channel, hPa.
        fields: fields of a variable, (..., C, H, W), in K, gpm, kg kg**-1, m s**-1 or Pa s**-1;
            only the first (C, H, W) are checked.

    Raises:
        StpError: a mean is implausible.
    """
    first = fields.reshape(-1, *fields.shape[-3:])[0]
    for level, values in zip(levels, first, strict=True):
        if not np.isfinite(values).any():
            continue
        if variable == HEIGHT:
            fall = np.log(1000 / level)
            low, high, unit = SCALE_HEIGHT[0] * fall - 1000, SCALE_HEIGHT[1] * fall + 1000, "gpm"
        elif variable in PLAUSIBLE:
            low, high, unit = PLAUSIBLE[variable]
            values = np.abs(values) if variable in WINDS else values
        else:
            continue
        mean = float(np.nanmean(values, dtype=np.float64))
        if not low <= mean <= high:
            raise StpError(
                f"{name}: {variable} at {level} hPa is {mean:.6g} {unit} in the mean",
                expected=f"{low:.6g} to {high:.6g} {unit}",
                remedy="correct the units: see `gravity` of the reader for height and "
                "geopotential, or fetch the official release",
            )


def _damage_error(name: str, error: Exception) -> StpError:
    return StpError(
        f"{name}: this Zarr group is damaged ({error})",
        expected="a Zarr group of one day, as the release has it",
        remedy="fetch the official parts again",
    )
