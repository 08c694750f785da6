"""What a convention may know of a comparison besides the frames."""

from typing import NamedTuple

import numpy as np

from stp.data.prepared import Prepared
from stp.metrics.metric import Metric


class Comparison(NamedTuple):
    """Forecasts of one split and the data that they are about.

    Attributes:
        data: the prepared data.
        frames: number of the observed frame in ``data.frames`` of each sample and lead time,
            int64 (N, T).
        members: members of each forecast, 1 unless it is an ensemble.
    """

    data: Prepared
    frames: np.ndarray
    members: int = 1


def on_data(metric: Metric, compared: Comparison) -> Metric:
    """Turn a convention into the one for certain data."""
    return metric if metric.on_data is None else metric.on_data(metric, compared)
