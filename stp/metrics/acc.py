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

import numpy as np

from stp.metrics.climatology import Climatology
from stp.metrics.comparison import Comparison
from stp.metrics.globe import moments
from stp.metrics.members import of_members
from stp.metrics.metric import Metric, Windows, every_component, needs_data
from stp.metrics.regions import within
from stp.metrics.weeks import WEEKS, mean_of_weeks

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
        weights: of latitudes, (H,).
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
    found = square - mean * mean
    return np.where(found <= 1e-12 * square, 0.0, found)


def correlation(products: np.ndarray) -> np.ndarray:
    """(..., C, 3, T) to (..., C, T); infinite where an anomaly vanishes everywhere, NaN stays."""
    po, pp, oo = np.moveaxis(products, -2, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((pp == 0) | (oo == 0), np.inf, po / np.sqrt(pp * oo))


def _finish(means: np.ndarray) -> np.ndarray:
    *outer, components, leads = means.shape
    return correlation(means.reshape(*outer, components // 3, 3, leads))


def _convention(
    kind: str,
    *,
    centred: bool = False,
    pooled: bool = False,
    weighted: bool = True,
    region: str = "",
    windows: Windows = (),
) -> Metric:
    def bind(metric: Metric, compared: Comparison) -> Metric:
        bound, cut = within(metric, compared, region, PARTS if pooled else ())
        if cut is None:
            return bound
        climatology = Climatology(compared.data, kind)
        missing = climatology.missing_of(compared.frames)
        if missing:
            return bound._replace(reason=missing)

        def statistics(
            predicted: np.ndarray, observed: np.ndarray, numbers: np.ndarray, leads: np.ndarray
        ) -> np.ndarray:
            def mean(n: int, t: int) -> np.ndarray:
                frames = compared.frames[numbers[n]]
                if windows:
                    return cut(mean_of_weeks(climatology, frames, int(leads[t])))
                return cut(climatology.read(int(frames[leads[t]])))

            pair = cut(predicted), cut(observed)
            weights = cut.weights if weighted else np.ones_like(cut.weights)
            products = anomaly_products(*pair, mean, weights, centred=centred)
            if not weighted:  # each point of all frames counts alike: means become sums
                observed_share = 1 - np.isnan(pair[1]).mean(axis=(-2, -1))  # (N, T, C)
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
        windows=windows,
    )


per_frame = _convention("with_validation")
"""Of each frame, then the mean over frames; climatology 1993-2016, which has the validation year in
it (PredBench, appendix B, equation 5, and its code)."""

per_frame_without_validation = _convention("without_validation")
"""As ``per_frame``, with a climatology of training years only, which no choice of a model has
seen (ChaosBench, equation S3, which is not centred; the paper's climatology is of 1994-2023)."""

per_frame_without_validation_of_members = of_members(per_frame_without_validation)
"""The mean over members of ``per_frame_without_validation`` (ChaosBench, equation S16)."""

per_frame_published = _convention("published")
"""As ``per_frame``, with the climatology of ChaosBench's released code: 1994-2023, by the number of
the day in its year, test years among them. Data have it that were prepared with
``published_climatology``."""

weekly = _convention("without_validation", windows=WEEKS)
"""As ``per_frame_without_validation``, of the mean anomalies of weeks 1, 2, 3-4 and 5-6."""

without_validation_tropics = _convention("without_validation", region="tropics")
without_validation_northern_extratropics = _convention(
    "without_validation", region="northern_extratropics"
)
without_validation_southern_extratropics = _convention(
    "without_validation", region="southern_extratropics"
)
without_validation_europe = _convention("without_validation", region="europe")
without_validation_north_america = _convention("without_validation", region="north_america")
"""As ``per_frame_without_validation``, of one of the boxes of `stp.metrics.regions`."""

centred = _convention("with_validation", centred=True)
"""As ``per_frame``, without the mean anomaly of the globe, the centred form of forecast centres."""

pooled = _convention("with_validation", pooled=True)
"""Products summed over samples (for all lead times together, over these too) before the division:
days with large anomalies count more."""

pooled_published = _convention("published", pooled=True, weighted=False)
"""What ChaosBench's released code computes, but for its batches: there the weights cancel, because
they are broadcast against the flattened fields, and products are summed over the starts of a batch
of 32 before the division. Here they are summed over all starts. Climatology as for
``per_frame_published``."""
