"""Ensembles: several forecasts of the same clip, which are called members."""

import numpy as np


def ensemble_mean(predicted: np.ndarray) -> np.ndarray:
    """Mean over the M members of n ensembles: (n, M, T, C, H, W) to float32 (n, T, C, H, W)."""
    return np.asarray(predicted.mean(axis=1, dtype=np.float64).astype(np.float32))
