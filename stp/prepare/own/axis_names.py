"""Recognise names of dimensions and coordinates of grids."""

from pathlib import Path

import numpy as np
import xarray as xr

from stp.core.errors import RawFileError

USUAL_NAMES = {
    "time": ("time", "valid_time", "t", "date"),
    "y": ("lat", "latitude", "y", "nlat", "south_north", "rlat"),
    "x": ("lon", "longitude", "x", "nlon", "west_east", "rlon"),
    "level": ("level", "plev", "pressure_level", "isobaricInhPa", "lev", "depth", "height"),
}
"""Usual names of dimensions, which need not be configured."""
RIGHT = np.pi / 2 + 1e-6
"""A right angle, in radians."""
# CF attributes of coordinates.
DEGREES = {
    "lat": {"standard_name": "latitude", "units": "degrees_north"},
    "lon": {"standard_name": "longitude", "units": "degrees_east"},
}


def _is_counted(values: np.ndarray) -> bool:
    """Whether values are 0, 1, 2, ... or 1, 2, 3, ..."""
    numbers = np.arange(values.size)
    return any(np.array_equal(values.ravel(), numbers + first) for first in (0, 1))


def require_directions(path: Path, field: xr.DataArray) -> None:
    """Refuse latitudes in degrees east, and longitudes in degrees north.

    Args:
        path: file of the field, for the error.
        field: field with axes y and x, whose original names are its attributes stp_y and stp_x.

    Raises:
        StpError: the units of a coordinate contradict its name.
    """
    for axis in {"y", "x"} & field.coords.keys():
        name, units = field.attrs[f"stp_{axis}"], str(field[axis].attrs.get("units", ""))
        for short, other in (("lat", "east"), ("lon", "north")):
            if short in name and units.lower().endswith(other):
                raise RawFileError(
                    path,
                    f"{name} is in {units}",
                    expected=DEGREES[short]["units"],
                    remedy="rename the coordinates if lat and lon are exchanged, or correct the "
                    "units",
                )


def coordinate_name(name: str, values: xr.DataArray) -> str:
    """Choose the name of a coordinate in prepared data: ``lat`` and ``lon`` only for degrees.

    Metrics weight rows by the coordinate ``lat``, so radians and numbers of rows must not have this
    name.

    Args:
        name: name of the dimension in the raw file.
        values: values of the coordinate.
    """
    units, largest = str(values.attrs.get("units", "")), float(abs(values).max())
    for short, most in (("lat", 90.0), ("lon", np.inf)):
        # Without units, such small latitudes are radians, or so near the equator that weights
        # hardly matter; and 0, 1, 2, ... are numbers of rows.
        is_degrees = units.startswith(("deg", "°")) if units else short == "lon" or largest > RIGHT
        is_degrees &= bool(units) or not _is_counted(values.to_numpy())
        if short in name and name != f"n{short}" and is_degrees and largest <= most:
            return short
    return f"{name}_" if name in ("frame", "channel", *DEGREES) else name
