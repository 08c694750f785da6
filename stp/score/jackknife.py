"""Standard errors over clusters: every value made again with one cluster left out at a time.

Samples within a cluster depend on each other; clusters are independent. The cluster jackknife holds
for any function of means (roots, ratios, means over lead times), needs nothing but sums over
clusters, and tends to be too wide rather than too narrow where clusters are few or of unequal size
(MacKinnon, Nielsen and Webb 2023, Journal of Applied Econometrics 38, 671-694, "CV3").

Few large clusters say as little as few clusters: the degrees of freedom of the variance are
Satterthwaite's (Bell and McCaffrey 2002, Survey Methodology 28, 169-181; Imbens and Kolesar 2016,
Review of Economics and Statistics 98, 701-712), for clusters whose means vary alike. Of clusters of
equal size they are the number of clusters less 1.
"""

import numpy as np

FEWEST_CLUSTERS = 10
"""With fewer there is no interval and no test."""

EQUAL = 1e-12
"""Relative difference between values that are the same but for rounding."""


def left_out_means(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Means over samples, without each of the clusters.

    Args:
        sums: sums over the samples of each cluster, (G, ...).
        counts: number of samples of each cluster, (G,).

    Returns:
        float64 (G, ...).
    """
    rest = (counts.sum() - counts).reshape(-1, *(1,) * (sums.ndim - 1))
    with np.errstate(invalid="ignore"):  # infinite less infinite
        return np.asarray((sums.sum(axis=0) - sums) / rest)


def deviations(left_out: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Values without each of the clusters less the value of all, 0 where they differ by rounding.

    Args:
        left_out: (G, ...).
        value: (...).
    """
    found = left_out - value
    tiny = np.abs(found) <= EQUAL * np.maximum(np.abs(left_out), np.abs(value))
    return np.asarray(np.where(tiny, 0.0, found))


def standard_error(left_out: np.ndarray, value: np.ndarray) -> np.ndarray:
    """sqrt((G - 1) / G sum((value without cluster g - value)^2)).

    Args:
        left_out: values without each of the clusters, (G, ...).
        value: of all clusters, (...).

    Returns:
        float64 (...).
    """
    clusters = len(left_out)
    squares = np.square(deviations(left_out, value)).sum(axis=0)
    return np.asarray(np.sqrt((clusters - 1) / clusters * squares))


def effective_clusters(counts: np.ndarray) -> float:
    """How many clusters of equal size say as much (Kish 1965): (sum of counts)^2 / sum of squares.

    Args:
        counts: number of samples of each cluster, (G,).

    Returns:
        From 1 to G.
    """
    return float(counts.sum() ** 2 / np.square(counts).sum())


def degrees_of_freedom(counts: np.ndarray) -> float:
    """Satterthwaite's degrees of freedom of the squared standard error.

    With weights w = counts / sum(counts) the squared standard error of a mean is y' M y, M =
    (I - w 1') diag(a) (I - 1 w'), a = (w / (1 - w))^2; of independent y with one variance it has
    tr(M)^2 / tr(M^2) degrees of freedom.

    Args:
        counts: number of samples of each cluster, (G,).

    Returns:
        From 1 to G - 1.
    """
    w = counts / counts.sum()
    a, q = (w / (1 - w)) ** 2, (w**2).sum()
    trace = (a * (1 - 2 * w + q)).sum()
    # tr(M^2) = sum over i, j of a_i a_j (delta_ij - w_i - w_j + q)^2, multiplied out.
    total, once, twice = a.sum(), (a * w).sum(), (a * w**2).sum()
    square = (a**2 * (1 + 2 * q - 4 * w)).sum()
    square += (q * total) ** 2 - 4 * q * total * once + 2 * total * twice + 2 * once**2
    return float(trace**2 / square)
