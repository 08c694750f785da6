"""The archive of the forecasts of a trained model, as ChaosBench releases it.

There are archives of PanguWeather, GraphCast and FourCastNetV2, run from 24 starts a year. An
archive has a Zarr group for each start, in the parts of one tar stream, with a variable for each
level, such as `t-850`, of (step, latitude, longitude), without the start itself. Values are means
over 6 x 6 points of 0.25 degrees. The coordinates in the groups differ from the grid of ChaosBench:
longitudes are shifted by 0.625 degrees, and latitudes run from 89.375 to -89.125. Published scores
ignore this and compare values with the same index.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from scipy.interpolate import CubicSpline

from stp.core.errors import ConfigurationError, StpError
from stp.data.daily_fields import (
    HEIGHT,
    SAME,
    STANDARD_GRAVITY,
    Grid,
    check_times,
    check_units,
)
from stp.predict.source import ForecastRequest, Source
from stp.predict.sources.centre_archive import CentreArchive

OPTIONS = ("gravity", "placement")
DAMAGE = (OSError, ValueError, KeyError, RuntimeError)


class LearnedArchive(CentreArchive):
    """Published forecasts of a trained model, in an archive of ChaosBench.

    Args:
        request: request for forecasts.
        gravity: number by which the archive divided geopotential to get heights, m s-2.
        placement: "coordinates": values are interpolated from the coordinates of the groups onto
            the grid; "index": values are assigned to the grid points with the same index, as in the
            published scores.

    Raises:
        StpError: as in `CentreArchive`; or a grid cannot be interpolated.
    """

    _first_step = 0

    def __init__(self, request: ForecastRequest, gravity: float, placement: str) -> None:
        if placement not in ("coordinates", "index"):
            raise ConfigurationError(
                f"options: placement: {placement!r}", expected="coordinates or index"
            )
        self._placement = placement
        super().__init__(request, ensemble=False, gravity=gravity)

    def _fields(
        self, name: str, opened: xr.Dataset, variables: dict[str, list[int]], at: dict[str, Any]
    ) -> np.ndarray:
        """Fields of variables, float32 (steps, C, rows, columns); NaN where a group lacks them."""
        places = list(at["step"])
        lat, lon = (opened[axis].to_numpy().astype(float) for axis in ("latitude", "longitude"))
        by_index = self._placement == "index"
        if by_index and (len(lat), len(lon)) != self._grid:
            raise _other_grid(name, lat, lon, self._grid)
        empty = np.full((len(places), len(lat), len(lon)), np.nan, np.float32)
        parts = []
        for variable, levels in variables.items():
            stored = [
                self._read_variable(name, opened, f"{variable}-{level}", places) for level in levels
            ]
            fields = np.stack([empty if field is None else field for field in stored], axis=1)
            if variable == HEIGHT and self._gravity != STANDARD_GRAVITY:
                fields = fields * np.float32(self._gravity / STANDARD_GRAVITY)
            check_units(name, variable, levels, fields)
            parts.append(fields if by_index else onto_grid(name, fields, lat, lon, self._grid))
        return np.concatenate(parts, axis=1)

    def _read_variable(
        self, name: str, opened: xr.Dataset, variable: str, places: Sequence[int]
    ) -> np.ndarray | None:
        """A variable at some steps; None if the group lacks it."""
        if variable not in opened:
            return None
        values = opened[variable]
        dims = ("step", "latitude", "longitude")
        if set(values.dims) != set(dims):
            raise StpError(
                f"{name}: {variable} has dimensions {', '.join(map(str, values.dims))}",
                expected=", ".join(dims),
                remedy="fetch the official archive",
            )
        try:
            read = values.transpose(*dims).isel(step=places).to_numpy()
        except DAMAGE as error:
            raise StpError(
                f"{name}: {variable} cannot be read ({error})",
                expected="a Zarr group of one start, as the release has it",
                remedy="fetch the official parts again",
            ) from error
        return np.asarray(read, np.float32)

    def _check(self, name: str, opened: xr.Dataset) -> None:
        """Refuse a group with too few steps, or whose steps or times are not successive days."""
        missing = [axis for axis in ("latitude", "longitude") if axis not in opened.coords]
        steps, leads = opened.sizes.get("step", 0), self._request.lead_times
        if missing or steps < leads:
            raise StpError(
                f"{name}: {steps} steps" + (f", no coordinate {missing[0]}" if missing else ""),
                expected=f"{leads} steps, latitudes and longitudes",
                remedy="fetch the official archive",
            )
        if "step" in opened.coords:
            values = opened["step"].to_numpy()[:leads].astype(np.int64)
            if values[0] <= 0 or (values != values[0] * np.arange(1, leads + 1)).any():
                raise StpError(
                    f"{name}: steps are {values[:3].tolist()}, ...",
                    expected="successive days from the first after the start",
                    remedy="fetch the official archive",
                )
        check_times(name, opened, np.arange(1, 1 + leads))


def onto_grid(
    name: str, fields: np.ndarray, lat: np.ndarray, lon: np.ndarray, grid: Grid
) -> np.ndarray:
    """Interpolate fields onto a shifted grid.

    Along longitudes, the Fourier series of a field is shifted, which preserves the power of each
    wave except the shortest; along latitudes, fields are interpolated by cubic splines. Grid points
    beyond the last latitude get the values at that latitude.

    Args:
        name: source of the fields, for errors.
        fields: fields, (..., H, W); rows without values at the ends of H are ignored, and fields
            without values stay NaN.
        lat: latitudes, degrees north, (H,), equally spaced, ascending or descending.
        lon: longitudes, degrees east, (W,), equally spaced, once around the globe.
        grid: grid of the result, with W columns.

    Returns:
        interpolated fields, float32 (..., rows, columns).

    Raises:
        StpError: the latitudes do not reach within one row of the poles, or the longitudes do not
            fit the grid.
    """
    if lat[0] < lat[-1]:
        fields, lat = fields[..., ::-1, :], lat[::-1]
    values = np.isfinite(fields).any(axis=(*range(fields.ndim - 2), -1))
    rows_with_values = np.flatnonzero(values)
    if not len(rows_with_values):
        return np.full((*fields.shape[:-2], grid.rows, grid.columns), np.nan, np.float32)
    rows = slice(rows_with_values[0], rows_with_values[-1] + 1)
    fields, lat = fields[..., rows, :], lat[rows]
    cell = 360 / grid.columns
    even = np.ptp(np.diff(lat)) < SAME and np.abs(np.diff(lon) % 360 - cell).max() < SAME
    reaches = abs(grid.lat[0] - lat[0]) < cell and abs(grid.lat[-1] - lat[-1]) < cell
    if len(lon) != grid.columns or not even or not reaches or len(lat) < 4:
        raise _other_grid(name, lat, lon, grid)
    shift = -lon[0] % 360
    wave = np.arange(grid.columns // 2 + 1)
    turn = np.exp(1j * wave * np.deg2rad(shift))
    turned = np.fft.irfft(np.fft.rfft(fields, axis=-1) * turn, n=grid.columns, axis=-1)
    # Splines need finite values.
    interpolated = np.full((*fields.shape[:-2], grid.rows, grid.columns), np.nan, np.float32)
    whole = np.isfinite(turned).all(axis=(-2, -1))
    at = np.clip(grid.lat, lat[-1], lat[0])
    interpolated[whole] = CubicSpline(lat[::-1], turned[whole][..., ::-1, :], axis=-2)(at)
    return interpolated


def _other_grid(name: str, lat: np.ndarray, lon: np.ndarray, grid: Grid) -> StpError:
    return StpError(
        f"{name}: {len(lat)} latitudes {lat[0]:g} to {lat[-1]:g}, {len(lon)} longitudes from "
        f"{lon[0]:g}",
        expected=f"latitudes to within a row of the poles, and {grid.columns} longitudes around "
        "the globe, equally spaced",
        remedy="fetch the official archive",
    )


def open_source(
    request: ForecastRequest, gravity: float = STANDARD_GRAVITY, placement: str = "coordinates"
) -> Source:
    """Open the published forecasts of a trained model (`LearnedArchive`).

    Args:
        request: request for forecasts.
        gravity: number by which the archive divided geopotential to get heights, m s-2.
        placement: "coordinates" interpolates values onto the grid of the data; "index" assigns them
            to the grid points with the same index, as in the published scores.
    """
    return LearnedArchive(request, gravity, placement)
