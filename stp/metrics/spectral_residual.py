"""Spectral residual: distance of normalised spectra of fine detail (ChaosBench, equation 3).

    sqrt(mean over k of (O(k) - P(k))^2)

of the radial power spectra O (observed) and P (predicted) over ChaosBench's finest bins
(`stp.metrics.finest.finest_spectrum`), each divided by its sum over them.
"""

import numpy as np

from stp.metrics import finest
from stp.metrics.metric import Metric


def residual(observed: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Of spectra (..., k) each, (...); infinite where one is 0. NaN stays NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        o, p = (some / some.sum(axis=-1, keepdims=True) for some in (observed, predicted))
    nothing = (observed.sum(axis=-1) == 0) | (predicted.sum(axis=-1) == 0)
    return np.where(nothing, np.inf, np.sqrt(np.square(o - p).mean(axis=-1)))


def spectral_residual(*, starts: int | None = None) -> Metric:
    """Of each variable of each frame, then the mean over frames (ChaosBench, equation 3).

    Args:
        starts: of the mean field of starts on so many successive days, then the mean over such
            batches (ChaosBench, listing S2 and its code, with 32). Of each frame unless set.
    """
    return finest.of_fields(residual, starts)
