"""Weights of latitudes and names of variables, for metrics on the globe."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from stp.data.zarr_rows import MappedRows
from stp.metrics.comparison import ComparedData, Comparison
from stp.metrics.metric import Metric, Series


@dataclass(frozen=True)
class Box:
    """Prepared data on a latitude-longitude grid, cut to a box, such as Europe.

    It is used like the data themselves (`stp.metrics.comparison.ComparedData`).

    Attributes:
        whole: the data of the whole grid.
        rows, columns: rows (latitudes) and columns (longitudes) of the grid that are in the box.
    """

    whole: ComparedData
    rows: slice
    columns: slice | np.ndarray

    @property
    def folder(self) -> Path:
        """Folder of the prepared data."""
        return self.whole.folder

    @property
    def attrs(self) -> Mapping[str, Any]:
        """Attributes of the prepared data, such as units, variables and normalisation."""
        return self.whole.attrs

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape (C, H, W) of a frame of the box."""
        channels, height, width = self.whole.shape
        across = np.arange(width)[self.columns]
        return channels, len(range(*self.rows.indices(height))), len(across)

    @property
    def channels(self) -> np.ndarray:
        """Indices of the channels in the prepared data, int64 (C,)."""
        return self.whole.channels

    def only(self, channels: np.ndarray) -> Self:
        """The same box with only some channels, given by their indices in this object, from 0."""
        return replace(self, whole=self.whole.only(channels))

    def cut(self, fields: np.ndarray) -> np.ndarray:
        """Cut fields of the whole grid, (..., H, W), to the box, (..., h, w)."""
        return fields[..., self.rows, self.columns]


def cosine_weights(latitudes: np.ndarray) -> np.ndarray:
    """Cosine of latitudes, in degrees, divided by its mean: float64 (H,).

    This is equation 4 in PredBench's appendix B. On grids with equal steps in degrees the weights
    are proportional to the areas of grid boxes.
    """
    weights = np.cos(np.deg2rad(np.asarray(latitudes, np.float64)))
    return np.asarray(weights / weights.mean())


def coordinate(data: ComparedData, name: str) -> np.ndarray | None:
    """Read a coordinate of prepared frames, such as ``lat``, 1-D; None if it is missing."""
    folder = data.folder / "frames.zarr" / name
    if not (folder / "zarr.json").exists():
        return None
    rows = MappedRows(folder)
    return rows.read(0, len(rows))


def weights_of(data: ComparedData) -> np.ndarray | None:
    """Weights of the rows of the data's grid, (H,); None without a coordinate ``lat``.

    A weight is the cosine of the row's latitude, divided by the mean cosine of all rows
    (`cosine_weights`). If the data are cut to a box, this is the mean over the whole grid.
    """
    if isinstance(data, Box):
        weights = weights_of(data.whole)
        return None if weights is None else weights[data.rows]
    latitudes = coordinate(data, "lat")
    if latitudes is None or latitudes.shape != data.shape[1:2]:
        return None
    return cosine_weights(latitudes)


def variables_of(data: ComparedData) -> tuple[str, ...]:
    """Names of the channels as papers write them, such as ``z500`` for ``z_500``."""
    count = data.shape[0]
    names = data.attrs.get("variables") or [f"channel{c}" for c in range(count)]
    levels = coordinate(data, "level")
    if levels is None:
        return tuple(names)
    levels = levels[data.channels]
    return tuple(
        name.removesuffix(f"_{level:g}") + f"{level:g}" if np.isfinite(level) else name
        for name, level in zip(names, levels, strict=True)
    )


def has_own_units(data: ComparedData) -> bool:
    """Whether variables have different units, so that a mean over them is meaningless."""
    return data.attrs.get("units") == "physical" and data.shape[0] > 1


def of_units(metric: Metric, compared: Comparison, parts: tuple[str, ...] = ()) -> Metric:
    """Give a metric a value for each variable if variables have different units.

    Args:
        metric: metric whose ``statistics`` are P numbers for each of C channels, the numbers of a
            channel adjacent, (N, C * P, T).
        compared: forecasts and data, whose channels have units and names.
        parts: names of the P numbers, such as ``("forecast", "climatology")`` for a skill score;
            empty if P is 1.

    Returns:
        the metric. If units differ, it has a value for each variable (channel). Otherwise it has
        one value, and its ``statistics`` are the means over channels, (N, P, T).
    """
    of_channels, count = metric.statistics, max(1, len(parts))
    bound = metric._replace(components=parts or ("value",))
    if has_own_units(compared.data):
        variables = variables_of(compared.data)
        return bound._replace(series=tuple(Series(variable=v) for v in variables))

    def statistics(*frames: np.ndarray) -> np.ndarray:
        by_channel = of_channels(*frames)
        return np.asarray(
            by_channel.reshape(len(by_channel), -1, count, by_channel.shape[-1]).mean(axis=1)
        )

    return bound._replace(statistics=statistics)


def per_variable(metric: Metric, compared: Comparison, parts: tuple[str, ...] = ()) -> Metric:
    """Give a metric on a latitude-longitude grid a value for each variable.

    The statistics of the metric already belong to single channels, and are not changed. This
    function only states to which variable they belong.

    Args:
        metric: metric whose ``statistics`` are P numbers for each of C channels, the numbers of a
            channel adjacent, (N, C * P, T).
        compared: forecasts and data, whose coordinate ``lat`` is needed.
        parts: names of the P numbers, such as ``("forecast", "climatology")`` for a skill score;
            empty if P is 1.

    Returns:
        the metric, with a value for each variable (channel). If the data have no latitudes, it has
        no values, and its ``reason`` says so.
    """
    variables = variables_of(compared.data)
    bound = metric._replace(
        components=parts or ("value",), series=tuple(Series(variable=v) for v in variables)
    )
    if weights_of(compared.data) is None:
        return bound._replace(reason="the prepared data have no coordinate lat (degrees north)")
    return bound
