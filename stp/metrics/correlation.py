"""Correlations of predicted and observed opinions (viewers' mean scores), and of resamples."""

import numpy as np

SMALLEST = 1e-9
"""Deviations up to this count as zero."""


def is_defined(observed: np.ndarray, predicted: np.ndarray) -> bool:
    """Whether the correlation of two series, float64 (N,) each, is defined: neither is constant."""
    pair = (predicted, observed)
    return len(predicted) > 1 and all(bool(np.ptp(ratings) > SMALLEST) for ratings in pair)


def weighted_correlation(x: np.ndarray, y: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Pearson's correlation of B resamples of N pairs.

    Args:
        x, y: values of the pairs, float64 (N,), or (B, N) if they depend on the resample.
        counts: number of times that a resample contains each pair, (B, N).

    Returns:
        correlations, float64 (B,); NaN where all x, or all y, of a resample are equal.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        total = counts.sum(axis=1, keepdims=True)
        away = [values - (counts * values).sum(axis=1, keepdims=True) / total for values in (x, y)]
        products = (counts * away[0] * away[1]).sum(axis=1)
        lengths = [np.sqrt((counts * values**2).sum(axis=1)) for values in away]
        correlations = products / (lengths[0] * lengths[1])
    return np.where(np.minimum(*lengths) > SMALLEST, correlations, np.nan)


def weighted_ranks(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Ranks within resamples, from 1; equal values share the mean of their ranks.

    Args:
        values: values to rank, (N,).
        counts: number of times that a resample contains each value, (B, N).

    Returns:
        ranks, float64 (B, N).
    """
    distinct, index = np.unique(values, return_inverse=True)
    occurrences = counts @ np.eye(len(distinct))[index]
    return np.asarray(
        (np.cumsum(occurrences, axis=1) - occurrences + (occurrences + 1) / 2)[:, index]
    )
