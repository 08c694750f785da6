"""Spearman's rank correlation of predicted and observed opinions (SROCC)."""

import numpy as np
from scipy.stats import spearmanr

from stp.metrics.agreement import Agreement, varies


def _signed(predicted: np.ndarray, observed: np.ndarray) -> float:
    found = varies(predicted, observed)
    return float(spearmanr(predicted, observed).statistic) if found else np.nan


def _magnitude(predicted: np.ndarray, observed: np.ndarray) -> float:
    return abs(_signed(predicted, observed))


_WHY = "all predictions of a split are equal, or all opinions"

signed = Agreement(_signed, _WHY)
"""With its sign."""

magnitude = Agreement(_magnitude, _WHY)
"""Without its sign, as Somraj et al. (2021) print it: it hides a measure that ranks backwards."""
