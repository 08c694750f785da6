"""Open files of forecasts (NetCDF, Zarr or GRIB) of any layout, with starts and lead times.

Usual names of dimensions and coordinates and the standard names of the CF conventions are known.
Two of start, lead time and valid time are enough.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import cftime
import numpy as np
import xarray as xr

from stp.core.errors import StpError
from stp.prepare.own.field_files import DAMAGE, open_fields

GRIB = (".grib", ".grib2", ".grb", ".grb2")
KNOWN = {
    "start": ("start", "init_time", "initial_time", "forecast_reference_time", "init"),
    "lead": ("lead", "lead_time", "leadtime", "step", "prediction_timedelta", "forecast_period"),
    "valid": ("valid_time",),
    "time": ("time",),
    "member": ("member", "number", "realization", "ensemble", "ensemble_member"),
    "level": ("level", "plev", "pressure_level", "isobaricInhPa", "lev", "pressure"),
    "latitude": ("latitude", "lat"),
    "longitude": ("longitude", "lon"),
}
"""Known names of dimensions and coordinates. `time` is the start or the valid time."""
STANDARD = {
    "start": "forecast_reference_time",
    "lead": "forecast_period",
    "time": "time",
    "member": "realization",
    "level": "air_pressure",
    "latitude": "latitude",
    "longitude": "longitude",
}
"""The standard names of the CF conventions."""
TIMES = ("start", "lead", "valid", "time")
SECONDS = {
    **dict.fromkeys(("ns", "nsec", "nanosec", "nanosecond"), 1e-9),
    **dict.fromkeys(("us", "usec", "microsec", "microsecond"), 1e-6),
    **dict.fromkeys(("ms", "msec", "millisec", "millisecond"), 1e-3),
    **dict.fromkeys(("s", "sec", "second"), 1.0),
    **dict.fromkeys(("min", "minute"), 60.0),
    **dict.fromkeys(("h", "hr", "hour"), 3600.0),
    **dict.fromkeys(("d", "day"), 86400.0),
    "week": 7 * 86400.0,
}
"""Units of lead times in seconds, by singular."""
DAY = np.timedelta64(1, "D")
_MINUTE = np.timedelta64(1, "m")
_GRIB_END = b"7777"
"""Last bytes of every GRIB message."""
_GRIB_PADDED = 4096
"""Size of the end of a file that contains the end of the last message: archives pad blocks with
zeros."""


def open_forecasts(path: Path, names: Mapping[str, str]) -> xr.Dataset:
    """Open a file of forecasts without reading its fields.

    Args:
        path: path of the file or Zarr store.
        names: unusual names of dimensions and coordinates in the file, by what they are: ``start``,
            ``lead``, ``valid``, ``time``, ``member``, ``level``, ``latitude`` or ``longitude``. An
            example is ``{"lead": "forecast_hour"}``.

    Returns:
        the dataset with coordinates start, datetime64, and lead, timedelta64, which are dimensions
        of all variables, with latitude and longitude, and with member, level and valid_time if the
        file has them.

    Raises:
        StpError: the file is damaged; a dimension is unknown; starts are not dates of the standard
            calendar; lead times have no unit or are repeated; or start, lead time and valid time
            contradict each other.
    """
    opened = _open_file(path)
    name_of: dict[str, str] = {}
    for role, usual in KNOWN.items():
        candidates = (names[role],) if role in names else usual
        name = _name_of(opened, candidates, "" if role in names else STANDARD.get(role, ""))
        if name is not None and name not in name_of.values():
            name_of[role] = name
        elif role in ("latitude", "longitude") or role in names:
            raise _dimension_error(path, opened, role, candidates)
    times = {role: opened[name_of.pop(role)] for role in TIMES if role in name_of}
    opened = opened.drop_vars(
        [time.name for time in times.values() if time.name in opened.variables]
    )
    renamed = {name: role for role, name in name_of.items() if name != role}
    opened = opened.drop_vars({*renamed.values(), *TIMES} & set(opened.coords)).rename(renamed)
    return _with_times(path, opened, times)


def _name_of(opened: xr.Dataset, names: tuple[str, ...], standard: str) -> str | None:
    """A dimension, or else a coordinate, by its name or standard name."""
    alike = [
        str(name)
        for name, variable in opened.variables.items()
        if standard and variable.attrs.get("standard_name") == standard
    ]
    named = [*names, *alike]
    matches = [name for name in named if name in opened.dims]
    matches += [name for name in named if name in opened.coords or name in alike]
    return matches[0] if matches else None


def _with_times(path: Path, opened: xr.Dataset, times: dict[str, xr.DataArray]) -> xr.Dataset:
    """Make start and lead time dimensions, from any two times of the file."""
    start, lead, valid = (times.get(role) for role in ("start", "lead", "valid"))
    if (time := times.get("time")) is not None:
        is_valid = start is not None or (lead is not None and () != time.dims == lead.dims)
        if not is_valid:
            start = time
        elif valid is None:
            valid = time
    if lead is not None and lead.dtype.kind in "MO":  # each forecast by its valid time
        lead, valid = None, lead if valid is None else valid
    start = None if start is None else _dates(path, start, "starts")
    lead = None if lead is None else _spans(path, lead)
    valid = None if valid is None else _dates(path, valid, "valid times")
    if valid is not None and start is None and lead is not None:
        start = valid - lead
    elif valid is not None and lead is None and start is not None:
        lead = valid - start
    if start is None or lead is None:
        role = "start" if start is None else "lead"
        raise _dimension_error(path, opened, role, KNOWN[role])
    if start.dims == lead.dims and start.ndim == 1:  # one of them may be constant
        if len(np.unique(start)) == 1:
            start = start[0]
        elif len(np.unique(lead)) == 1:
            lead = lead[0]
    if max(start.ndim, lead.ndim) > 1 or (start.ndim and start.dims == lead.dims):
        raise StpError(
            f"{path}: starts along {', '.join(map(str, start.dims))}, and lead times along "
            f"{', '.join(map(str, lead.dims))}",
            expected="a dimension of starts and another one of lead times, or one of them alone",
            remedy="write a file for each start",
        )
    dims = {time.dims[0]: role for role, time in (("start", start), ("lead", lead)) if time.ndim}
    renamed = {dim: role for dim, role in dims.items() if dim != role and dim in opened.dims}
    opened = opened.rename_dims(renamed)
    for role, time in (("start", start), ("lead", lead), ("valid_time", valid)):
        if time is not None:
            at = [dims.get(dim, dim) for dim in time.dims]
            opened = opened.assign_coords({role: (at, time.to_numpy())})
    opened = opened.expand_dims([role for role in ("start", "lead") if role not in opened.dims])
    _check_times(path, opened)
    return opened


def _dates(path: Path, times: xr.DataArray, role: str) -> xr.DataArray:
    """Round dates to the second, since fractions of days and hours are inexact."""
    values = times.to_numpy()
    first = values.flat[0] if values.size else None
    if isinstance(first, cftime.datetime):
        raise StpError(
            f"{path}: {role} are dates of the calendar {first.calendar}, which has other days than "
            "the data",
            expected="dates of the standard calendar",
            remedy="convert the calendar: xarray's convert_calendar('standard'), or "
            "cdo -setcalendar,standard IN OUT",
        )
    if values.dtype.kind != "M":
        raise StpError(
            f"{path}: {role} are {values.ravel()[:2].tolist()}, in {times.name}",
            expected="dates, or numbers with units such as `hours since 1970-01-01`",
            remedy="write these units into the file, or name the coordinate: `names: {start: ...}`",
        )
    exact = (values + np.timedelta64(500, "ms")).astype("datetime64[s]")
    return xr.DataArray(exact, dims=times.dims)


def _spans(path: Path, leads: xr.DataArray) -> xr.DataArray:
    """Round lead times to the second."""
    values = leads.to_numpy()
    if values.dtype.kind != "m":
        stated = leads.attrs.get("units")
        unit = str(stated).strip().lower()
        seconds = SECONDS.get(unit, SECONDS.get(unit.removesuffix("s")))
        problem = f"{path}: lead times are {values.ravel()[:3].tolist()}"
        if values.dtype.kind not in "iuf" or (stated is not None and seconds is None):
            raise StpError(
                f"{problem}, in {stated!r}",
                expected="numbers of days, hours, minutes or seconds; months have no fixed length",
                remedy=f"write such numbers, and their unit as the attribute units of {leads.name}",
            )
        if seconds is None:
            raise StpError(
                f"{problem}, without a unit",
                expected=f"the attribute units of {leads.name}: days, hours, minutes or seconds",
                remedy=f"add it: ncatted -a units,{leads.name},c,c,days FILE",
            )
        values = np.round(values * seconds).astype("timedelta64[s]")
    return xr.DataArray(values.astype("timedelta64[s]"), dims=leads.dims)


def _check_times(path: Path, opened: xr.Dataset) -> None:
    """Refuse times that are missing, repeated or contradictory."""
    starts, spans = opened["start"].to_numpy(), opened["lead"].to_numpy()
    problem = ""
    if np.isnat(starts).any() or np.isnat(spans).any():
        problem = "a start or a lead time is missing"
    elif (early := spans < np.timedelta64(0, "s")).any():
        problem = (
            f"the start {starts[0].astype('datetime64[h]')} is after its valid time (lead time "
            f"{spans[early][0] / DAY:g} days)"
        )
    elif "valid_time" in opened.coords:
        valid = opened["valid_time"]
        present = valid.notnull()
        if (present & (valid < opened["start"])).any():
            problem = "a start is after its valid time"
        elif (present & (abs(valid - opened["start"] - opened["lead"]) > _MINUTE)).any():
            problem = "valid times are not start and lead time together"
    if problem:
        raise StpError(
            f"{path}: {problem}",
            expected="lead times from 0, and valid time = start + lead time",
            remedy="correct its coordinates of start, lead time and valid time",
        )
    for role, values in (("start", starts), ("lead time", spans)):
        unique, counts = np.unique(values, return_counts=True)
        if (counts > 1).any():
            repeated = unique[counts > 1][0]
            text = f"{repeated / DAY:g} days" if role == "lead time" else f"{repeated}"
            raise StpError(
                f"{path}: the {role} {text} comes {counts.max()} times",
                expected=f"each {role} once",
                remedy="remove all but one of these forecasts",
            )


def _dimension_error(path: Path, opened: xr.Dataset, role: str, names: tuple[str, ...]) -> StpError:
    return StpError(
        f"{path}: dimensions {', '.join(map(str, opened.sizes))}; which is {role}?",
        expected=f"one called {', '.join(names)}",
        remedy=f"set names: {{{role}: <name of the dimension>}}",
    )


def _open_file(path: Path) -> xr.Dataset:
    """Open a file and decode its times, without reading fields."""
    is_grib = path.suffix in GRIB
    if is_grib and "cfgrib" not in xr.backends.list_engines():
        raise StpError(
            f"{path}: a GRIB file, and cfgrib is not installed",
            expected="the package cfgrib with ecCodes",
            remedy="pip install 'stp[grib]', or convert the file: cdo -f nc4 copy IN OUT",
        )
    try:
        return _grib(path) if is_grib else open_fields(path)
    except DAMAGE as error:
        raise damage_error(path, error) from error


def _grib(path: Path) -> xr.Dataset:
    """Open a GRIB file, whose variables may have different levels, starts and lead times.

    cfgrib makes a dataset of variables with the same levels, and drops the others. Here each
    variable has a dimension of its own levels; starts and lead times are those of all variables.

    Raises:
        ValueError: the file ends early, which cfgrib ignores.
    """
    import cfgrib

    with path.open("rb") as file:
        file.seek(-min(_GRIB_PADDED, path.stat().st_size), os.SEEK_END)
        if not file.read().rstrip(b"\0").endswith(_GRIB_END):
            raise ValueError("the file ends within a message")
    options = {"indexpath": "", "squeeze": False}
    variables: dict[str, xr.DataArray] = {}
    for part in cfgrib.open_datasets(str(path), backend_kwargs=options, decode_timedelta=True):
        for name, values in part.data_vars.items():
            kept = {"number", "time", "step", "isobaricInhPa", "latitude", "longitude"}
            others = [dim for dim in values.dims if dim not in kept and values.sizes[dim] == 1]
            values = values.squeeze(others, drop=True).reset_coords(drop=True)
            if "isobaricInhPa" in values.dims:
                values = values.rename(isobaricInhPa=own_levels(str(name)))
                variables[str(name)] = values
            else:  # variables on pressure levels take precedence over others of their name
                variables.setdefault(str(name), values)
    return xr.merge(variables.values(), join="inner", combine_attrs="override")


def own_levels(name: str) -> str:
    """Name given to the level dimension of a variable that has other levels than the rest.

    Args:
        name: name of the variable.
    """
    return f"levels of {name}"


def damage_error(path: Path, error: BaseException) -> StpError:
    """Make the error about a file that cannot be read."""
    return StpError(
        f"{path}: cannot be read ({error or type(error).__name__})",
        expected="a complete NetCDF, Zarr or GRIB file of forecasts",
        remedy="replace the file, or remove it",
    )
