"""Spectral divergence: difference between the spectra of forecasts and observations.

    sum over k of O(k) ln(O(k) / P(k))

with the radial power spectra O (observed) and P (predicted), each divided by its sum over k: the
Kullback-Leibler divergence, 0 if the shapes are equal (Nathaniel et al. 2024, ChaosBench,
https://arxiv.org/abs/2402.00712, section 4.2 and appendix F.2). It does not measure skill: sharp
but wrong forecasts have a small divergence. The conventions use different wavenumbers
(`stp.metrics.spectra`, `stp.metrics.finest`).
"""

import numpy as np

from stp.metrics.comparison import Comparison
from stp.metrics.metric import Metric
from stp.metrics.spectra import radial_spectrum

FINEST = 0.1
"""Share of the wavenumbers that count as fine detail in ``of_frames``."""


def divergence(observed: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Compute the Kullback-Leibler divergence of predicted spectra P from observed spectra O.

    It is the sum over wavenumbers of O ln(O / P), after each spectrum is divided by its sum.

    Args:
        observed: observed power spectra O, (..., wavenumbers).
        predicted: predicted power spectra P, of the same shape.

    Returns:
        divergences, (...); infinite if a spectrum is zero everywhere, or if the predicted spectrum
        is zero at a wavenumber where the observed one is not; NaN if a spectrum contains NaN.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        o = observed / observed.sum(axis=-1, keepdims=True)
        p = predicted / predicted.sum(axis=-1, keepdims=True)
        terms = np.where(o == 0, 0.0, o * np.log(o / p))
    nothing = (observed.sum(axis=-1) == 0) | (predicted.sum(axis=-1) == 0)
    return np.where(nothing, np.inf, terms.sum(axis=-1))


def _finest_tenth(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    divergences = np.empty(predicted.shape[:2])
    for n, (p, o) in enumerate(zip(predicted, observed, strict=True)):
        spectra = radial_spectrum(o), radial_spectrum(p)
        first = min(int(spectra[0].shape[-1] * (1 - FINEST)), spectra[0].shape[-1] - 2)
        divergences[n] = divergence(*(s[..., max(first, 0) :] for s in spectra)).mean(axis=-1)
    return divergences[:, None]


def _spectra_on(metric: Metric, compared: Comparison) -> Metric:
    """Let the metric normalise frames, so that channels with different units can be averaged."""
    normalisation = compared.data.attrs.get("normalisation", {"scale": 1.0})
    scale = np.asarray(normalisation["scale"], np.float64).reshape(-1, 1)
    count = min(compared.data.shape[1:]) // 2

    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        spectra = np.empty((len(predicted), 2 * count, predicted.shape[1]))
        for n, (p, o) in enumerate(zip(predicted, observed, strict=True)):
            for at, frames in ((0, p), (count, o)):
                power = (radial_spectrum(frames) / scale**2).mean(axis=1)
                spectra[n, at : at + count] = power.T
        return spectra

    names = tuple(f"{which}{k}" for which in ("p", "o") for k in range(1, count + 1))
    return metric._replace(statistics=statistics, components=names)


def _of_means(means: np.ndarray) -> np.ndarray:
    predicted, observed = np.split(np.moveaxis(means, -2, -1), 2, axis=-1)
    return divergence(observed, predicted)


def of_frames() -> Metric:
    """Mean spectral divergence of frames and channels, over the finest tenth of wavenumbers.

    At least two wavenumbers are used (`stp.metrics.spectra`). This definition is our own, for
    frames of any kind. ChaosBench has other wavenumbers (`stp.metrics.field_spectral_divergence`).
    """
    return Metric(_finest_tenth, no_value="a frame does not vary")


def of_mean_spectra() -> Metric:
    """Kullback-Leibler divergence of the mean spectrum of forecasts from that of observations.

    Spectra of normalised channels are averaged over samples and channels, for each lead time. The
    mean spectra O (observed) and P (predicted) are divided by their sums over all wavenumbers; the
    divergence is the sum of O ln(O / P).

    The statistics of a sample, whose sums are stored in ``cluster_sums.parquet``, are the power of
    the forecast at each wavenumber 1, 2, ... (components p1, p2, ...), and that of the observation
    (o1, o2, ...).
    """
    return Metric(
        _finest_tenth,
        finish=_of_means,
        leads="mean",
        no_value="no frame varies",
        on_data=_spectra_on,
        keep_samples=False,
    )
