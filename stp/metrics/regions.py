"""Regions of the globe that are scored separately: boxes of latitudes and longitudes.

A box includes its borders. Its grid points keep their latitude weights; points outside are
excluded.
"""

from typing import NamedTuple

import numpy as np

from stp.core.errors import StpError, suggest_name
from stp.metrics.comparison import ComparedData, Comparison, on_data
from stp.metrics.latitude import Box, coordinate
from stp.metrics.metric import Metric


class Borders(NamedTuple):
    """Borders of a box in degrees north and east; a box may cross the Greenwich meridian."""

    south: float
    north: float
    west: float = 0.0
    east: float = 360.0


BOXES = {
    "tropics": Borders(-20, 20),
    "northern_extratropics": Borders(20, 90),
    "southern_extratropics": Borders(-90, -20),
    "europe": Borders(35, 75, -12.5, 42.5),
    "north_america": Borders(25, 60, -120, -75),
}
"""The boxes of WeatherBench 2 (https://doi.org/10.1029/2023MS004019)."""


def compose(metric: Metric, region: str) -> Metric:
    """Restrict a metric to a box of latitudes and longitudes.

    Args:
        metric: a metric of fields on a latitude-longitude grid.
        region: name of the box, one of the keys of ``BOXES``, such as "tropics" or "europe".

    Raises:
        StpError: no box has this name.
    """
    if region not in BOXES:
        raise StpError(
            f"unknown region {region!r}",
            expected=", ".join(BOXES),
            remedy=suggest_name(str(region), BOXES),
        )

    def bind(_: Metric, compared: Comparison) -> Metric:
        box = box_of(compared.data, BOXES[region])
        if box is None:
            bound = on_data(metric, compared)
            why = "the prepared data have no coordinate lon, or no points in the region"
            return bound._replace(reason=bound.reason or why)
        bound = on_data(metric, compared._replace(data=box))
        transform = bound.transform

        def statistics(
            predicted: np.ndarray, observed: np.ndarray, *further: np.ndarray
        ) -> np.ndarray:
            if transform is None:
                predicted, observed = box.cut(predicted), box.cut(observed)
            if bound.with_context:
                further = (*further[:-1], box.cut(further[-1]))
            return bound.statistics(predicted, observed, *further)

        def of_box(frames: np.ndarray, observed: np.ndarray) -> np.ndarray:
            assert transform is not None
            return transform(box.cut(frames), box.cut(observed))

        return bound._replace(statistics=statistics, transform=of_box if transform else None)

    return metric._replace(on_data=bind)


def box_of(data: ComparedData, borders: Borders) -> Box | None:
    """The part of a grid within borders; None if it has no coordinates or no points there."""
    latitudes, longitudes = coordinate(data, "lat"), coordinate(data, "lon")
    if latitudes is None or latitudes.shape != data.shape[1:2]:
        return None
    if longitudes is None or longitudes.shape != data.shape[2:]:
        return None
    rows = np.flatnonzero((latitudes >= borders.south) & (latitudes <= borders.north))
    # Degrees east of the western border: successive columns also across Greenwich.
    east = (longitudes - borders.west) % 360
    inside = np.flatnonzero(east <= borders.east - borders.west)
    if not len(rows) or not len(inside):
        return None
    columns: slice | np.ndarray = inside[np.argsort(east[inside])]
    if len(inside) == len(longitudes):
        columns = slice(None)
    return Box(data, slice(int(rows[0]), int(rows[-1]) + 1), columns)
