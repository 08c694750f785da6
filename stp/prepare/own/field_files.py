"""Open NetCDF files and Zarr stores of users, with times decoded as dates."""

import re
from collections.abc import Iterable
from pathlib import Path

import cftime
import numpy as np
import xarray as xr
import zarr

from stp.core.errors import RawFileError, StpError
from stp.data.zarr_codecs import check_codecs
from stp.prepare.netcdf import require_whole

DAMAGE = (
    *(OSError, EOFError, ValueError, RuntimeError, KeyError, TypeError, AttributeError),
    OverflowError,
)
"""Exceptions of xarray and its backends for damaged files."""
_MONTHS = re.compile(r"\s*(month|year)s?\s+since\s+(\S.*)", re.IGNORECASE)
_DAYS_OF_ALL_MONTHS = 28


def open_fields(path: Path) -> xr.Dataset:
    """Open a NetCDF file or a Zarr store lazily: times as dates, lead times as numbers.

    Raises:
        StpError: times are fractions of months.
        DAMAGE: the file is damaged or cut off (`DAMAGE` lists the exceptions of the libraries).
    """
    if path.suffix == ".zarr":
        check_codecs(path)
        opened = xr.open_zarr(path, consolidated=False, chunks=None, decode_times=False)
    else:
        require_whole(path)
        opened = xr.open_dataset(path, engine="netcdf4", cache=False, decode_times=False)
    for name in opened.variables:
        opened = _with_days(opened, str(name), path)
    # Values are unpacked already, and would be for a second time.
    return xr.decode_cf(opened, mask_and_scale=False, decode_timedelta=False)


def require_chunks(path: Path, opened: xr.Dataset, names: Iterable[str]) -> None:
    """Refuse variables of a Zarr store if missing chunks would be read as valid numbers.

    Args:
        path: path of the store, or of a NetCDF file, which is not checked.
        opened: the open store.
        names: names of the variables.

    Raises:
        StpError: a chunk is missing, and its fill value is not a code for missing values.
        DAMAGE: the store is damaged (`DAMAGE` lists the exceptions of the libraries).
    """
    if path.suffix != ".zarr":
        return
    store = zarr.open_group(path, mode="r", use_consolidated=False)
    for name in names:
        array = store[name]
        assert isinstance(array, zarr.Array)
        lost = array.nchunks - array.nchunks_initialized
        declared = [opened[name].encoding.get(key) for key in ("_FillValue", "missing_value")]
        fill = np.asarray(array.fill_value)
        is_missing = fill.dtype.kind == "f" and np.isnan(fill)
        if lost > 0 and not is_missing and fill not in declared:
            raise RawFileError(
                path,
                f"{lost} of {array.nchunks} chunks of {name} are missing, and read as {fill}",
                expected="all chunks",
                remedy=f"copy the store again; if they are {fill}, write them (zarr.config: "
                "array.write_empty_chunks)",
            )


def _with_days(opened: xr.Dataset, name: str, path: Path) -> xr.Dataset:
    """Convert a variable in months or years since a date to days.

    Months differ in length, so xarray decodes them only in the 360-day calendar.
    """
    times = opened[name]
    stated = _MONTHS.fullmatch(str(times.attrs.get("units", "")))
    calendar = str(times.attrs.get("calendar", "standard")).lower()
    if stated is None or calendar == "360_day":
        return opened
    months = times.to_numpy() * (12 if stated[1].lower() == "year" else 1)
    units = f"days since {stated[2]}"
    origin = cftime.num2date(0, units, calendar)
    if not (np.equal(np.mod(months, 1), 0).all() and origin.day <= _DAYS_OF_ALL_MONTHS):
        raise StpError(
            f"{path}: {name} is in {times.attrs['units']!r}, from {months.flat[0]:g} months on, "
            "but months differ in length",
            expected=f"whole months from one of the first {_DAYS_OF_ALL_MONTHS} days of a month, "
            "or days, hours or seconds",
            remedy="write the times in days (cdo -settunits,days IN OUT) or as dates",
        )
    counted = origin.year * 12 + origin.month - 1 + months.astype(np.int64)
    dates = [origin.replace(year=n // 12, month=n % 12 + 1) for n in counted.ravel().tolist()]
    days = np.reshape(cftime.date2num(dates, units, calendar), months.shape)
    return opened.assign({name: (times.dims, days, {**times.attrs, "units": units})})
