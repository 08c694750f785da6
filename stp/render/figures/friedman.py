"""Friedman's test of several models over several datasets (Demsar 2006, section 3.2).

Demsar, Statistical Comparisons of Classifiers over Multiple Data Sets, Journal of Machine Learning
Research 7, pages 1-30.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import stats

ALPHA = 0.05
"""Level of the test and of the critical difference."""


class Comparison(NamedTuple):
    """Result of Friedman's test, which compares models over several blocks, such as datasets.

    Attributes:
        mean_ranks: mean rank of each model over blocks, 1 for the best, float64 (models,).
        chi2: Friedman's statistic, corrected for ties.
        f: statistic of Iman and Davenport, computed from `chi2`, which is less conservative.
        p: p value of `f`.
        critical: Nemenyi's critical difference of two mean ranks at the level `ALPHA`.
    """

    mean_ranks: np.ndarray
    chi2: float
    f: float
    p: float
    critical: float


def compare(losses: np.ndarray) -> Comparison:
    """Test whether models differ in several blocks (such as datasets), with Friedman's test.

    Args:
        losses: loss of each model in each block, lower is better, float64 (models, blocks), with at
            least `FEWEST_MODELS` models and two blocks. Only the order within a block matters.
    """
    models, blocks = losses.shape
    ranks = stats.rankdata(losses, axis=0)
    critical = critical_difference(models, blocks)
    if (ranks == ranks[:1]).all():  # all tied everywhere
        return Comparison(ranks.mean(axis=1), 0.0, 0.0, 1.0, critical)
    chi2 = float(stats.friedmanchisquare(*losses).statistic)
    rest = blocks * (models - 1) - chi2
    f = (blocks - 1) * chi2 / rest if rest > 1e-9 else math.inf
    p = float(stats.f.sf(f, models - 1, (models - 1) * (blocks - 1)))
    return Comparison(ranks.mean(axis=1), chi2, f, p, critical)


def critical_difference(models: int, blocks: int, alpha: float = ALPHA) -> float:
    """Nemenyi's critical difference of mean ranks: q sqrt(k (k + 1) / (6 N)).

    Here k is the number of models, N the number of blocks, and q the quantile of the studentised
    range for infinite degrees of freedom, divided by the square root of 2.
    """
    q = stats.studentized_range.ppf(1 - alpha, models, math.inf) / math.sqrt(2)
    return float(q * math.sqrt(models * (models + 1) / (6 * blocks)))


def find_similar_groups(mean_ranks: np.ndarray, critical: float) -> list[tuple[int, int]]:
    """Find the maximal groups of models in which no two differ significantly.

    Args:
        mean_ranks: mean rank of each model, float64 (models,), ascending.
        critical: smallest significant difference of two mean ranks.

    Returns:
        indices of the first and the last model of each group. A group has at least two models, and
        is not part of another group.
    """
    groups: list[tuple[int, int]] = []
    for first, low in enumerate(mean_ranks):
        last = int(np.flatnonzero(mean_ranks - low < critical)[-1])
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups
