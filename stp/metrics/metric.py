"""What a metric is: statistics of single samples, and what is made of their mean.

Shape letters: N samples, K components, T lead times, C channels, H, W.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np


def first_component(means: np.ndarray) -> np.ndarray:
    """The mean itself is the value: (..., K, T) -> (..., T)."""
    return means[..., 0, :]


class Metric(NamedTuple):
    """One convention of one metric.

    Every value is ``finish(mean over samples of the per-sample statistics)``. So a metric can be
    accumulated in one pass, sums of parts can be merged in any order, and a bootstrap needs
    nothing but sums.

    Attributes:
        statistics: (predicted, observed), each float32 (N, T, C, H, W) in the dataset's units, to
            float64 (N, K, T'). NaN stays NaN. T' is T or shorter; the last entry always belongs to
            lead time T.
        finish: means over samples (..., K, T') to values (..., T'); NaN or infinite where there is
            no value.
        components: names of the K statistics.
        leads: the value for all lead times is the mean of the values per lead time ("mean"), or
            ``finish`` of the statistics averaged over lead times ("pool").
        no_value: why a value may be infinite or undefined although nothing is wrong with the data.
    """

    statistics: Callable[[np.ndarray, np.ndarray], np.ndarray]
    finish: Callable[[np.ndarray], np.ndarray] = first_component
    components: tuple[str, ...] = ("value",)
    leads: Literal["mean", "pool"] = "mean"
    no_value: str = ""
