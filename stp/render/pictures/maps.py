"""Draw maps without a mapping library: coastlines, and degrees on the axes.

The coastlines are those of Natural Earth 1:110m, version 4.1.0 (public domain), from land-110m in
the npm package world-atlas 2.0.2, rounded to 0.01 degrees, without the edges of the map at 180
degrees.
"""

from functools import lru_cache
from pathlib import Path

import numpy as np

COASTLINE = Path(__file__).parent / "coastline.npz"


@lru_cache(maxsize=1)
def _lines() -> list[np.ndarray]:
    """Coastlines as arrays (points, 2) of longitude, -180..180, and latitude, in degrees."""
    with np.load(COASTLINE) as stored:
        points = stored["points"] / 100
        return np.split(points, stored["starts"][1:-1])


def coastline(west: float) -> tuple[np.ndarray, np.ndarray]:
    """The world's coastlines on a map with a given left edge.

    Args:
        west: longitude of the left edge, in degrees.

    Returns:
        longitudes, west..west + 360, and latitudes, in degrees, (n,) each, with NaN between lines.
    """
    lons, lats = [], []
    for line in _lines():
        lon = west + (line[:, 0] - west) % 360
        # A step over the edge of the map must not be drawn across it.
        cuts = np.flatnonzero(np.abs(np.diff(lon)) > 180) + 1
        lons += [np.append(part, np.nan) for part in np.split(lon, cuts)]
        lats += [np.append(part, np.nan) for part in np.split(line[:, 1], cuts)]
    return np.concatenate(lons), np.concatenate(lats)


def longitude(degrees: float) -> str:
    """Format a longitude: ``120°W``."""
    value = (degrees + 180) % 360 - 180
    return f"{abs(value):g}°" + ("" if value in (0, -180) else "E" if value > 0 else "W")


def latitude(degrees: float) -> str:
    """Format a latitude: ``30°S``."""
    return f"{abs(degrees):g}°" + ("" if degrees == 0 else "N" if degrees > 0 else "S")


def ticks(low: float, high: float, most: int) -> np.ndarray:
    """At most `most` round numbers of degrees between two bounds."""
    for step in (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 180):
        degrees = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
        if len(degrees) <= most:
            return np.round(degrees, 6)
    return np.array([])
