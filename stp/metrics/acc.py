"""Anomaly correlation coefficient of each variable.

    sum of w p' o' / sqrt(sum of w p'^2  sum of w o'^2)

with latitude weights w, and anomalies p' and o' of forecast and observation: differences from the
climatological mean of the calendar day of the valid time (PredBench, appendix B, equation 5;
ChaosBench, equation S3). The climatology is read from ``climatology.zarr`` of the prepared data.
The conventions differ in the years of the climatology, in whether the mean anomaly of the globe is
removed first, in the sums that are divided, and in whether weights are used (ChaosBench's released
code uses none). Points without observations are left out (`stp.metrics.globe`).
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
    """Compute latitude-weighted means of the products of anomalies.

    Args:
        predicted: predicted fields, (N, T, C, H, W).
        observed: observed fields, (N, T, C, H, W).
        climatology: function of sample index and lead time index that returns the climatological
            mean at the valid time, (C, H, W).
        weights: weights of latitudes, in any unit, (H,).
        centred: whether the weighted mean anomaly of each frame is removed first.

    Returns:
        weighted means over H, W of p' o', p'^2 and o'^2, with predicted anomalies p' and observed
        anomalies o', float64 (N, C, 3, T).
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
    """Mean square minus squared mean; 0 where the difference is within rounding error."""
    variance = square - mean * mean
    return np.where(variance <= 1e-12 * square, 0.0, variance)


def correlation(products: np.ndarray) -> np.ndarray:
    """Compute correlations of anomalies from the means of their products (`anomaly_products`).

    Args:
        products: means of p' o', p'^2 and o'^2, with predicted anomalies p' and observed anomalies
            o', (..., C, 3, T).

    Returns:
        correlations, (..., C, T). Where p' or o' is zero everywhere, a correlation does not exist;
        infinity stands for this case, as in all metrics, since NaN means bad data. NaN stays NaN.
    """
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
    """Anomaly correlation coefficient of each variable.

    ChaosBench's released code computes it with ``climatology="published"``, ``pooled=True`` and
    ``weighted=False``, except that it pools batches of 32 starts instead of all starts.

    Args:
        climatology: years over which the climatology is averaged: "with_validation", training and
            validation years (for PredBench 1993-2016); "without_validation", training years;
            "published", 1994-2023, which include the test years. The latter has a mean for each day
            number of the year instead of each date, and exists in data that were prepared with the
            option ``published_climatology``.
        centred: whether the mean anomaly of the globe is removed first, as is usual at forecast
            centres.
        pooled: whether products are summed over samples (and, for the value of all lead times, over
            lead times) before the division, so that days with large anomalies count more.
        weighted: whether grid points are weighted by the cosine of latitude; otherwise all points
            have equal weight.
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
        # ChaosBench's code broadcasts its weights against flattened fields, so that they cancel.
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
