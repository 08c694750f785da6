"""Pearson's linear correlation (PLCC) of predicted and observed opinions (viewers' mean scores)."""

import numpy as np

from stp.metrics.agreement import Agreement
from stp.metrics.correlation import is_defined, weighted_correlation


def correlation(observed: np.ndarray, predicted: np.ndarray) -> float:
    """Pearson's correlation of observed and predicted opinions, float64 (N,) each.

    NaN if all observed or all predicted opinions are equal.
    """
    return (
        float(np.corrcoef(predicted, observed)[0, 1]) if is_defined(observed, predicted) else np.nan
    )


def _magnitude(observed: np.ndarray, predicted: np.ndarray) -> float:
    return abs(correlation(observed, predicted))


def plcc(*, signed: bool) -> Agreement:
    """Pearson's correlation of predicted and observed opinions.

    Args:
        signed: whether the correlation keeps its sign. The absolute value, which Somraj et al.
            (2022) print, hides that a measure ranks in reverse.
    """
    if signed:
        return Agreement(correlation, weighted_correlation)
    return Agreement(_magnitude, weighted_correlation, signless=True)
