"""Files of forecasts, NetCDF, Zarr or GRIB, of any layout: opened with starts and lead times.

Usual names of dimensions and coordinates are known, and so are the standard names of the CF
conventions. Of the start, the lead time and the time that a forecast is valid for, any two will do.
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
"""Names of dimensions and coordinates that need not be stated. `time` is the start or the time that
a forecast is valid for."""
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
"""Units of lead times, without the s of the plural."""
DAY = np.timedelta64(1, "D")
_MINUTE = np.timedelta64(1, "m")
_GRIB_END = b"7777"
"""The last bytes of every message."""
_GRIB_PADDED = 4096
"""Bytes in which the last message ends: archives fill blocks up with zeros."""


def open_forecasts(path: Path, names: Mapping[str, str]) -> xr.Dataset:
    """Open a file; no field is read yet.

    Args:
        path: the file, or a Zarr store.
        names: of dimensions and coordinates, by what they are (`KNOWN`), where they are unusual.

    Returns:
        the file with coordinates start, datetime64, and lead, timedelta64, both of them dimensions
        of all variables; latitude and longitude; and member, level and valid_time where it has
        some.

    Raises:
        StpError: it is damaged; nothing says which of its dimensions is which; starts are no dates
            of the standard calendar; lead times have no unit, or one comes twice; or start, lead
            time and valid time contradict each other.
    """
    opened = _opened(path)
    found: dict[str, str] = {}
    for what, known in KNOWN.items():
        stated = (names[what],) if what in names else known
        name = _name_of(opened, stated, "" if what in names else STANDARD.get(what, ""))
        if name is not None and name not in found.values():
            found[what] = name
        elif what in ("latitude", "longitude") or what in names:
            raise _which(path, opened, what, stated)
    times = {what: opened[found.pop(what)] for what in TIMES if what in found}
    opened = opened.drop_vars([one.name for one in times.values() if one.name in opened.variables])
    renamed = {name: what for what, name in found.items() if name != what}
    opened = opened.drop_vars({*renamed.values(), *TIMES} & set(opened.coords)).rename(renamed)
    return _with_times(path, opened, times)


def _name_of(opened: xr.Dataset, known: tuple[str, ...], standard: str) -> str | None:
    """A dimension or coordinate by its name or its standard name; a dimension wins."""
    alike = [
        str(name)
        for name, variable in opened.variables.items()
        if standard and variable.attrs.get("standard_name") == standard
    ]
    named = [*known, *alike]
    found = [name for name in named if name in opened.dims]
    found += [name for name in named if name in opened.coords or name in alike]
    return found[0] if found else None


def _with_times(path: Path, opened: xr.Dataset, times: dict[str, xr.DataArray]) -> xr.Dataset:
    """Make start and lead time dimensions, from whichever two times the file has."""
    start, lead, valid = (times.get(what) for what in ("start", "lead", "valid"))
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
        what = "start" if start is None else "lead"
        raise _which(path, opened, what, KNOWN[what])
    if start.dims == lead.dims and start.ndim == 1:  # one of them is the same everywhere
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
    dims = {one.dims[0]: what for what, one in (("start", start), ("lead", lead)) if one.ndim}
    renamed = {dim: what for dim, what in dims.items() if dim != what and dim in opened.dims}
    opened = opened.rename_dims(renamed)
    for what, one in (("start", start), ("lead", lead), ("valid_time", valid)):
        if one is not None:
            at = [dims.get(dim, dim) for dim in one.dims]
            opened = opened.assign_coords({what: (at, one.to_numpy())})
    opened = opened.expand_dims([what for what in ("start", "lead") if what not in opened.dims])
    _check_times(path, opened)
    return opened


def _dates(path: Path, given: xr.DataArray, what: str) -> xr.DataArray:
    """Dates to the second, which fractions of days and hours are a little before or after."""
    values = given.to_numpy()
    first = values.flat[0] if values.size else None
    if isinstance(first, cftime.datetime):
        raise StpError(
            f"{path}: {what} are dates of the calendar {first.calendar}, which has other days than "
            "the data",
            expected="dates of the standard calendar",
            remedy="write the days that are meant: xarray's convert_calendar('standard'), or "
            "cdo -setcalendar,standard IN OUT",
        )
    if values.dtype.kind != "M":
        raise StpError(
            f"{path}: {what} are {values.ravel()[:2].tolist()}, in {given.name}",
            expected="dates, or numbers with units such as `hours since 1970-01-01`",
            remedy="write these units into the file, or see `names: {start: ...}`",
        )
    exact = (values + np.timedelta64(500, "ms")).astype("datetime64[s]")
    return xr.DataArray(exact, dims=given.dims)


def _spans(path: Path, given: xr.DataArray) -> xr.DataArray:
    """Lead times to the second."""
    values = given.to_numpy()
    if values.dtype.kind != "m":
        stated = given.attrs.get("units")
        unit = str(stated).strip().lower()
        seconds = SECONDS.get(unit, SECONDS.get(unit.removesuffix("s")))
        shown = f"{path}: lead times are {values.ravel()[:3].tolist()}"
        if values.dtype.kind not in "iuf" or (stated is not None and seconds is None):
            raise StpError(
                f"{shown}, in {stated!r}",
                expected="numbers of days, hours, minutes or seconds; months have no fixed length",
                remedy=f"write such numbers, and their unit as the attribute units of {given.name}",
            )
        if seconds is None:
            raise StpError(
                f"{shown}, without a unit",
                expected=f"the attribute units of {given.name}: days, hours, minutes or seconds",
                remedy=f"add it: ncatted -a units,{given.name},c,c,days FILE",
            )
        values = np.round(values * seconds).astype("timedelta64[s]")
    return xr.DataArray(values.astype("timedelta64[s]"), dims=given.dims)


def _check_times(path: Path, opened: xr.Dataset) -> None:
    """Refuse times that are missing, come twice, or contradict each other."""
    starts, spans = opened["start"].to_numpy(), opened["lead"].to_numpy()
    wrong = ""
    if np.isnat(starts).any() or np.isnat(spans).any():
        wrong = "a start or a lead time is missing"
    elif (early := spans < np.timedelta64(0, "s")).any():
        wrong = (
            f"the start {starts[0].astype('datetime64[h]')} is after its valid time (lead time "
            f"{spans[early][0] / DAY:g} days)"
        )
    elif "valid_time" in opened.coords:
        valid = opened["valid_time"]
        given = valid.notnull()
        if (given & (valid < opened["start"])).any():
            wrong = "a start is after its valid time"
        elif (given & (abs(valid - opened["start"] - opened["lead"]) > _MINUTE)).any():
            wrong = "valid times are not start and lead time together"
    if wrong:
        raise StpError(
            f"{path}: {wrong}",
            expected="lead times from 0, and valid time = start + lead time",
            remedy="correct its coordinates of start, lead time and valid time",
        )
    for what, values in (("start", starts), ("lead time", spans)):
        once, counts = np.unique(values, return_counts=True)
        if (counts > 1).any():
            twice = once[counts > 1][0]
            shown = f"{twice / DAY:g} days" if what == "lead time" else f"{twice}"
            raise StpError(
                f"{path}: the {what} {shown} comes {counts.max()} times",
                expected=f"each {what} once",
                remedy="take out all but one of these forecasts",
            )


def _which(path: Path, opened: xr.Dataset, what: str, known: tuple[str, ...]) -> StpError:
    return StpError(
        f"{path}: dimensions {', '.join(map(str, opened.sizes))}; which is {what}?",
        expected=f"one called {', '.join(known)}",
        remedy=f"say so: names: {{{what}: <name of the dimension>}}",
    )


def _opened(path: Path) -> xr.Dataset:
    """Open a file; times are decoded, and no field is read yet."""
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
        raise damaged(path, error) from error


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
                values = values.rename(isobaricInhPa=own_levels(str(name)))
                found[str(name)] = values
            else:  # of the same name on pressure levels and elsewhere, the former is meant
                found.setdefault(str(name), values)
    return xr.merge(found.values(), join="inner", combine_attrs="override")


def own_levels(name: str) -> str:
    """The dimension of the levels of a variable that need not be those of others."""
    return f"levels of {name}"


def damaged(path: Path, error: BaseException) -> StpError:
    """What is said of a file that cannot be read."""
    return StpError(
        f"{path}: cannot be read ({error or type(error).__name__})",
        expected="a complete NetCDF, Zarr or GRIB file of forecasts",
        remedy="replace it, or leave it out",
    )
