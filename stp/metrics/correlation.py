"""What correlations of predicted and observed opinions have in common."""

import numpy as np


def is_defined(observed: np.ndarray, predicted: np.ndarray) -> bool:
    """Do both vary, so that they can be correlated? float64 (N,) each."""
    return len(predicted) > 1 and bool(np.ptp(predicted) > 1e-9 and np.ptp(observed) > 1e-9)
