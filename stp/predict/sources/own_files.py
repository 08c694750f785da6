"""Forecasts in a user's own files: NetCDF, Zarr, or GRIB if cfgrib is installed.

A file has forecasts of one start or several, at some lead times, of some variables. Usual names of
dimensions are known (stp/predict/forecast_files.py). Units are converted to those of the data;
latitudes may have either direction, and longitudes any origin. Any other grid is an error.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from stp.core.errors import StpError, suggest_name
from stp.core.options import check_keys
from stp.data.daily_fields import STANDARD_GRAVITY, Grid, check_units, orientation
from stp.data.raw_files import RawFiles
from stp.data.zarr_read import has_array, read_array
from stp.metrics.latitude import coordinate
from stp.predict.agreement import Copies
from stp.predict.forecast_files import DAMAGE, DAY, KNOWN, damage_error, open_forecasts, own_levels
from stp.predict.source import ForecastRequest, Source
from stp.prepare.netcdf import as_stated
from stp.prepare.own.far_values import require_no_far_value, states_range
from stp.prepare.own.field_files import require_chunks

OPTIONS = ("variables", "names")
_KELVIN = 273.15
UNITS: dict[str, dict[str, tuple[float, float]]] = {
    "K": {"K": (1, 0), "kelvin": (1, 0), "degC": (1, _KELVIN), "celsius": (1, _KELVIN)},
    "gpm": {"gpm": (1, 0), "m": (1, 0), "m2 s-2": (1 / STANDARD_GRAVITY, 0), "dam": (10, 0)},
    "kg kg-1": {"kg kg-1": (1, 0), "kg/kg": (1, 0), "g kg-1": (1e-3, 0), "g/kg": (1e-3, 0)},
    "m s-1": {"m s-1": (1, 0), "m/s": (1, 0)},
    "Pa s-1": {"Pa s-1": (1, 0), "Pa/s": (1, 0), "hPa s-1": (100, 0)},
}
"""Factor and offset from the units of a file, by units of the data and units of the file."""
PASCAL = ("pa", "pascal")
DECLARE = (
    "remove these forecasts, or write NaN; if the value is intended, state the range of the "
    "variable in its attribute valid_range"
)


class _Variable(NamedTuple):
    """The variable of a channel in the files.

    Attributes:
        name: name of the variable.
        level: level, hPa; None for the level of the channel in the data.
        units: units of its values; None for those of the file.
    """

    name: str
    level: float | None = None
    units: str | None = None


class _Forecast(NamedTuple):
    """The part of the forecast of a start that is in one file.

    Attributes:
        path: path of the file.
        start: index of the start in the file.
        steps: lead time, from 0, to its index in the file.
        channels: channels of the data that the file has.
    """

    path: Path
    start: int
    steps: Mapping[int, int]
    channels: frozenset[str]


class OwnFiles(Source):
    """Forecasts in files of a user, without copies of ensemble members.

    To find copies, forecasts are read and compared on opening, until all members differ. Of members
    that are equal in all forecasts, `read` returns the first only, and ``note`` names the others.

    Args:
        request: clips, number of lead times and members, and the raw files (``archive``). A clip
            has a forecast if the files have one that starts at the clip's last context frame.
        variables: for each channel of the data, its name in the files, or ``{name, level, units}``;
            by default all channels whose names are in the files.
        names: unusual names of dimensions in the files, by what they are, such as
            ``{"lead": "forecast_hour"}`` (`stp.predict.forecast_files.open_forecasts`).

    Raises:
        StpError: a file is damaged or its times are unknown (`open_forecasts`); grid, units or
            members are not as expected; there is no forecast of any start; a start lacks a variable
            that other starts have; or a forecast is in two files.
    """

    is_unknown = True

    def __init__(
        self,
        request: ForecastRequest,
        variables: Mapping[str, Any] | None,
        names: Mapping[str, str],
    ) -> None:
        assert request.archive is not None
        check_keys("options: names", names, KNOWN)
        self._request, self._grid = request, Grid(*request.data.shape[1:])
        self._names = names
        self._open: tuple[Path, xr.Dataset] | None = None
        channels: list[str] = request.data.attrs["variables"]
        units = _units_of(request.data.folder)
        levels = coordinate(request.data, "level")
        hours = coordinate(request.data, "time")
        if units is None or hours is None:
            raise StpError(
                f"{request.data.folder}: no coordinates channel_units and time",
                expected="units of each channel, and the time of each frame",
                remedy="prepare the data with a reader that writes them",
            )
        self._units = dict(zip(channels, units, strict=True))
        of_levels: list[float | None] = [None] * len(channels)
        if levels is not None:
            of_levels = [level if np.isfinite(level) else None for level in levels.tolist()]
        self._levels = dict(zip(channels, of_levels, strict=True))
        paths = _stores(request.archive)
        self._variables = _variables_by_channel(channels, variables)
        times = hours.astype("datetime64[h]").astype("datetime64[s]")
        rows = {times[request.valid(row, -1)]: row for row in range(len(request.clips))}
        self._forecasts: dict[int, list[_Forecast]] = {}
        for number, path in enumerate(paths, 1):
            self._list(path, rows)
            request.report("files listed", number, len(paths))
        if not self._forecasts:
            raise StpError(
                f"{paths[0]} ({len(paths)} files): no forecast of any of the {len(rows)} starts, "
                f"{min(rows)} to {max(rows)}",
                expected="forecasts that start at some of these times (UTC)",
                remedy="check year and hour; `names: {start: ...}` names the coordinate of starts",
            )
        if variables is None:
            self._keep_available(paths[0])
        leads = self._common_leads()
        if not leads:
            raise StpError(
                f"{paths[0]} ({len(paths)} files): no lead time that all starts have",
                expected=f"whole days from 1 to {request.lead_times}",
                remedy="split the files, or name the coordinate: `names: {lead: ...}`",
            )
        self.channels = np.array([channels.index(name) for name in self._variables], np.int64)
        self.rows = np.array(list(self._forecasts), np.int64)
        self.leads = np.array(sorted(leads), np.int64)
        copies = self._copies(self.leads)
        self._distinct, self.note = sorted(set(copies.first())), copies.note()
        self.members = len(self._distinct)

    def read(self, row: int, leads: np.ndarray) -> np.ndarray:
        """Read the forecasts of one clip in the dataset's units, (members, lead times, C, H, W)."""
        return self._read_all(row, leads)[self._distinct]

    def _copies(self, leads: np.ndarray) -> Copies:
        """Find equal members; forecasts are read until all members differ."""
        copies = Copies(self._request.members)
        for number, row in enumerate(self.rows.tolist(), 1):
            for lead in leads[:, None]:
                if copies.differ:
                    return copies
                copies.add(self._read_all(row, lead)[None])
            self._request.report("starts whose members are compared", number, len(self.rows))
        return copies

    def _read_all(self, row: int, leads: np.ndarray) -> np.ndarray:
        """Read the forecasts of a clip, with all members."""
        shape = (self._request.members, len(leads), len(self._variables), *self._grid)
        fields = np.empty(shape, np.float32)
        for forecast in self._forecasts[row]:
            here = [i for i, lead in enumerate(leads) if int(lead) in forecast.steps]
            for c, channel in enumerate(self._variables):
                if here and channel in forecast.channels:
                    fields[:, here, c] = self._read(forecast, channel, leads[here])
        return fields

    def _read(self, forecast: _Forecast, channel: str, leads: np.ndarray) -> np.ndarray:
        """Fields of a channel from one file, (M, leads, H, W)."""
        path, variable = forecast.path, self._variables[channel]
        opened = self._dataset(path)
        values = self._field(path, opened, channel, variable)
        steps = [forecast.steps[int(lead)] for lead in leads]
        try:
            values = values.isel(start=forecast.start, lead=steps)
            fields = as_stated(values.to_numpy(), values, path).astype(np.float32)
        except DAMAGE as error:
            raise damage_error(path, error) from error
        if not states_range(values.attrs):
            require_no_far_value(fields, f"{path}: {variable.name} ({channel})", DECLARE)
        factor, offset = self._factor(path, opened, channel, variable)
        fields = fields * np.float32(factor) + np.float32(offset)
        if not np.isfinite(fields).all():
            bad = np.argwhere(~np.isfinite(fields))[0]
            raise StpError(
                f"{path}: {variable.name} ({channel}) is not finite at lead time "
                f"{int(leads[bad[1]]) + 1} of the start "
                f"{opened['start'].to_numpy()[forecast.start].astype('datetime64[h]')}",
                remedy="remove this start from the files, or this variable from `variables`",
            )
        short, level = channel.rpartition("_")[0] or channel, self._levels.get(channel)
        if level is not None:
            check_units(str(path), short, [int(level)], fields[..., None, :, :])
        flip, roll = orientation(str(path), opened, self._grid)
        return np.roll(fields[..., ::-1, :] if flip else fields, roll, axis=-1)

    def _dataset(self, path: Path) -> xr.Dataset:
        """Open a file, and close the previous one."""
        if self._open is None or self._open[0] != path:
            if self._open is not None:
                self._open[1].close()
            self._open = (path, open_forecasts(path, self._names))
        return self._open[1]

    def _list(self, path: Path, rows: Mapping[np.datetime64, int]) -> None:
        """List the forecasts of a file, and check its grid, members and units."""
        opened = self._dataset(path)
        orientation(str(path), opened, self._grid)
        members = opened.sizes.get("member", 1)
        if members != self._request.members:
            raise StpError(
                f"{path}: {members} members",
                expected=f"{self._request.members}",
                remedy="set `members` to those of the files",
            )
        in_file = {variable.name for variable in self._variables.values()} & set(opened.data_vars)
        require_chunks(path, opened, sorted(map(str, in_file)))
        channels = set()
        for channel, variable in self._variables.items():
            if self._has(opened, channel, variable):
                self._field(path, opened, channel, variable)
                self._factor(path, opened, channel, variable)
                channels.add(channel)
        days = opened["lead"].to_numpy() / DAY
        steps = {
            int(day) - 1: i
            for i, day in enumerate(days)
            if day % 1 == 0 and 1 <= day <= self._request.lead_times
        }
        for index, start in enumerate(opened["start"].to_numpy().astype("datetime64[s]")):
            row = rows.get(start)
            if row is None:
                continue
            forecast = _Forecast(path, index, steps, frozenset(channels))
            for other in self._forecasts.setdefault(row, []):
                both = forecast.channels & other.channels
                if both and forecast.steps.keys() & other.steps.keys():
                    raise StpError(
                        f"{path}: a forecast of {start.astype('datetime64[h]')}, which "
                        f"{other.path} has as well ({min(both)})",
                        expected="each start, variable and lead time once",
                        remedy="remove one of the two",
                    )
            self._forecasts[row].append(forecast)

    def _keep_available(self, first: Path) -> None:
        """Keep the variables that any file has."""
        available = {c for of in self._forecasts.values() for part in of for c in part.channels}
        if not available:
            names = ", ".join(sorted(map(str, self._dataset(first).data_vars)))
            raise StpError(
                f"{first}: none of the channels by its name; it has {names}",
                expected=f"some of {', '.join([*self._variables][:5])}, ...",
                remedy="name them: variables: {t_850: {name: ta, level: 850}}",
            )
        self._variables = {c: v for c, v in self._variables.items() if c in available}

    def _common_leads(self) -> set[int]:
        """Lead times, from 0, that all starts have for all channels."""
        leads = set(range(self._request.lead_times))
        for forecasts in self._forecasts.values():
            for channel, variable in self._variables.items():
                parts = [part for part in forecasts if channel in part.channels]
                if not parts:  # raise the error of a file that has other levels, or of any file
                    paths = sorted(
                        {part.path for part in forecasts},
                        key=lambda path: variable.name not in self._dataset(path).data_vars,
                    )
                    self._field(paths[0], self._dataset(paths[0]), channel, variable)
                leads &= {lead for part in parts for lead in part.steps}
        return leads

    def _has(self, opened: xr.Dataset, channel: str, variable: _Variable) -> bool:
        """Whether a file has a channel: the variable at the level."""
        if variable.name not in opened.data_vars:
            return False
        levels = _levels(opened, variable.name)
        return levels is None or len(self._at(levels, channel, variable)) > 0

    def _at(self, levels: np.ndarray, channel: str, variable: _Variable) -> np.ndarray:
        """Indices of a channel's level among some levels, hPa."""
        level = self._levels.get(channel) if variable.level is None else variable.level
        if level is None:  # data without a level, such as a surface: the only level of the file
            return np.arange(len(levels) if len(levels) == 1 else 0)
        return np.flatnonzero(np.isclose(levels, level))

    def _field(
        self, path: Path, opened: xr.Dataset, channel: str, variable: _Variable
    ) -> xr.DataArray:
        """The variable of a channel, not read yet: (start, member, lead, latitude, longitude)."""
        if variable.name not in opened.data_vars:
            names = sorted(map(str, opened.data_vars))
            raise StpError(
                f"{path}: no variable {variable.name!r} for {channel}",
                expected=f"one of {', '.join(names)}",
                remedy=suggest_name(variable.name, names) or "name it in `variables`",
            )
        values = opened[variable.name]
        levels = _levels(opened, variable.name)
        if levels is not None:
            at = self._at(levels, channel, variable)
            if len(at) != 1:
                raise StpError(
                    f"{path}: {variable.name} has no level {variable.level} for {channel}",
                    expected=f"one of {', '.join(f'{level:g}' for level in levels)} hPa",
                    remedy=f"set {channel}: {{name: {variable.name}, level: ...}}",
                )
            values = values.isel({dim: int(at[0]) for dim in _level_axis(values)})
        others = {"start", "member", "lead", "latitude", "longitude"}
        values = values.squeeze(
            [dim for dim in values.dims if dim not in others and values.sizes[dim] == 1]
        )
        if "member" not in values.dims:
            values = values.expand_dims("member")
        dims = ("start", "member", "lead", "latitude", "longitude")
        if set(values.dims) != set(dims):
            raise StpError(
                f"{path}: {variable.name} has dimensions {', '.join(map(str, values.dims))}",
                expected=", ".join(dims),
                remedy="name them in `names`, or remove other dimensions from the file",
            )
        return values.transpose(*dims)

    def _factor(
        self, path: Path, opened: xr.Dataset, channel: str, variable: _Variable
    ) -> tuple[float, float]:
        """Factor and offset from the units of the file to those of the data."""
        stated = variable.units or opened[variable.name].attrs.get("units")
        units = self._units[channel]
        conversions = UNITS.get(_normalise_units(units), {_normalise_units(units): (1.0, 0.0)})
        if stated is None or _normalise_units(stated) not in conversions:
            raise StpError(
                f"{path}: {variable.name} ({channel}) has "
                + ("no units" if stated is None else f"the units {stated!r}"),
                expected=f"{units}, or one of {', '.join(conversions)}",
                remedy=f"set {channel}: {{name: {variable.name}, units: ...}}",
            )
        return conversions[_normalise_units(stated)]


def _variables_by_channel(
    channels: list[str], variables: Mapping[str, Any] | None
) -> dict[str, _Variable]:
    """The variable of each channel, in the order of the data; by default of the same name."""
    if variables is None:
        return {name: _Variable(name) for name in channels}
    for name in variables:
        if name not in channels:
            raise StpError(
                f"options: variables: no channel {name!r} in the data",
                expected=f"some of {', '.join(channels)}",
                remedy=suggest_name(name, channels),
            )
    mapped = {}
    for name in channels:
        if name in variables:
            stated = variables[name]
            stated = {"name": stated} if isinstance(stated, str) else stated
            if not isinstance(stated, dict) or not {"name"} <= set(stated) <= {*_Variable._fields}:
                raise StpError(
                    f"options: variables: {name}: {stated!r}",
                    expected="a name, or {name: ta, level: 850, units: degC}",
                )
            mapped[name] = _Variable(**stated)
    return mapped


def _level_axis(values: xr.DataArray) -> list[str]:
    """The dimension of a variable's levels; empty if it has one level, or none."""
    return [dim for dim in (own_levels(str(values.name)), "level") if dim in values.dims][:1]


def _levels(opened: xr.Dataset, name: str) -> np.ndarray | None:
    """Levels of a variable, hPa; None if it has none."""
    values = opened[name]
    (axis,) = _level_axis(values) or ["level"]
    if axis not in values.dims and not ("level" in values.coords and values["level"].ndim == 0):
        return None
    levels = np.atleast_1d(opened[axis].to_numpy().astype(float))
    return levels / 100 if str(opened[axis].attrs.get("units", "")).lower() in PASCAL else levels


def _units_of(data: Path) -> list[str] | None:
    """Units of the channels of prepared data; None if they are unknown."""
    store = data / "frames.zarr"
    if not has_array(store, "channel_units"):
        return None
    return list(map(str, read_array(store / "channel_units")))


def _normalise_units(units: str) -> str:
    """Write units in plain form: ``m**2 s**-2`` and ``m^2 s^-2`` become ``m2 s-2``."""
    return " ".join(units.replace("**", "").replace("^", "").split())


def _stores(raw: RawFiles) -> list[Path]:
    """The files and Zarr stores of an archive, checked against the lock file."""
    stores: dict[Path, None] = {}
    for name in raw.names:
        path = raw.find(name)
        inside = [parent for parent in path.parents if parent.suffix == ".zarr"]
        stores[inside[-1] if inside else path] = None
    return list(stores)


def open_source(
    request: ForecastRequest,
    variables: Mapping[str, Any] | None = None,
    names: Mapping[str, str] | None = None,
) -> Source:
    """Open the forecasts in a user's own files (`OwnFiles`).

    Args:
        request: clips, number of lead times and members, and the raw files (``archive``).
        variables: for each channel of the data, its name in the files, or ``{name, level, units}``;
            by default all channels whose names are in the files.
        names: unusual names of dimensions in the files, such as ``{"lead": "forecast_hour"}``.
    """
    return OwnFiles(request, variables, names or {})
