"""Root mean squared error of predicted opinions (mean scores that viewers give to videos)."""

import numpy as np

from stp.metrics.agreement import Agreement


def error(observed: np.ndarray, predicted: np.ndarray) -> float:
    """Root mean squared error of predicted opinions; observed and predicted are float64 (N,)."""
    return float(np.sqrt(np.mean((predicted - observed) ** 2)))


def _weighted_rmse(observed: np.ndarray, predicted: np.ndarray, counts: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # a resample without any of these videos
        return np.asarray(np.sqrt(counts @ (predicted - observed) ** 2 / counts.sum(axis=1)))


def opinion_rmse() -> Agreement:
    """Root mean squared error of predicted opinions, in points of the scale from 0 to 100."""
    return Agreement(error, _weighted_rmse)
