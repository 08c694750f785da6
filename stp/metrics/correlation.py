"""What correlations of predicted and observed opinions have in common."""

import numpy as np

SMALLEST = 1e-9
"""Of a deviation that counts as one."""


def is_defined(observed: np.ndarray, predicted: np.ndarray) -> bool:
    """Do both vary, so that they can be correlated? float64 (N,) each."""
    both = (predicted, observed)
    return len(predicted) > 1 and all(bool(np.ptp(one) > SMALLEST) for one in both)


def weighted_correlation(x: np.ndarray, y: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Pearson's correlation of resamples, in which pairs occur so often.

    Args:
        x, y: float64 (N,), or (B, N) where they depend on the resample.
        counts: (B, N).

    Returns:
        float64 (B,); NaN where all values of a resample are equal.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        total = counts.sum(axis=1, keepdims=True)
        away = [one - (counts * one).sum(axis=1, keepdims=True) / total for one in (x, y)]
        products = (counts * away[0] * away[1]).sum(axis=1)
        lengths = [np.sqrt((counts * one**2).sum(axis=1)) for one in away]
        found = products / (lengths[0] * lengths[1])
    return np.where(np.minimum(*lengths) > SMALLEST, found, np.nan)


def weighted_ranks(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Ranks within resamples, from 1; equal values share the mean of their ranks.

    Args:
        values: (N,).
        counts: how often each occurs, (B, N).

    Returns:
        float64 (B, N).
    """
    distinct, place = np.unique(values, return_inverse=True)
    many = counts @ np.eye(len(distinct))[place]
    return np.asarray((np.cumsum(many, axis=1) - many + (many + 1) / 2)[:, place])
