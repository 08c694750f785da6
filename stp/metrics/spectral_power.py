"""Ratio of predicted to observed power of fine detail: 1 is ideal, below 1 means blur."""

import numpy as np

from stp.metrics.comparison import Comparison
from stp.metrics.metric import Metric
from stp.metrics.spectra import radial_spectrum


def _power(predicted: np.ndarray, observed: np.ndarray, scale: np.ndarray) -> np.ndarray:
    powers = np.empty((len(predicted), 2, predicted.shape[1]))
    for n, (p, o) in enumerate(zip(predicted, observed, strict=True)):
        for k, frames in enumerate((p, o)):
            spectrum = radial_spectrum(frames)
            fine = spectrum[..., spectrum.shape[-1] // 2 :].sum(axis=-1)
            powers[n, k] = (fine / scale**2).mean(axis=1)
    return powers


def _bind_to_data(metric: Metric, compared: Comparison) -> Metric:
    normalisation = compared.data.attrs.get("normalisation", {"scale": 1.0})
    scale = np.asarray(normalisation["scale"], np.float64).reshape(-1)
    return metric._replace(statistics=lambda p, o: _power(p, o, scale))


def _ratio(means: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(means[..., 0, :] / means[..., 1, :])


def spectral_power() -> Metric:
    """Ratio of predicted to observed power in the upper half of the wavenumbers.

    The power is averaged over samples and channels, which are normalised as for training. Unlike
    the spectral divergence, the ratio distinguishes blur (below 1) from noise (above 1).
    """
    return Metric(
        lambda p, o: _power(p, o, np.ones(1)),
        finish=_ratio,
        components=("predicted", "observed"),
        leads="mean",
        no_value="no observed frame varies",
        on_data=_bind_to_data,
    )
