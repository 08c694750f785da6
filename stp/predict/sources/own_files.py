"""Forecasts of your own: NetCDF files, Zarr stores, or GRIB where cfgrib is installed.

A file has forecasts of one start or of many, with dimensions of lead time, latitude and longitude,
perhaps of start, member and level; usual names of them are known. Files may have different starts.
Values come in units that can be turned into those of the data; latitudes may run either way, and
longitudes begin anywhere. Any other grid is an error: nothing is shifted or interpolated.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from stp.core.errors import StpError, nearest
from stp.data.daily_fields import STANDARD_GRAVITY, Grid, check_units, orientation
from stp.data.raw_files import RawFiles
from stp.data.zarr_codecs import check_codecs
from stp.data.zarr_read import has_array, read_array
from stp.metrics.latitude import coordinate
from stp.predict.source import Given, Source

OPTIONS = ("variables", "names")
GRIB = (".grib", ".grib2", ".grb", ".grb2")
KNOWN = {
    "start": ("start", "init_time", "initial_time", "forecast_reference_time", "init", "time"),
    "lead": ("lead", "lead_time", "leadtime", "step", "prediction_timedelta", "forecast_period"),
    "member": ("member", "number", "realization", "ensemble", "ensemble_member"),
    "level": ("level", "plev", "pressure_level", "isobaricInhPa", "lev", "pressure"),
    "latitude": ("latitude", "lat"),
    "longitude": ("longitude", "lon"),
}
"""Names of dimensions and coordinates that need not be stated."""
_KELVIN = 273.15
UNITS: dict[str, dict[str, tuple[float, float]]] = {
    "K": {"K": (1, 0), "kelvin": (1, 0), "degC": (1, _KELVIN), "celsius": (1, _KELVIN)},
    "gpm": {"gpm": (1, 0), "m": (1, 0), "m2 s-2": (1 / STANDARD_GRAVITY, 0), "dam": (10, 0)},
    "kg kg-1": {"kg kg-1": (1, 0), "kg/kg": (1, 0), "g kg-1": (1e-3, 0), "g/kg": (1e-3, 0)},
    "m s-1": {"m s-1": (1, 0), "m/s": (1, 0)},
    "Pa s-1": {"Pa s-1": (1, 0), "Pa/s": (1, 0), "hPa s-1": (100, 0)},
}
"""Units of the data -> units of a file -> factor and offset."""
DAMAGE = (
    *(OSError, EOFError, ValueError, RuntimeError, KeyError, TypeError, AttributeError),
    OverflowError,
)
_GRIB_END = b"7777"
"""The last bytes of every message."""
_GRIB_PADDED = 4096
"""Bytes in which the last message ends: archives fill blocks up with zeros."""


class _Variable(NamedTuple):
    """Where a channel lies in the files.

    Attributes:
        name: of the variable there.
        level: in hPa; None where it has no levels.
        units: of its values; None: as the file says.
    """

    name: str
    level: float | None = None
    units: str | None = None


class _Forecast(NamedTuple):
    """Where the forecast of a start lies: a file, and a place along its starts."""

    path: Path
    place: int


class OwnFiles(Source):
    """Forecasts of somebody's own.

    Args:
        given: what forecasts are read for. The clips that have some are those whose last context
            frame is the start of a forecast.
        variables: channel of the data -> name in the files, or ``{name, level, units}``; all
            channels whose names the files have unless given.
        names: of dimensions, by what they are (`KNOWN`), where they are unusual.

    Raises:
        StpError: a file is damaged; it has no forecast of any start, another grid, other units, or
            members than expected; a variable is absent; a start lies after its valid time; a start
            is in two files.
    """

    def __init__(
        self, given: Given, variables: Mapping[str, Any] | None, names: Mapping[str, str]
    ) -> None:
        assert given.archive is not None
        self._given, self._grid = given, Grid(*given.data.shape[1:])
        self._known = {what: (names[what],) if what in names else of for what, of in KNOWN.items()}
        self._open: tuple[Path, xr.Dataset] | None = None
        channels: list[str] = given.data.attrs["variables"]
        units = _units_of(given.data.folder)
        levels = coordinate(given.data, "level")
        hours = coordinate(given.data, "time")
        if units is None or hours is None:
            raise StpError(
                f"{given.data.folder}: no coordinates channel_units and time",
                expected="units of each channel, and the time of each frame",
                remedy="prepare the data with a reader that writes them",
            )
        self._units = dict(zip(channels, units, strict=True))
        of_levels: list[float | None] = [None] * len(channels)
        if levels is not None:
            of_levels = [level if np.isfinite(level) else None for level in levels.tolist()]
        self._levels = dict(zip(channels, of_levels, strict=True))
        paths = _stores(given.archive)
        self._variables = self._mapped(channels, variables, paths[0])
        self.channels = np.array([channels.index(name) for name in self._variables], np.int64)
        times = hours.astype("datetime64[h]")
        rows = {times[given.valid(row, -1)]: row for row in range(len(given.clips))}
        found: dict[int, _Forecast] = {}
        leads: set[int] = set(range(given.lead_times))
        for number, path in enumerate(paths, 1):
            here = self._starts(path)
            for place, start in enumerate(here):
                row = rows.get(start)
                if row is None:
                    continue
                if row in found:
                    raise StpError(
                        f"{path}: a forecast of {start}, which {found[row].path} has as well",
                        expected="each start once",
                        remedy="leave one of the two out",
                    )
                found[row] = _Forecast(path, place)
                leads &= set(self._leads(path))
            given.report("files listed", number, len(paths))
        if not found:
            raise StpError(
                f"{paths[0]} ({len(paths)} files): no forecast of any of the {len(rows)} starts, "
                f"{min(rows)} to {max(rows)}",
                expected="forecasts that start at some of these times (UTC)",
                remedy="see whether it is the right year and hour; `names: {start: ...}` says "
                "which coordinate starts are",
            )
        if not leads:
            raise StpError(
                f"{paths[0]} ({len(paths)} files): no lead time that all starts have",
                expected=f"whole days from 1 to {given.lead_times}",
                remedy="split the files, or see `names: {lead: ...}`",
            )
        self._found = found
        self.rows = np.array(list(found), np.int64)
        self.leads = np.array(sorted(leads), np.int64)

    def read(self, row: int, leads: np.ndarray) -> np.ndarray:
        """See `Source.read`."""
        path, place = self._found[row]
        opened = self._dataset(path)
        flip, roll = orientation(str(path), opened, self._grid)
        at = {lead: i for i, lead in enumerate(self._days(path, opened))}
        steps = [at[int(lead) + 1] for lead in leads]
        parts = []
        for channel, variable in self._variables.items():
            values = self._field(path, opened, channel, variable)
            try:
                fields = values.isel(start=place, lead=steps).to_numpy().astype(np.float32)
            except DAMAGE as error:
                raise _damaged(path, error) from error
            factor, offset = self._factor(path, opened, channel, variable)
            fields = fields * np.float32(factor) + np.float32(offset)
            if not np.isfinite(fields).all():
                bad = np.argwhere(~np.isfinite(fields))[0]
                raise StpError(
                    f"{path}: {variable.name} ({channel}) is not finite at lead time "
                    f"{int(leads[bad[1]]) + 1} of the start {self._starts(path)[place]}",
                    expected="numbers everywhere",
                    remedy="leave this start out of the files, or this variable out of `variables`",
                )
            short, level = channel.rpartition("_")[0] or channel, self._levels.get(channel)
            if level is not None:
                check_units(str(path), short, [int(level)], fields[..., None, :, :])
            parts.append(np.roll(fields[..., ::-1, :] if flip else fields, roll, axis=-1))
        return np.ascontiguousarray(np.stack(parts, axis=2))

    def _mapped(
        self, channels: list[str], variables: Mapping[str, Any] | None, first: Path
    ) -> dict[str, _Variable]:
        """Where each channel lies, in the order of the data."""
        if variables is None:
            there = set(self._dataset(first).data_vars)
            found = {name: _Variable(name) for name in channels if name in there}
            if not found:
                raise StpError(
                    f"{first}: none of the channels by its name; it has "
                    f"{', '.join(sorted(map(str, there)))}",
                    expected=f"some of {', '.join(channels[:5])}, ...",
                    remedy="name them: variables: {t_850: {name: ta, level: 850}}",
                )
            return found
        for name in variables:
            if name not in channels:
                raise StpError(
                    f"options: variables: no channel {name!r} in the data",
                    expected=f"some of {', '.join(channels)}",
                    remedy=nearest(name, channels),
                )
        found = {}
        for name in channels:
            if name in variables:
                stated = variables[name]
                stated = {"name": stated} if isinstance(stated, str) else stated
                if not isinstance(stated, dict) or not {"name"} <= set(stated) <= {
                    *_Variable._fields
                }:
                    raise StpError(
                        f"options: variables: {name}: {stated!r}",
                        expected="a name, or {name: ta, level: 850, units: degC}",
                        remedy="write it so",
                    )
                found[name] = _Variable(**stated)
        return found

    def _dataset(self, path: Path) -> xr.Dataset:
        """Open a file with the names of `KNOWN`; one at a time is held open."""
        if self._open is None or self._open[0] != path:
            if self._open is not None:
                self._open[1].close()
            self._open = (path, self._named(path, _opened(path)))
        return self._open[1]

    def _named(self, path: Path, opened: xr.Dataset) -> xr.Dataset:
        names = {}
        for what, known in self._known.items():
            # A dimension wins over a coordinate: `time` may be one of the two beside `step`.
            there = [n for n in known if n in opened.dims] or [
                n for n in known if n in opened.coords
            ]
            if there:
                names[there[0]] = what
            elif what not in ("member", "level"):
                raise StpError(
                    f"{path}: dimensions {', '.join(map(str, opened.sizes))}; which is {what}?",
                    expected=f"one called {', '.join(known)}",
                    remedy=f"say so: names: {{{what}: <name of the dimension>}}",
                )
        opened = opened.rename({there: what for there, what in names.items() if there != what})
        for what in ("start", "lead"):
            if what not in opened.dims:
                opened = opened.expand_dims(what)
        return opened

    def _starts(self, path: Path) -> np.ndarray:
        """Starts of a file, datetime64[h]; checked against its valid times where it has some."""
        opened = self._dataset(path)
        starts = opened["start"].to_numpy()
        if not np.issubdtype(starts.dtype, np.datetime64):
            raise StpError(
                f"{path}: starts are {starts.ravel()[:2].tolist()}",
                expected="dates, or numbers with units such as `hours since 1970-01-01`",
                remedy="write these units into the file, or see `names: {start: ...}`",
            )
        days = self._days(path, opened)
        if days.min() < 0:
            raise StpError(
                f"{path}: the start {starts[0].astype('datetime64[h]')} is after its valid time "
                f"(lead time {days.min()} days)",
                expected="lead times from 0",
                remedy="correct its coordinates of start and lead time",
            )
        if "valid_time" in opened.coords:
            valid = opened["valid_time"]
            early = (valid < opened["start"]).to_numpy()
            other = (valid != opened["start"] + opened["lead"].copy(data=_span(opened))).to_numpy()
            if early.any() or other.any():
                raise StpError(
                    f"{path}: " + ("a start is after its valid time" if early.any() else
                    "valid times are not start and lead time together"),
                    expected="valid time = start + lead time",
                    remedy="correct its coordinates",
                )  # fmt: skip
        orientation(str(path), opened, self._grid)
        members = opened.sizes.get("member", 1)
        if members != self._given.members:
            raise StpError(
                f"{path}: {members} members",
                expected=f"{self._given.members}",
                remedy="set `members` to those of the files",
            )
        for channel, variable in self._variables.items():
            self._field(path, opened, channel, variable)
            self._factor(path, opened, channel, variable)
        return starts.astype("datetime64[h]")

    def _days(self, path: Path, opened: xr.Dataset) -> np.ndarray:
        """Lead times in days, int64; more than there are where one is no whole number of days."""
        hours = _span(opened) / np.timedelta64(1, "h")
        if not np.isfinite(hours).all():
            raise _no_unit(path, opened)
        return np.where(hours % 24 == 0, hours // 24, 10**6 + hours).astype(np.int64)

    def _leads(self, path: Path) -> list[int]:
        """Numbers of the lead times of a file, from 0."""
        days = self._days(path, self._dataset(path))
        return [int(day) - 1 for day in days if 1 <= day <= self._given.lead_times]

    def _field(
        self, path: Path, opened: xr.Dataset, channel: str, variable: _Variable
    ) -> xr.DataArray:
        """A variable at its level: (start, member, lead, latitude, longitude), not yet read."""
        if variable.name not in opened.data_vars:
            there = sorted(map(str, opened.data_vars))
            raise StpError(
                f"{path}: no variable {variable.name!r} for {channel}",
                expected=f"one of {', '.join(there)}",
                remedy=nearest(variable.name, there) or "say in `variables` what it is called",
            )
        values = opened[variable.name]
        axis = _own_levels(variable.name)
        axis = axis if axis in values.dims else "level"
        if axis in values.dims:
            levels = np.asarray(opened[axis].values, float)
            if str(opened[axis].attrs.get("units", "")).lower() in ("pa", "pascal"):
                levels = levels / 100
            at = np.flatnonzero(
                np.isclose(levels, np.nan if variable.level is None else variable.level)
            )
            if len(at) != 1:
                raise StpError(
                    f"{path}: {variable.name} has no level {variable.level} for {channel}",
                    expected=f"one of {', '.join(f'{level:g}' for level in levels)} hPa",
                    remedy=f"say so: {channel}: {{name: {variable.name}, level: ...}}",
                )
            values = values.isel({axis: int(at[0])})
        if "member" not in values.dims:
            values = values.expand_dims("member")
        dims = ("start", "member", "lead", "latitude", "longitude")
        if set(values.dims) != set(dims):
            raise StpError(
                f"{path}: {variable.name} has dimensions {', '.join(map(str, values.dims))}",
                expected=", ".join(dims),
                remedy="name them in `names`, or take other dimensions out of the file",
            )
        return values.transpose("start", "member", "lead", "latitude", "longitude")

    def _factor(
        self, path: Path, opened: xr.Dataset, channel: str, variable: _Variable
    ) -> tuple[float, float]:
        """What turns values of the file into the units of the data: a factor, then an offset."""
        stated = variable.units or opened[variable.name].attrs.get("units")
        wanted = self._units[channel]
        known = UNITS.get(_plain(wanted), {_plain(wanted): (1.0, 0.0)})
        if stated is None or _plain(stated) not in known:
            raise StpError(
                f"{path}: {variable.name} ({channel}) is in "
                + ("units that nothing tells" if stated is None else f"{stated!r}"),
                expected=f"{wanted}, or one of {', '.join(known)}",
                remedy=f"say so: {channel}: {{name: {variable.name}, units: ...}}",
            )
        return known[_plain(stated)]


def _units_of(data: Path) -> list[str] | None:
    """Units of the channels of prepared data; None if nothing says what they are."""
    store = data / "frames.zarr"
    if not has_array(store, "channel_units"):
        return None
    return list(map(str, read_array(store / "channel_units")))


def _plain(units: str) -> str:
    """``m**2 s**-2`` and ``m^2 s^-2`` as ``m2 s-2``."""
    return " ".join(units.replace("**", "").replace("^", "").split())


def _span(opened: xr.Dataset) -> np.ndarray:
    """Lead times as timedelta64; NaT where nothing says what they are."""
    values = opened["lead"].to_numpy()
    if np.issubdtype(values.dtype, np.timedelta64):
        return values
    hours = {"d": 24, "h": 1}.get(str(opened["lead"].attrs.get("units", ""))[:1].lower())
    if hours is None or not np.issubdtype(values.dtype, np.number):
        return np.full(values.shape, np.timedelta64("NaT", "h"))
    return np.round(values * hours).astype("timedelta64[h]")


def _no_unit(path: Path, opened: xr.Dataset) -> StpError:
    return StpError(
        f"{path}: lead times are {opened['lead'].to_numpy().ravel()[:3].tolist()}, without a unit",
        expected="units of the coordinate: days or hours",
        remedy="write them into the file",
    )


def _stores(raw: RawFiles) -> list[Path]:
    """The files and Zarr stores of an archive, all of them compared with the lock."""
    found: dict[Path, None] = {}
    for name in raw.names:
        path = raw.find(name)
        inside = [place for place in path.parents if place.suffix == ".zarr"]
        found[inside[-1] if inside else path] = None
    return list(found)


def _opened(path: Path) -> xr.Dataset:
    """Open a file; times are decoded, and no field is read yet."""
    engine: Any = {".zarr": "zarr", **dict.fromkeys(GRIB, "cfgrib")}.get(path.suffix, "netcdf4")
    if engine == "cfgrib" and "cfgrib" not in xr.backends.list_engines():
        raise StpError(
            f"{path}: a GRIB file, and cfgrib is not installed",
            expected="the package cfgrib with ecCodes",
            remedy="pip install 'stp[grib]', or convert the file: cdo -f nc4 copy IN OUT",
        )
    more: dict[str, Any] = {}
    if engine == "zarr":
        check_codecs(path)
        more = {"consolidated": False}
    try:
        if engine == "cfgrib":
            return _grib(path)
        return xr.open_dataset(path, engine=engine, decode_timedelta=False, **more)
    except DAMAGE as error:
        raise _damaged(path, error) from error


def _grib(path: Path) -> xr.Dataset:
    """Open a GRIB file, whose variables may have different levels, starts and lead times.

    cfgrib makes one dataset of variables with the same levels alone, and leaves out the others.
    Here each has a dimension of its own levels; starts and lead times are those that all have.

    Raises:
        ValueError: the file ends early, which cfgrib passes over.
    """
    import cfgrib

    with path.open("rb") as file:
        file.seek(-min(_GRIB_PADDED, path.stat().st_size), os.SEEK_END)
        if not file.read().rstrip(b"\0").endswith(_GRIB_END):
            raise ValueError("the file ends within a message")
    options = {"indexpath": "", "squeeze": False}
    found: dict[str, xr.DataArray] = {}
    for part in cfgrib.open_datasets(str(path), backend_kwargs=options, decode_timedelta=True):
        for name, values in part.data_vars.items():
            kept = {"number", "time", "step", "isobaricInhPa", "latitude", "longitude"}
            others = [dim for dim in values.dims if dim not in kept and values.sizes[dim] == 1]
            values = values.squeeze(others, drop=True).reset_coords(drop=True)
            if "isobaricInhPa" in values.dims:
                values = values.rename(isobaricInhPa=_own_levels(str(name)))
                found[str(name)] = values
            else:  # of the same name on pressure levels and elsewhere, the former is meant
                found.setdefault(str(name), values)
    return xr.merge(found.values(), join="inner", combine_attrs="override")


def _own_levels(name: str) -> str:
    """The dimension of the levels of a variable that need not be those of others."""
    return f"levels of {name}"


def _damaged(path: Path, error: BaseException) -> StpError:
    return StpError(
        f"{path}: cannot be read ({error or type(error).__name__})",
        expected="a complete NetCDF, Zarr or GRIB file of forecasts",
        remedy="replace it, or leave it out",
    )


def open_source(
    given: Given,
    variables: Mapping[str, Any] | None = None,
    names: Mapping[str, str] | None = None,
) -> Source:
    """Open the files."""
    return OwnFiles(given, variables, names or {})
