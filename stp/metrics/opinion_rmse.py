"""Root mean squared error of predicted opinions."""

import numpy as np

from stp.metrics.agreement import Agreement


def _points(predicted: np.ndarray, observed: np.ndarray) -> float:
    return float(np.sqrt(np.mean((predicted - observed) ** 2)))


points = Agreement(_points, "no test videos")
"""In points of a scale from 0 to 100, of single opinions."""
