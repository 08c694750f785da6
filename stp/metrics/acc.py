"""Anomaly correlation coefficient of each variable.

    sum of w p' o' / sqrt(sum of w p'^2  sum of w o'^2)

with latitude weights w and anomalies p', o' of forecast and observation from the mean of the
calendar day of the valid time (PredBench, appendix B, equation 5; ChaosBench, equation S3), from
``climatology.zarr`` of the prepared data. The conventions differ in the years of the climatology,
in whether the mean of the anomalies over the globe is removed first, and in what is summed before
the division. Each weight counts once or, as in ChaosBench's released code, not at all. Points where
nothing was observed are left out (`stp.metrics.globe`).
"""

from collections.abc import Callable
from typing import Literal

import numpy as np

from stp.metrics.climatology import Climatology
from stp.metrics.comparison import Comparison
from stp.metrics.globe import moments
from stp.metrics.latitude import per_variable, weights_of
from stp.metrics.metric import Metric, every_component, needs_data
from stp.metrics.weeks import mean_at

PARTS = ("po", "pp", "oo")


def anomaly_products(
    predicted: np.ndarray,
    observed: np.ndarray,
    climatology: Callable[[int, int], np.ndarray],
    weights: np.ndarray,
    *,
    centred: bool = False,
) -> np.ndarray:
    """Weighted means of the products of anomalies.

    Args:
        predicted: (N, T, C, H, W).
        observed: (N, T, C, H, W).
        climatology: (sample, lead) to (C, H, W), at the valid time.
        weights: weights of latitudes, (H,).
        centred: remove the weighted mean of the anomalies of each frame first.

    Returns:
        float64 (N, C, 3, T): means over H, W of w p' o', w p'^2, w o'^2.
    """
    samples, leads, channels = predicted.shape[:3]
    products = np.empty((samples, channels, 3, leads))
    for n, t in np.ndindex(samples, leads):
        p, o, pp, po, oo = moments(predicted[n, t], observed[n, t], climatology(n, t), weights)
        if centred:
            pp, po, oo = _variance(pp, p), po - p * o, _variance(oo, o)
        products[n, :, :, t] = np.stack([po, pp, oo], axis=-1)
    return products


def _variance(square: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Mean square less the square of the mean; 0 where that is what rounding leaves."""
    variance = square - mean * mean
    return np.where(variance <= 1e-12 * square, 0.0, variance)


def correlation(products: np.ndarray) -> np.ndarray:
    """(..., C, 3, T) to (..., C, T); infinite where an anomaly vanishes everywhere, NaN stays."""
    po, pp, oo = np.moveaxis(products, -2, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((pp == 0) | (oo == 0), np.inf, po / np.sqrt(pp * oo))


def _finish(means: np.ndarray) -> np.ndarray:
    *outer, components, leads = means.shape
    return correlation(means.reshape(*outer, components // 3, 3, leads))


def acc(
    *,
    climatology: Literal["with_validation", "without_validation", "published"],
    centred: bool = False,
    pooled: bool = False,
    weighted: bool = True,
) -> Metric:
    """One convention.

    Args:
        climatology: 1993-2016, which has the validation year in it (PredBench, appendix B, equation
            5, and its code); training years only, which no choice of a model has seen (ChaosBench,
            equation S3; the paper's climatology is of 1994-2023); or that of ChaosBench's released
            code, 1994-2023 by the number of the day in its year, test years among them. Data have
            the last one that were prepared with ``published_climatology``.
        centred: without the mean anomaly of the globe, the form of forecast centres.
        pooled: products are summed over samples (for all lead times together, over these too)
            before the division, so that days with large anomalies count more.
        weighted: by the cosine of latitude. In ChaosBench's released code weights cancel, because
            they are broadcast against the flattened fields, and each point of all frames counts
            alike; it sums the starts of batches of 32.
    """

    def bind(metric: Metric, compared: Comparison) -> Metric:
        bound = per_variable(metric, compared, PARTS if pooled else ())
        of_latitudes = weights_of(compared.data)
        if of_latitudes is None:
            return bound
        means = Climatology(compared.data, climatology)
        missing = means.missing_of(compared.frames)
        if missing:
            return bound._replace(reason=missing)
        weights = of_latitudes if weighted else np.ones_like(of_latitudes)

        def statistics(
            predicted: np.ndarray, observed: np.ndarray, numbers: np.ndarray, leads: np.ndarray
        ) -> np.ndarray:
            def mean(n: int, t: int) -> np.ndarray:
                return mean_at(means, compared.frames[numbers[n]], int(leads[t]), metric.windows)

            products = anomaly_products(predicted, observed, mean, weights, centred=centred)
            if not weighted:  # each point of all frames counts alike: means become sums
                observed_share = 1 - np.isnan(observed).mean(axis=(-2, -1))  # (N, T, C)
                products *= observed_share.swapaxes(1, 2)[:, :, None]
            shape = (len(products), -1, products.shape[-1])
            return products.reshape(shape) if pooled else correlation(products)

        return bound._replace(statistics=statistics)

    return Metric(
        needs_data,
        finish=_finish if pooled else every_component,
        leads="pool" if pooled else "mean",
        no_value="the forecast or the observation is the climatology itself",
        on_data=bind,
        numbered=True,
    )
