"""Coherence of forecast and observation along circles of latitude, by zonal wavenumber.

Anomalies (differences from the mean of the calendar day) are Fourier-transformed along each circle
of latitude. The coherence of an octave of zonal wavenumbers, 1, 2-3, 4-7, 8-15, ..., is

    sum of w Re(P O*) / sqrt(sum of w |P|^2  sum of w |O|^2)

with sums over wavenumbers, latitudes (weights w) and samples, and the transforms P of the forecast
and O of the observation. It is 1 if predicted and observed waves have the same phase, and 0 if they
are unrelated. It is the in-phase part of the coherence: unlike the modulus of the complex mean, its
expectation for unrelated fields is 0 for any number of samples. In score tables, the column
``threshold`` is the lowest wavenumber of the octave. Where a variable does not exist, its anomaly
is 0.
"""

from functools import cache

import numpy as np

from stp.metrics.acc import PARTS, correlation
from stp.metrics.climatology import Climatology
from stp.metrics.comparison import Comparison
from stp.metrics.globe import Area, groups
from stp.metrics.latitude import per_variable, variables_of, weights_of
from stp.metrics.metric import Metric, Series, needs_data
from stp.metrics.weeks import mean_at


@cache
def octaves(width: int) -> tuple[int, ...]:
    """List the lowest wavenumber of each octave on circles of ``width`` points: 1, 2, 4, ..."""
    return tuple(2**i for i in range((width // 2).bit_length()))


def wave_products(predicted: np.ndarray, observed: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Compute the sums of products from which the coherence of each octave follows.

    P and O are the Fourier transforms of the predicted and observed anomalies along each circle of
    latitude, and w are the weights of latitudes.

    Args:
        predicted, observed: anomalies, (..., H, W) each.
        weights: weights of latitudes, in any unit, (H,).

    Returns:
        w Re(P O*), w |P|^2 and w |O|^2, in this order, each summed over latitudes and the
        wavenumbers of an octave, float64 (..., octaves, 3).
    """
    width = predicted.shape[-1]
    waves = [np.fft.rfft(f, norm="forward")[..., 1:] for f in (predicted, observed)]
    if width % 2 == 0:  # the last wavenumber has no mirror image, and counts half
        for transform in waves:
            transform[..., -1] /= np.sqrt(2)
    (p, o), first = waves, np.array(octaves(width)) - 1
    products = [(a * b.conj()).real for a, b in ((p, o), (p, p), (o, o))]
    rows = [np.einsum("...hk,h->...k", product, weights) for product in products]
    return np.stack([np.add.reduceat(row, first, axis=-1) for row in rows], axis=-1)


def _finish(means: np.ndarray) -> np.ndarray:
    *outer, components, leads = means.shape
    return correlation(means.reshape(*outer, components // len(PARTS), len(PARTS), leads))


def _bind_to_data(metric: Metric, compared: Comparison) -> Metric:
    weights = weights_of(compared.data)
    if weights is None:
        return per_variable(metric, compared)
    bands = octaves(compared.data.shape[-1])
    bound = metric._replace(
        components=PARTS,
        series=tuple(
            Series(variable=variable, threshold=float(band))
            for variable in variables_of(compared.data)
            for band in bands
        ),
    )
    climatology = Climatology(compared.data, "without_validation")
    if missing := climatology.missing_of(compared.frames):
        return bound._replace(reason=missing)

    def statistics(
        predicted: np.ndarray, observed: np.ndarray, numbers: np.ndarray, leads: np.ndarray
    ) -> np.ndarray:
        samples, times, channels = observed.shape[:3]
        products = np.empty((samples, channels, len(bands), len(PARTS), times))
        for n, t, group in groups(observed.shape):
            area = Area(weights, observed[n, t, group])
            frames_of, lead = compared.frames[numbers[n]], int(leads[t])
            mean = mean_at(climatology, frames_of, lead, metric.windows)[group]
            p, o = (area.difference(frames[n, t, group], mean) for frames in (predicted, observed))
            products[n, group, ..., t] = wave_products(p, o, weights)
        return products.reshape(samples, -1, times)

    return bound._replace(statistics=statistics)


def spectral_coherence() -> Metric:
    """Coherence of predicted and observed anomalies, by variable and octave of zonal wavenumbers.

    With the Fourier transforms P and O of the predicted and observed anomalies along each circle of
    latitude, and the weights w of latitudes, it is

        sum of w Re(P O*) / sqrt(sum of w |P|^2  sum of w |O|^2)

    Each of the three sums is over the wavenumbers of the octave, all latitudes and all samples.
    """
    return Metric(
        needs_data,
        finish=_finish,
        leads="pool",
        no_value="the forecast or the observation is the climatology itself",
        on_data=_bind_to_data,
        numbered=True,
        keep_samples=False,
    )
