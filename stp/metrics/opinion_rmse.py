"""Root mean squared error of predicted opinions, of one split."""

import numpy as np

from stp.metrics.perceptual import SetDistance


def error(observed: np.ndarray, predicted: np.ndarray) -> float:
    """Compare opinions, float64 (N,) each."""
    return float(np.sqrt(np.mean((predicted - observed) ** 2)))


points = SetDistance(error)
"""In points of the scale from 0 to 100."""
