"""Frechet distance between two sets of features, treated as Gaussian (Dowson and Landau 1982).

    d(X, Y) = |mx - my|^2 + tr(Sx) + tr(Sy) - 2 tr((Sx Sy)^(1/2))

with means mx, my and covariances Sx, Sy. Like Heusel et al. (2017, arXiv 1706.08500), stp calls
this the Frechet distance, although it is the square of one. The trace of the square root is the sum
of the square roots of the eigenvalues of Sx Sy. These are real and never negative, although Sx Sy
is not symmetric. So no matrix square root is needed, no value becomes complex, and covariances may
be singular.

- With N <= D samples, the eigenvalues are the squared singular values of A B' / (N - 1), where A
  and B contain the centred samples: only an N x N matrix is decomposed.
- With more samples, they are the eigenvalues of the symmetric matrix L' Sy L, where L L' = Sx.
"""

import numpy as np

from stp.core.errors import StpError
from stp.metrics.set_distance import SetDistance


def distance(x: np.ndarray, y: np.ndarray) -> float:
    """Frechet distance between two sets of samples, with covariances divided by N - 1.

    Args:
        x: features of the first set, (N, D).
        y: features of the second set, (N, D); N is equal, because the distance depends on N.

    Returns:
        the distance, never negative.

    Raises:
        StpError: the sets have different sizes, fewer than two samples, or values that are not
            finite.
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    _check(x, y)
    mean_x, mean_y = x.mean(axis=0), y.mean(axis=0)
    a = (x - mean_x) / np.sqrt(len(x) - 1)
    b = (y - mean_y) / np.sqrt(len(y) - 1)
    if len(x) > x.shape[1]:
        return distance_of_gaussians(mean_x, a.T @ a, mean_y, b.T @ b)
    traces = np.square(a).sum() + np.square(b).sum()
    return _sum(mean_x - mean_y, traces, np.linalg.svd(a @ b.T, compute_uv=False).sum())


def distance_of_gaussians(
    mean_x: np.ndarray, covariance_x: np.ndarray, mean_y: np.ndarray, covariance_y: np.ndarray
) -> float:
    """Frechet distance between two Gaussians.

    Args:
        mean_x, mean_y: means, (D,).
        covariance_x, covariance_y: symmetric covariances, (D, D), which may be singular.
    """
    mean = np.asarray(mean_x, np.float64) - np.asarray(mean_y, np.float64)
    covariance_x = np.asarray(covariance_x, np.float64)
    covariance_y = np.asarray(covariance_y, np.float64)
    try:
        root = np.linalg.cholesky(covariance_x)
    except np.linalg.LinAlgError:  # singular
        values, vectors = np.linalg.eigh(covariance_x)
        root = vectors * np.sqrt(values.clip(min=0))
    between = np.linalg.eigvalsh(root.T @ covariance_y @ root)
    traces = np.trace(covariance_x) + np.trace(covariance_y)
    return _sum(mean, traces, np.sqrt(between.clip(min=0)).sum())


def frechet() -> SetDistance:
    """Frechet distance between network features of observed and of predicted clips.

    With features of I3D, this is the Frechet video distance (Unterthiner et al. 2018, arXiv
    1812.01717, section 2 and equation 2). With features of an image network, averaged over the
    frames of a clip, it is the average FID of section 4.1, which is blind to motion.
    """
    return SetDistance(distance)


def _sum(mean: np.ndarray, traces: float, root: float) -> float:
    return max(0.0, float(mean @ mean + traces - 2 * root))  # rounding may leave -1e-12


def _check(x: np.ndarray, y: np.ndarray) -> None:
    if x.ndim != 2 or x.shape != y.shape:
        raise StpError(
            f"Frechet distance between sets of shapes {x.shape} and {y.shape}",
            expected="as many samples in both, of as many features: the distance depends on N",
            remedy="draw equal numbers (stp.metrics.set_distance.draw_indices)",
        )
    if len(x) < 2:
        raise StpError(
            f"Frechet distance between sets of {len(x)} samples",
            expected="at least 2, for a covariance",
            remedy="take more samples",
        )
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise StpError(
            "Frechet distance of features that are NaN or infinite",
            expected="finite features",
            remedy="see whether predictions or data are NaN",
        )
