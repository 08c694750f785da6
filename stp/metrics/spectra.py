"""Radially averaged power spectra: how much a frame varies on which scales.

Two kinds of wavenumbers: `radial_spectrum` counts cycles across the shorter side, in whichever
direction, and stops where the shorter side does; `finest_spectrum` is ChaosBench's, which counts
cycles across the whole frame, in each direction its own, up to the corners of the transform.
"""

from functools import cache
from typing import NamedTuple

import numpy as np


def radial_spectrum(frames: np.ndarray) -> np.ndarray:
    """Mean power at each wavenumber.

    The wavenumber is that of cycles across the shorter side, whichever the direction; the power
    |F|^2 / (H W)^2 is averaged over the coefficients within half a wavenumber of 1, 2, ...,
    min(H, W) // 2. Nothing tapers the edges, and the mean (wavenumber 0) is left out.

    Args:
        frames: (..., H, W).

    Returns:
        float64 (..., min(H, W) // 2), in squared units of the frames.
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
    """Where the coefficients of each wavenumber lie in the flat result of ``rfft2``.

    Attributes:
        order: the coefficients, those of wavenumber 1 first, then 2, ...
        shares: weight of each in the mean of its ring.
        starts: where each ring begins in ``order``.
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


FINEST_SHARE = 0.9  # of the bins of all wavenumbers that ``finest_spectrum`` leaves out


def finest_spectrum(frames: np.ndarray) -> np.ndarray:
    """Mean power in the finest tenth of the bins of wavenumbers.

    Wavenumbers are sqrt(ky^2 + kx^2) of the two-dimensional transform with ky in cycles over H and
    kx in cycles over W; from 0.5 to the largest one, that of the corners, they are divided into
    bins of equal width, as many as there are k + 0.5 below it, and the last tenth of them is kept:
    on 121 x 240 points 14 of 134 bins, from 120.2 to 134.2 (ChaosBench, appendix F.2 and its code;
    equation S12 has the sum over a bin). Grid points are not weighted. Bins without a coefficient
    are left out.

    Args:
        frames: (..., H, W).

    Returns:
        float64 (..., bins), in squared units of the frames.
    """
    return spectrum_of(finest_waves(frames), *frames.shape[-2:])


def finest_waves(frames: np.ndarray) -> np.ndarray:
    """Coefficients of the transform that `finest_spectrum` is made from.

    They are linear: those of a mean of frames are the mean of theirs. Only the columns that lie in
    these bins are transformed, a sixth of all.

    Args:
        frames: (..., H, W).

    Returns:
        complex128 (..., waves), in units of the frames.
    """
    *outer, height, width = frames.shape
    corner = _corner(height, width)
    flat = frames.reshape(-1, height, width)
    # The mean has no part in these wavenumbers; so constant frames have exactly no power.
    exact = np.subtract(flat, flat[:, :1, :1], dtype=np.float64)
    columns = (exact.reshape(-1, width) @ corner.waves).view(np.complex128)
    transform = np.fft.fft(columns.reshape(len(exact), height, -1), axis=1)
    return np.asarray(transform.reshape(len(exact), -1)[:, corner.kept].reshape(*outer, -1))


def spectrum_of(waves: np.ndarray, height: int, width: int) -> np.ndarray:
    """The mean power of each bin: coefficients (..., waves) to float64 (..., bins)."""
    power = np.square(waves.real)
    power += np.square(waves.imag)
    return np.asarray(power @ _corner(height, width).shares)


class _Corner(NamedTuple):
    """How the finest bins are made.

    Attributes:
        waves: exp(-2 pi i kx x / W) of the n columns that have a part in them, cosine and sine in
            turn, (W, 2 n).
        kept: which of the H n coefficients of these columns lie in a bin, (waves,).
        shares: weight of each of these in the mean of each bin, (waves, bins).
    """

    waves: np.ndarray
    kept: np.ndarray
    shares: np.ndarray


@cache
def _corner(height: int, width: int) -> _Corner:
    y = np.fft.fftfreq(height, 1 / height)
    x = np.arange(width // 2 + 1)
    wavenumbers = np.hypot(y[:, None], x)
    largest = np.hypot(height // 2, width // 2)
    count = len(np.arange(0.5, largest, 1))
    edges = np.linspace(0.5, largest, count + 1)
    bins = np.minimum(np.searchsorted(edges, wavenumbers, side="right") - 1, count - 1)
    bins -= int(count * FINEST_SHARE)
    columns = np.flatnonzero((bins >= 0).any(axis=0))
    bins = bins[:, columns]
    # As in `_rings`: columns without a mirror image count once.
    times = np.where((x == 0) | (2 * x == width), 1.0, 2.0)[columns]
    shares = np.where(bins[..., None] == np.arange(bins.max(initial=-1) + 1), times[:, None], 0)
    shares = shares.reshape(-1, shares.shape[-1])
    kept = np.flatnonzero(shares.any(axis=1))
    shares = shares[kept][:, shares.any(axis=0)]
    angles = 2 * np.pi * np.outer(np.arange(width), x[columns]) / width
    waves = np.stack([np.cos(angles), -np.sin(angles)], axis=-1).reshape(width, -1)
    return _Corner(waves, kept, shares / shares.sum(axis=0))


def finest_bins(height: int, width: int) -> int:
    """How many bins `finest_spectrum` has on a grid."""
    return int(_corner(height, width).shares.shape[1])
