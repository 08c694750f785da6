"""Facts about the compared data that a convention may use besides the frames."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from stp.metrics.metric import Metric


class ComparedData(Protocol):
    """The data that forecasts are compared with: frames, or positions of people."""

    @property
    def folder(self) -> Path:
        """Folder of the prepared data."""

    @property
    def attrs(self) -> Mapping[str, Any]:
        """Units, variables, normalisation and the like."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of a frame."""

    @property
    def channels(self) -> np.ndarray:
        """Positions of the channels in the prepared data, int64 (C,)."""

    def only(self, channels: np.ndarray) -> Self:
        """Select channels by their positions in this object, from 0."""


class Comparison(NamedTuple):
    """Forecasts of one split and the data that they are about.

    Attributes:
        data: the prepared data.
        frames: index, in the frames of ``data``, of the frame that was observed at each sample and
            lead time, int64 (N, T).
        members: number of members of each forecast, 1 unless it is an ensemble.
        densities: kind of density, ``mixture`` or ``grid``, to the logarithms of the predicted
            densities at the observed positions of people, nats, (N, people, T); NaN where nobody
            is.
    """

    data: ComparedData
    frames: np.ndarray
    members: int = 1
    densities: Mapping[str, np.ndarray] = MappingProxyType({})


def on_data(metric: Metric, compared: Comparison) -> Metric:
    """Bind a convention to the data of a comparison."""
    return metric if metric.on_data is None else metric.on_data(metric, compared)
