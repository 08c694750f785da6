"""Parts of the globe that are scored alone: boxes of latitudes and longitudes.

Borders belong to a box. Weights are those of the latitudes in it; points outside have no part.
"""

from typing import NamedTuple

import numpy as np

from stp.metrics.comparison import ComparedData, Comparison
from stp.metrics.latitude import coordinate, per_variable, weights_of
from stp.metrics.metric import Metric


class Box(NamedTuple):
    """Degrees north and east; a box may lie across the meridian of Greenwich."""

    south: float
    north: float
    west: float = 0.0
    east: float = 360.0


BOXES = {
    "tropics": Box(-20, 20),
    "northern_extratropics": Box(20, 90),
    "southern_extratropics": Box(-90, -20),
    "europe": Box(35, 75, -12.5, 42.5),
    "north_america": Box(25, 60, -120, -75),
}
"""The boxes of WeatherBench 2 (https://doi.org/10.1029/2023MS004019)."""


class Cut(NamedTuple):
    """How a part is cut out of fields.

    Attributes:
        weights: of its latitudes, (h,).
        rows, columns: of the grid.
    """

    weights: np.ndarray
    rows: slice = slice(None)
    columns: slice | np.ndarray = slice(None)

    def __call__(self, fields: np.ndarray) -> np.ndarray:
        """The part of fields (..., H, W): (..., h, w)."""
        return fields[..., self.rows, self.columns]


def within(
    metric: Metric, compared: Comparison, region: str, parts: tuple[str, ...] = ()
) -> tuple[Metric, Cut | None]:
    """Give a metric one series for each channel, of a region or the whole globe.

    Args:
        metric: of any grid.
        compared: for the coordinates of the data.
        region: one of ``BOXES``; empty: the globe.
        parts: names of the components of one channel, if there are several.

    Returns:
        It, and what is cut out of fields; or one with a reason, and None.
    """
    bound = per_variable(metric, compared, parts)
    weights = weights_of(compared.data)
    if weights is None:
        return bound, None
    if not region:
        return bound, Cut(weights)
    cut = _cut(compared.data, weights, BOXES[region])
    if cut is None:
        why = "the prepared data have no coordinate lon, or no points in the region"
        return bound._replace(reason=why), None
    return bound, cut


def _cut(data: ComparedData, weights: np.ndarray, box: Box) -> Cut | None:
    latitudes, longitudes = coordinate(data, "lat"), coordinate(data, "lon")
    if latitudes is None or longitudes is None or longitudes.shape != data.shape[2:]:
        return None
    rows = np.flatnonzero((latitudes >= box.south) & (latitudes <= box.north))
    # Degrees east of the western border: successive columns also across Greenwich.
    east = (longitudes - box.west) % 360
    inside = np.flatnonzero(east <= box.east - box.west)
    if not len(rows) or not len(inside):
        return None
    columns: slice | np.ndarray = inside[np.argsort(east[inside])]
    if len(inside) == len(longitudes):
        columns = slice(None)
    here = slice(int(rows[0]), int(rows[-1]) + 1)
    return Cut(weights[here], here, columns)
