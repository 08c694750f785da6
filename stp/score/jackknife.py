"""Cluster jackknife: standard errors from values with each cluster left out in turn.

Samples within a cluster depend on each other; clusters are independent. The cluster jackknife is
valid for any function of means (roots, ratios, means over lead times) and needs only sums over
clusters. With few clusters, or clusters of unequal size, it tends to overestimate rather than
underestimate the standard error (MacKinnon, Nielsen and Webb 2023, Journal of Applied Econometrics
38, 671-694, "CV3").

If a few clusters are much larger than the others, they carry as little information as few clusters.
The variance therefore has Satterthwaite's degrees of freedom (Bell and McCaffrey 2002, Survey
Methodology 28, 169-181; Imbens and Kolesar 2016, Review of Economics and Statistics 98, 701-712),
under the assumption that cluster means have equal variances. For G clusters of equal size they are
G - 1.
"""

import numpy as np

FEWEST_CLUSTERS = 10
"""Minimum number of clusters for an interval or a test."""

EQUAL = 1e-12
"""Relative difference between values that are equal except for rounding."""


def leave_one_out_means(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Compute means over samples with each cluster left out in turn.

    Args:
        sums: sums over the samples of each cluster, (G, ...).
        counts: number of samples of each cluster, (G,).

    Returns:
        means, float64 (G, ...).
    """
    rest = (counts.sum() - counts).reshape(-1, *(1,) * (sums.ndim - 1))
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        return np.asarray((sums.sum(axis=0) - sums) / rest)


def deviations(left_out: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Differences that leaving out one cluster makes; those due to rounding are set to 0.

    Args:
        left_out: values with each of the G clusters left out in turn, (G, ...).
        value: value over all clusters, (...).

    Returns:
        ``left_out - value``, (G, ...).
    """
    differences = left_out - value
    tiny = np.abs(differences) <= EQUAL * np.maximum(np.abs(left_out), np.abs(value))
    return np.asarray(np.where(tiny, 0.0, differences))


def standard_error(left_out: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Standard error of the jackknife over G clusters.

    Formula: sqrt((G - 1) / G * sum over g of (value without cluster g - value)^2).

    Args:
        left_out: values with each of the G clusters left out in turn, (G, ...).
        value: value over all clusters, (...).

    Returns:
        standard errors, float64 (...).
    """
    clusters = len(left_out)
    squares = np.square(deviations(left_out, value)).sum(axis=0)
    return np.asarray(np.sqrt((clusters - 1) / clusters * squares))


def effective_clusters(counts: np.ndarray) -> float:
    """Effective number of clusters (Kish 1965): (sum of counts)^2 / (sum of squared counts).

    Args:
        counts: number of samples of each cluster, (G,).

    Returns:
        the effective number, from 1 to G.
    """
    return float(counts.sum() ** 2 / np.square(counts).sum())


def degrees_of_freedom(counts: np.ndarray) -> float:
    """Satterthwaite's degrees of freedom of the squared standard error.

    With cluster means y and weights w = counts / sum(counts), the squared standard error of a mean
    is y' M y, where M = (I - w 1') diag(a) (I - 1 w') and a = (w / (1 - w))^2. For independent y
    with equal variances it has tr(M)^2 / tr(M^2) degrees of freedom.

    Args:
        counts: number of samples of each cluster, (G,).

    Returns:
        degrees of freedom, from 1 to G - 1.
    """
    w = counts / counts.sum()
    a, q = (w / (1 - w)) ** 2, (w**2).sum()
    trace = (a * (1 - 2 * w + q)).sum()
    # tr(M^2) = sum over i, j of a_i a_j (delta_ij - w_i - w_j + q)^2, expanded.
    total, once, twice = a.sum(), (a * w).sum(), (a * w**2).sum()
    square = (a**2 * (1 + 2 * q - 4 * w)).sum()
    square += (q * total) ** 2 - 4 * q * total * once + 2 * total * twice + 2 * once**2
    return float(trace**2 / square)
