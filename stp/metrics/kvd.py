"""Kernel video distance (Unterthiner et al. 2018, arXiv 1812.01717, section 2).

Unbiased estimator of the squared maximum mean discrepancy between I3D's logits of observed clips
x_1..x_m and of predicted clips y_1..y_n, with the kernel k(a, b) = (a'b + 1)^3:

    sum_{i != j} k(x_i, x_j) / (m (m - 1)) - 2 mean_{i, j} k(x_i, y_j)
        + sum_{i != j} k(y_i, y_j) / (n (n - 1))

An unbiased estimate may be negative. The kernel of KID (Binkowski et al. 2018) divides a'b by the
number of features, so its values are about a million times smaller.
"""

import numpy as np

from stp.core.errors import StpError
from stp.metrics.set_distance import SetDistance

ROWS = 512
"""Number of rows of the kernel's matrix that are computed at a time."""


def distance(x: np.ndarray, y: np.ndarray) -> float:
    """Estimate the squared maximum mean discrepancy of two sets of features.

    The estimate is unbiased, so it may be negative. The kernel is the polynomial (a'b + 1)^3 of two
    feature vectors a and b.

    Args:
        x: features of the first set, (M, D).
        y: features of the second set, (N, D).

    Returns:
        the estimate, which is about 0 if both sets have the same distribution.

    Raises:
        StpError: fewer than two samples in a set, or values that are not finite.
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    fewest = min(len(x), len(y))
    if fewest < 2:
        raise StpError(
            f"kernel distance of a set of {fewest} samples",
            expected="at least 2, for pairs",
            remedy="take more samples",
        )
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise StpError(
            "kernel distance of features that are NaN or infinite",
            expected="finite features",
            remedy="see whether predictions or data are NaN",
        )
    return _pairs(x) - 2 * _sum(x, y) / (len(x) * len(y)) + _pairs(y)


def _pairs(x: np.ndarray) -> float:
    """Mean of the kernel over all pairs of different samples of x, (N, D)."""
    own = np.sum((np.square(x).sum(axis=1) + 1) ** 3)
    return float((_sum(x, x) - own) / (len(x) * (len(x) - 1)))


def _sum(x: np.ndarray, y: np.ndarray) -> float:
    """Sum of the kernel over all pairs of a sample of x, (M, D), and one of y, (N, D)."""
    return float(sum(np.sum((x[i : i + ROWS] @ y.T + 1) ** 3) for i in range(0, len(x), ROWS)))


def kvd() -> SetDistance:
    """Kernel video distance (KVD) between features of observed and of predicted clips.

    It is an unbiased estimate of the squared maximum mean discrepancy, with the kernel (a'b + 1)^3,
    over all clips at once, without subsets. The features are chosen in config/conventions; those of
    the paper are the logits of the network I3D.
    """
    return SetDistance(distance)
