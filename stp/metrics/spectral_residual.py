"""Spectral residual: distance of normalised spectra of fine detail (ChaosBench, equation 3).

    sqrt(mean over k of (O(k) - P(k))^2)

with the radial power spectra O (observed) and P (predicted) over ChaosBench's finest bins
(`stp.metrics.finest.finest_spectrum`), each divided by its sum over these bins.
"""

import numpy as np

from stp.metrics import finest
from stp.metrics.metric import Metric


def residual(observed: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Root mean square difference, (...), of predicted and observed spectra, (..., k) each.

    Spectra are divided by their sums. The residual is NaN if a spectrum contains NaN, and infinite
    if a spectrum is zero everywhere.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        o, p = (some / some.sum(axis=-1, keepdims=True) for some in (observed, predicted))
    nothing = (observed.sum(axis=-1) == 0) | (predicted.sum(axis=-1) == 0)
    return np.where(nothing, np.inf, np.sqrt(np.square(o - p).mean(axis=-1)))


def spectral_residual(*, starts: int | None = None) -> Metric:
    """Distance of normalised power spectra of fine detail, averaged over frames, per variable.

    The spectral residual (ChaosBench, equation 3) is the root mean square difference of the
    predicted and the observed spectrum, each divided by its sum. The spectra are radial power
    spectra of the finest wavenumbers (`stp.metrics.finest.finest_spectrum`).

    Args:
        starts: number of starts on successive days whose fields are averaged before the comparison;
            the value is the mean over such batches (ChaosBench, listing S2 and its code, with 32
            starts). None: each frame is compared.
    """
    return finest.of_fields(residual, starts)
