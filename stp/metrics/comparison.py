"""What a metric may need besides frames: units, variables, grid and climatology of the data."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from stp.metrics.metric import Metric


class ComparedData(Protocol):
    """The prepared data to which forecasts are compared: frames, or positions of people."""

    @property
    def folder(self) -> Path:
        """Folder of the prepared data."""

    @property
    def attrs(self) -> Mapping[str, Any]:
        """Attributes of the prepared data, such as units, variables and normalisation."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape (C, H, W) of a frame."""

    @property
    def channels(self) -> np.ndarray:
        """Indices of the channels in the prepared data, int64 (C,)."""

    def only(self, channels: np.ndarray) -> Self:
        """The same data with only some channels, given by their indices in this object, from 0."""


class Comparison(NamedTuple):
    """Prepared data of a split, and facts about the forecasts that are compared to them.

    Attributes:
        data: the prepared data.
        frames: index in ``data`` of the observed frame of each sample and lead time, int64 (N, T).
        members: number of ensemble members of each forecast; 1 for single forecasts.
        densities: predicted log-densities at the observed positions of people, nats, (N, people,
            T), by kind of density, ``mixture`` or ``grid``; NaN for absent people.
    """

    data: ComparedData
    frames: np.ndarray
    members: int = 1
    densities: Mapping[str, np.ndarray] = MappingProxyType({})


def on_data(metric: Metric, compared: Comparison) -> Metric:
    """Adapt a metric to prepared data: to their units, variables, grid or climatology.

    Args:
        metric: the metric.
        compared: the prepared data to which the metric is adapted, and facts about the forecasts.

    Returns:
        the adapted metric; ``metric`` itself if it needs nothing but the frames.
    """
    return metric if metric.on_data is None else metric.on_data(metric, compared)
