"""Power spectra over ChaosBench's finest wavenumbers, and metrics that score them.

Wavenumbers are cycles across the whole field, separately in each direction, up to the corners of
the transform. The spectrum is that of each field, or of the mean field of successive starts.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from stp.metrics.batches import batches_in_time
from stp.metrics.comparison import Comparison
from stp.metrics.globe import Area, groups
from stp.metrics.latitude import per_variable, weights_of
from stp.metrics.metric import Batches, Metric, every_component, needs_data

FINEST_SHARE = 0.9  # of the bins of all wavenumbers that ``finest_spectrum`` leaves out


def finest_spectrum(frames: np.ndarray) -> np.ndarray:
    """Compute the mean power in the finest tenth of the bins of wavenumbers.

    The bins are those of ChaosBench (appendix F.2 and its code). A coefficient of the
    two-dimensional Fourier transform has the wavenumber k = sqrt(ky^2 + kx^2), with ky in cycles
    over H and kx in cycles over W. The largest one is K = hypot(H // 2, W // 2). There are
    n = ceil(K - 0.5) bins, 0 to n - 1, with the edges ``np.linspace(0.5, K, n + 1)``. The finest
    ones are the bins from int(0.9 n) to n - 1. Bins without a coefficient are left out. Grid points
    are not weighted.

    For example, on 121 x 240 points these are the last 14 of 134 bins, from 120.2 to 134.2 cycles.

    Args:
        frames: frames, (..., H, W).

    Returns:
        mean power of each bin, in squared units of the frames, float64 (..., bins).
    """
    # Equation S12 has the sum over a bin, and ChaosBench's code the mean.
    return spectrum_of(finest_waves(frames), *frames.shape[-2:])


def finest_waves(frames: np.ndarray) -> np.ndarray:
    """Compute the Fourier coefficients with the shortest wavelengths.

    They are the coefficients in the bins of `finest_spectrum`, with wavenumbers from about 0.9 K,
    where K is the largest wavenumber of the grid. The transform is linear: the coefficients of a
    mean frame are the mean of the frames' coefficients.

    Args:
        frames: frames, (..., H, W).

    Returns:
        coefficients, in units of the frames, complex128 (..., waves), where ``waves``, the number
        of coefficients, depends on H and W only.
    """
    # Only columns with coefficients in these bins are transformed, a sixth of all.
    *outer, height, width = frames.shape
    corner = _corner(height, width)
    flat = frames.reshape(-1, height, width)
    # The mean has no part in these wavenumbers; so constant frames have exactly no power.
    exact = np.subtract(flat, flat[:, :1, :1], dtype=np.float64)
    columns = (exact.reshape(-1, width) @ corner.waves).view(np.complex128)
    transform = np.fft.fft(columns.reshape(len(exact), height, -1), axis=1)
    return np.asarray(transform.reshape(len(exact), -1)[:, corner.kept].reshape(*outer, -1))


def spectrum_of(waves: np.ndarray, height: int, width: int) -> np.ndarray:
    """Compute the mean power of each bin from the coefficients of `finest_waves`.

    Args:
        waves: Fourier coefficients, complex128 (..., waves).
        height, width: size of the transformed frames, grid points.

    Returns:
        the same powers as `finest_spectrum` of these frames, float64 (..., bins).
    """
    power = np.square(waves.real)
    power += np.square(waves.imag)
    return np.asarray(power @ _corner(height, width).shares)


class _Corner(NamedTuple):
    """Constant arrays for computing the finest bins on one size of grid.

    Attributes:
        waves: exp(-2 pi i kx x / W) for the n columns kx with coefficients in the bins, alternately
            real and imaginary parts, (W, 2 n).
        kept: indices, among the H n coefficients of these columns, of those in a bin, (waves,).
        shares: weight of each of these coefficients in the mean of each bin, (waves, bins).
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
    # Half of the spectrum is left out by symmetry: columns without a mirror image count once.
    times = np.where((x == 0) | (2 * x == width), 1.0, 2.0)[columns]
    shares = np.where(bins[..., None] == np.arange(bins.max(initial=-1) + 1), times[:, None], 0)
    shares = shares.reshape(-1, shares.shape[-1])
    kept = np.flatnonzero(shares.any(axis=1))
    shares = shares[kept][:, shares.any(axis=0)]
    angles = 2 * np.pi * np.outer(np.arange(width), x[columns]) / width
    waves = np.stack([np.cos(angles), -np.sin(angles)], axis=-1).reshape(width, -1)
    return _Corner(waves, kept, shares / shares.sum(axis=0))


def finest_bins(height: int, width: int) -> int:
    """Count the bins of `finest_spectrum` on a grid of height x width points."""
    return int(_corner(height, width).shares.shape[1])


Score = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Function of observed and predicted spectra, (..., bins) each, that returns a score for each pair,
(...); the score is infinite where it is undefined."""


def of_fields(score: Score, starts: int | None = None) -> Metric:
    """Make a metric that scores the spectra of each variable, of single frames or of mean fields.

    The spectra are those of `finest_spectrum`.

    Args:
        score: function of observed and predicted spectra, (..., bins) each, that returns a score
            for each pair, (...).
        starts: None to score the spectra of each frame; the value is the mean score of all frames.
            A number: the starts on so many successive days form a batch (`batches_in_time`). At
            each lead time, the fields of a batch are averaged first, predicted and observed ones
            separately, and the spectra of the two mean fields are scored. The value is the mean
            score of all batches.
    """
    on_data = partial(_bind_to_data, score=score)
    if starts is not None:
        on_data = partial(_in_batches, score=score, size=starts)
    return Metric(
        needs_data, finish=every_component, no_value="a field does not vary", on_data=on_data
    )


def _bind_to_data(metric: Metric, compared: Comparison, score: Score) -> Metric:
    bound = per_variable(metric, compared)
    weights = weights_of(compared.data)
    if weights is None:
        return bound
    height, width = compared.data.shape[1:]
    if finest_bins(height, width) < 2:
        why = f"a grid of {height} x {width} has one bin of the finest wavenumbers"
        return bound._replace(reason=why)

    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        o, p = (spectrum_of(waves, height, width) for waves in (observed, predicted))
        return score(o, p).swapaxes(1, 2)

    return bound._replace(statistics=statistics, transform=_waves(tuple(weights.tolist())))


@cache
def _waves(weights: tuple[float, ...]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Make a function that transforms frames to `finest_waves`, complex128 (N, T, C, waves).

    The function is cached, so that conventions with equal weights share it and its results.
    """

    def transform(frames: np.ndarray, observed: np.ndarray) -> np.ndarray:
        coefficients = []
        for n, t, channels in groups(frames.shape):
            area = Area(np.array(weights), observed[n, t, channels])
            coefficients.append(finest_waves(area.fill_unobserved(frames[n, t, channels])))
        return np.concatenate(coefficients).reshape(*frames.shape[:3], -1)

    return transform


def _in_batches(metric: Metric, compared: Comparison, score: Score, size: int) -> Metric:
    bound = _bind_to_data(metric, compared, score)
    if bound.reason:
        return bound
    height, width = compared.data.shape[1:]
    waves = finest_waves(np.zeros((height, width))).shape[-1]

    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        """Real and imaginary parts of predicted and observed waves, (N, C * components, T)."""
        samples, leads = observed.shape[:2]
        pair = np.ascontiguousarray(np.stack([predicted, observed], axis=3))
        return np.moveaxis(pair.view(np.float64).reshape(samples, leads, -1), 1, -1)

    def of_means(means: np.ndarray) -> np.ndarray:
        """Scores of mean fields from their coefficients: (C * components, T) to (C, T)."""
        parts = np.ascontiguousarray(means.T).view(np.complex128)
        pair = parts.reshape(len(parts), -1, 2, waves)
        p, o = (spectrum_of(pair[:, :, k], height, width) for k in (0, 1))
        return score(o, p).T

    batches = Batches(batches_in_time(compared.frames, size), 4 * waves, of_means)
    return bound._replace(statistics=statistics, batches=batches)
