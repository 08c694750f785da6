"""Radially averaged power spectra of frames.

Wavenumbers are cycles per length of the shorter side, in every direction, up to half the number of
its pixels. Those of ChaosBench (`stp.metrics.finest`) extend to the corners of the transform.
"""

from functools import cache
from typing import NamedTuple

import numpy as np


def radial_spectrum(frames: np.ndarray) -> np.ndarray:
    """Mean power at each wavenumber.

    The power |F|^2 / (H W)^2 of the Fourier coefficients F is averaged over all coefficients within
    half a wavenumber of 1, 2, ..., min(H, W) // 2. Frames are not tapered at the edges, and the
    mean (wavenumber 0) is left out.

    Args:
        frames: frames, (..., H, W).

    Returns:
        mean power, in squared units of the frames, float64 (..., min(H, W) // 2).
    """
    height, width = frames.shape[-2:]
    rings = _rings(height, width)
    transform = np.fft.rfft2(frames.astype(np.float64), norm="forward")
    power = np.square(transform.real)
    power += np.square(transform.imag)
    ordered = power.reshape(-1, power.shape[-2] * power.shape[-1])[:, rings.order]
    ordered *= rings.shares
    means = np.add.reduceat(ordered, rings.starts, axis=1)
    return np.asarray(means.reshape(*frames.shape[:-2], len(rings.starts)))


class _Rings(NamedTuple):
    """Positions of each wavenumber's coefficients in the flattened result of ``rfft2``.

    Attributes:
        order: indices of the coefficients, sorted by wavenumber, from 1.
        shares: weight of each coefficient in the mean of its wavenumber.
        starts: index in ``order`` at which each wavenumber begins.
    """

    order: np.ndarray
    shares: np.ndarray
    starts: np.ndarray


@cache
def _rings(height: int, width: int) -> _Rings:
    side = min(height, width)
    y = np.fft.fftfreq(height)[:, None] * side
    x = np.fft.rfftfreq(width)[None] * side
    wavenumbers = np.floor(np.hypot(y, x) + 0.5).astype(np.int64)
    # Half of the spectrum is left out by symmetry: all columns but those without a mirror image.
    times = np.full(wavenumbers.shape, 2.0)
    times[:, 0] = 1.0
    if width % 2 == 0:
        times[:, -1] = 1.0
    ring, weight = wavenumbers.reshape(-1), times.reshape(-1)
    order = np.argsort(ring, kind="stable")
    order = order[(ring[order] >= 1) & (ring[order] <= side // 2)]
    shares = weight / np.bincount(ring, weights=weight)[ring]
    starts = np.searchsorted(ring[order], np.arange(1, side // 2 + 1))
    return _Rings(order, shares[order], starts)
