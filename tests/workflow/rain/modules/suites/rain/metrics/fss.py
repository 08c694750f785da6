"""Fractions skill score (Roberts and Lean 2008) at thresholds, over squares of several sizes."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy.ndimage import uniform_filter

from stp.metrics.metric import Metric, Series


def fractions(
    predicted: np.ndarray, observed: np.ndarray, thresholds: Sequence[float], scale: int
) -> np.ndarray:
    """Squares of differences of fractions, and their reference, at each threshold.

    Args:
        predicted, observed: (N, T, C, H, W), mm/h.
        thresholds: of rain rates, mm/h.
        scale: pixels along the edge of a square.

    Returns:
        float64 (N, 2 per threshold, T).
    """
    parts = []
    for rate in thresholds:
        shares = [
            uniform_filter((rain >= rate).astype(float), (0, 0, 0, scale, scale), mode="constant")
            for rain in (predicted, observed)
        ]
        parts.append(((shares[0] - shares[1]) ** 2).mean(axis=(2, 3, 4)))
        parts.append((shares[0] ** 2 + shares[1] ** 2).mean(axis=(2, 3, 4)))
    return np.stack(parts, axis=1)


def _score(means: np.ndarray) -> np.ndarray:
    """(..., 2 per threshold, T): the mean over thresholds, and each."""
    error, reference = means[..., ::2, :], means[..., 1::2, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        each = 1 - error / reference
    return np.concatenate([each.mean(axis=-2, keepdims=True), each], axis=-2)


def fss(*, thresholds: Sequence[float], scale: int) -> Metric:
    """The score at each threshold, mm/h, over squares of so many pixels, and the mean of all."""
    return Metric(
        partial(fractions, thresholds=thresholds, scale=scale),
        finish=_score,
        components=tuple(f"{part}{rate}" for rate in thresholds for part in ("error", "reference")),
        leads="pool",
        no_value="no rain at or above the rate, neither observed nor predicted",
        series=(Series(), *(Series(threshold=rate) for rate in thresholds)),
    )
