"""Spearman's rank correlation (SROCC) of predicted and observed opinions (viewers' mean scores)."""

import numpy as np
from scipy.stats import spearmanr

from stp.metrics.agreement import Agreement
from stp.metrics.correlation import is_defined, weighted_correlation, weighted_ranks


def correlation(observed: np.ndarray, predicted: np.ndarray) -> float:
    """Spearman's rank correlation of observed and predicted opinions, float64 (N,) each.

    NaN if all observed or all predicted opinions are equal.
    """
    return (
        float(spearmanr(predicted, observed).statistic)
        if is_defined(observed, predicted)
        else np.nan
    )


def _magnitude(observed: np.ndarray, predicted: np.ndarray) -> float:
    return abs(correlation(observed, predicted))


def _weighted_srocc(observed: np.ndarray, predicted: np.ndarray, counts: np.ndarray) -> np.ndarray:
    x, y = (weighted_ranks(ratings, counts) for ratings in (observed, predicted))
    return weighted_correlation(x, y, counts)


def srocc(*, signed: bool) -> Agreement:
    """Spearman's rank correlation of predicted and observed opinions.

    Args:
        signed: whether the correlation keeps its sign. The absolute value, which Somraj et al.
            (2022) print, hides that a measure ranks in reverse.
    """
    if signed:
        return Agreement(correlation, _weighted_srocc)
    return Agreement(_magnitude, _weighted_srocc, signless=True)
