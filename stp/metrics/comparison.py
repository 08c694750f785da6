"""What a convention may know of a comparison besides the frames."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from stp.metrics.metric import Metric


class ComparedData(Protocol):
    """What metrics ask of the data that forecasts are about: frames, or positions of people."""

    @property
    def folder(self) -> Path:
        """Of the prepared data."""

    @property
    def attrs(self) -> Mapping[str, Any]:
        """Units, variables, normalisation and the like."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of a frame."""

    @property
    def channels(self) -> np.ndarray:
        """Numbers of the channels in the folder, int64."""

    def only(self, channels: np.ndarray) -> Self:
        """The same for some of the channels, by their numbers here, from 0."""


class Comparison(NamedTuple):
    """Forecasts of one split and the data that they are about.

    Attributes:
        data: the prepared data.
        frames: number of the observed frame in ``data.frames`` of each sample and lead time,
            int64 (N, T).
        members: members of each forecast, 1 unless it is an ensemble.
        densities: of people, where they are predicted as a ``mixture`` or on a ``grid``: its
            logarithm where they went, (N, people, T), nats; NaN where nobody is.
    """

    data: ComparedData
    frames: np.ndarray
    members: int = 1
    densities: Mapping[str, np.ndarray] = MappingProxyType({})


def on_data(metric: Metric, compared: Comparison) -> Metric:
    """Turn a convention into the one for certain data."""
    return metric if metric.on_data is None else metric.on_data(metric, compared)
