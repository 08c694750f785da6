"""Anomaly correlation coefficient of each variable.

    sum of w p' o' / sqrt(sum of w p'^2  sum of w o'^2)

with latitude weights w and anomalies p', o' of forecast and observation from the mean of the
calendar day of the valid time (PredBench, appendix B, equation 5), from ``climatology.zarr`` of the
prepared data. The conventions differ in the years of the climatology, in whether the mean of the
anomalies over the globe is removed first, and in what is summed before the division.
"""

from collections.abc import Callable

import numpy as np
import zarr

from stp.data.zarr_rows import MappedRows
from stp.metrics.comparison import ComparedData, Comparison
from stp.metrics.latitude import coordinate, per_variable, weights_of
from stp.metrics.metric import Metric, every_component, needs_data

PARTS = ("po", "pp", "oo")


class Climatology:
    """The mean of each calendar day, as WeatherBench is prepared with.

    Args:
        data: the prepared data.
        kind: "with_validation" (as published) or "without_validation".

    Attributes:
        missing: why there is no such climatology; empty if there is one.
    """

    def __init__(self, data: ComparedData, kind: str) -> None:
        store = data.folder / "climatology.zarr"
        hours = coordinate(data, "time")
        self.missing = ""
        if not (store / kind / "zarr.json").exists():
            self.missing = f"the prepared data have no daily climatology {kind}"
        elif hours is None:
            self.missing = "the prepared data have no coordinate time (hours since 1970)"
        else:
            self._means = MappedRows(store / kind)
            self._channels = data.channels
            found = zarr.open_array(str(store / "day"), mode="r", zarr_format=3)[:]
            self._row = {str(day): i for i, day in enumerate(np.asarray(found).tolist())}
            self._stamps = hours.astype("datetime64[h]")

    def day(self, frame: int) -> str:
        """Calendar day of a frame of the prepared data: "02-29"."""
        return str(self._stamps[frame].astype("datetime64[D]"))[5:]

    def missing_of(self, frames: np.ndarray) -> str:
        """Why there is no mean for some of these frames; empty if there is one for all."""
        if self.missing:
            return self.missing
        for day in sorted({self.day(frame) for frame in np.unique(frames).tolist()}):
            row = self._row.get(day)
            if row is None or np.isnan(self._means.read(row, row + 1).flat[0]):
                return f"the climatology has no {day} (month-day)"
        return ""

    def read(self, frame: int) -> np.ndarray:
        """The mean of the day of a frame, float32 (C, H, W)."""
        row = self._row[self.day(frame)]
        return np.asarray(self._means.read(row, row + 1)[0][self._channels])


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
        weights: of latitudes, with mean 1, (H,).
        centred: remove the weighted mean of the anomalies of each frame first.

    Returns:
        float64 (N, C, 3, T): means over H, W of w p' o', w p'^2, w o'^2.
    """
    samples, leads, channels, height, width = predicted.shape
    share = (weights / (height * width))[:, None]
    products = np.empty((samples, channels, 3, leads))
    for n in range(samples):
        for t in range(leads):
            mean = climatology(n, t).astype(np.float64)
            p, o = predicted[n, t] - mean, observed[n, t] - mean
            if centred:
                p -= (p * share).sum(axis=(1, 2), keepdims=True)
                o -= (o * share).sum(axis=(1, 2), keepdims=True)
            for k, (a, b) in enumerate(((p, o), (p, p), (o, o))):
                products[n, :, k, t] = np.einsum("chw,chw->ch", a, b) @ share[:, 0]
    return products


def correlation(products: np.ndarray) -> np.ndarray:
    """(..., C, 3, T) to (..., C, T); infinite where an anomaly vanishes everywhere, NaN stays."""
    po, pp, oo = np.moveaxis(products, -2, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((pp == 0) | (oo == 0), np.inf, po / np.sqrt(pp * oo))


def _finish(means: np.ndarray) -> np.ndarray:
    *outer, components, leads = means.shape
    return correlation(means.reshape(*outer, components // 3, 3, leads))


def _convention(kind: str, *, centred: bool = False, pooled: bool = False) -> Metric:
    def bind(metric: Metric, compared: Comparison) -> Metric:
        bound = per_variable(metric, compared, PARTS if pooled else ())
        weights = weights_of(compared.data)
        if weights is None:
            return bound
        climatology = Climatology(compared.data, kind)
        missing = climatology.missing_of(compared.frames)
        if missing:
            return bound._replace(reason=missing)

        def statistics(
            predicted: np.ndarray, observed: np.ndarray, numbers: np.ndarray, leads: np.ndarray
        ) -> np.ndarray:
            def mean(n: int, t: int) -> np.ndarray:
                return climatology.read(int(compared.frames[numbers[n], leads[t]]))

            products = anomaly_products(predicted, observed, mean, weights, centred=centred)
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


per_frame = _convention("with_validation")
"""Of each frame, then the mean over frames; climatology 1993-2016, which has the validation year in
it (PredBench, appendix B, equation 5, and its code)."""

per_frame_without_validation = _convention("without_validation")
"""As ``per_frame``, with a climatology of training years only, which no choice of a model has
seen."""

centred = _convention("with_validation", centred=True)
"""As ``per_frame``, without the mean anomaly of the globe, the centred form of forecast centres."""

pooled = _convention("with_validation", pooled=True)
"""Products summed over samples (for all lead times together, over these too) before the division:
days with large anomalies count more."""
