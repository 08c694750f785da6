"""Spectral residual: distance of normalised spectra of fine detail (ChaosBench, equation 3).

    sqrt(mean over k of (O(k) - P(k))^2)

of the radial power spectra O (observed) and P (predicted) over ChaosBench's finest bins
(`stp.metrics.spectra.finest_spectrum`), each divided by its sum over them.
"""

import numpy as np

from stp.metrics.finest import of_batches, of_fields
from stp.metrics.members import of_members


def residual(observed: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Of spectra (..., k) each, (...); infinite where one is 0. NaN stays NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        o, p = (some / some.sum(axis=-1, keepdims=True) for some in (observed, predicted))
    nothing = (observed.sum(axis=-1) == 0) | (predicted.sum(axis=-1) == 0)
    return np.where(nothing, np.inf, np.sqrt(np.square(o - p).mean(axis=-1)))


high_wavenumbers = of_fields(residual)
"""Of each variable of each frame, then the mean over frames (ChaosBench, equation 3)."""

high_wavenumbers_of_members = of_members(high_wavenumbers)
"""The mean over members of ``high_wavenumbers`` (ChaosBench, equation S19)."""

high_wavenumbers_batch32 = of_batches(residual, 32)
"""As ``high_wavenumbers``, but of the mean of starts on 32 successive days, then the mean over such
batches (ChaosBench, listing S2 and its code)."""
