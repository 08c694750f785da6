"""Weighted mean absolute percentage error (WMAPE), as a fraction."""

from typing import Literal

import numpy as np

from stp.metrics.metric import Metric
from stp.metrics.pixels import absolute_errors


def _sums(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    error = absolute_errors(predicted, observed)
    return np.stack([error, absolute_errors(observed, np.zeros_like(observed))], axis=1)


def _ratio(means: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(means[..., 0, :] / means[..., 1, :])


def _per_frame(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    sums = _sums(predicted, observed)
    # A frame without traffic has no percentage; infinite, and not NaN as bad data.
    return np.where(sums[:, 1:] == 0, np.inf, _ratio(sums)[:, None])


def wmape(*, ratio: Literal["pooled", "frames"]) -> Metric:
    """Sum of absolute errors divided by the sum of absolute observed values, as a fraction.

    Args:
        ratio: "pooled": one ratio of sums over samples, lead times, C, H and W (PredBench, appendix
            B, equation 1; its code has a ratio for each batch and averages these); "frames": mean
            over frames of the ratio of each frame, so that quiet hours count as much as busy ones.
    """
    none = "nothing was observed but zeros"
    if ratio == "frames":
        return Metric(_per_frame, no_value=none)
    return Metric(
        _sums, finish=_ratio, components=("error", "observed"), leads="pool", no_value=none
    )
