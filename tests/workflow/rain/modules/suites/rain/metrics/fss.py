"""Fractions skill score (Roberts and Lean 2008) at rain rates, over squares of several sizes."""

from functools import partial

import numpy as np
from scipy.ndimage import uniform_filter

from stp.metrics.metric import Metric, Series

RATES = (0.5, 2.0, 8.0)
"""Thresholds, mm/h."""


def fractions(predicted: np.ndarray, observed: np.ndarray, scale: int) -> np.ndarray:
    """Squares of differences of fractions, and their reference, at each rate.

    Args:
        predicted, observed: (N, T, C, H, W), mm/h.
        scale: pixels along the edge of a square.

    Returns:
        float64 (N, 2 per rate, T).
    """
    parts = []
    for rate in RATES:
        shares = [
            uniform_filter((rain >= rate).astype(float), (0, 0, 0, scale, scale), mode="constant")
            for rain in (predicted, observed)
        ]
        parts.append(((shares[0] - shares[1]) ** 2).mean(axis=(2, 3, 4)))
        parts.append((shares[0] ** 2 + shares[1] ** 2).mean(axis=(2, 3, 4)))
    return np.stack(parts, axis=1)


def _score(means: np.ndarray) -> np.ndarray:
    """(..., 6, T) to (..., 4, T): the mean over rates, and each."""
    error, reference = means[..., ::2, :], means[..., 1::2, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        each = 1 - error / reference
    return np.concatenate([each.mean(axis=-2, keepdims=True), each], axis=-2)


def _convention(scale: int) -> Metric:
    return Metric(
        partial(fractions, scale=scale),
        finish=_score,
        components=tuple(f"{part}{rate}" for rate in RATES for part in ("error", "reference")),
        leads="pool",
        no_value="no rain at or above the rate, neither observed nor predicted",
        series=(Series(), *(Series(threshold=rate) for rate in RATES)),
    )


scale1 = _convention(1)
"""Over single pixels."""

scale5 = _convention(5)
"""Over squares of 5 x 5 pixels."""
