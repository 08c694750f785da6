"""Counts of hits, misses and false alarms: the basis of CSI, POD, success ratio and bias.

An event is a value at or above a threshold. The threshold is in the units of the data, or on a
scale to which the range of the data is mapped (PredBench, appendix B, equation 6).
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from stp.core.errors import ConfigurationError
from stp.metrics.comparison import Comparison
from stp.metrics.metric import Metric, Series
from stp.metrics.scale import NO_RANGE, unit_range

COUNTS = ("hits", "misses", "false_alarms")

Score = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Function of hits, misses and false alarms that returns a score, NaN where there is none."""


def contingency(
    predicted: np.ndarray, observed: np.ndarray, thresholds: Sequence[np.ndarray | float]
) -> np.ndarray:
    """Count hits, misses and false alarms of each frame.

    Args:
        predicted: predicted frames, (N, T, C, H, W).
        observed: observed frames, (N, T, C, H, W).
        thresholds: thresholds in the units of the frames, each a number or an array (C, 1, 1).

    Returns:
        hits, misses and false alarms of the first threshold, then of the next one, ..., float64 (N,
        3 x thresholds, T); NaN if the predicted or observed frame contains NaN, since NaN does not
        mean "no event".
    """
    counts = np.empty((len(predicted), len(thresholds), 3, predicted.shape[1]))
    for n, (p, o) in enumerate(zip(predicted, observed, strict=True)):
        for k, threshold in enumerate(thresholds):
            forecast, event = p >= threshold, o >= threshold
            hits, forecasts, events = (
                np.count_nonzero(mask.reshape(len(p), -1), axis=1)
                for mask in (forecast & event, forecast, event)
            )
            counts[n, k] = hits, events - hits, forecasts - hits
        # A sum is NaN where a value is (or where infinite values cancel), and costs no mask.
        with np.errstate(invalid="ignore"):
            bad = np.isnan(p.sum(axis=(1, 2, 3)) + o.sum(axis=(1, 2, 3)))
        counts[n, :, :, bad] = np.nan
    return counts.reshape(len(predicted), -1, predicted.shape[1])


def mean_over_thresholds(
    score: Score,
    thresholds: Sequence[float],
    of_range: float | None,
    over_leads: str,
    no_value: str,
) -> Metric:
    """Make a metric with several values: the mean score over thresholds, then that of each.

    Args:
        score: function of (hits, misses, false alarms), three arrays of equal shape with counts
            summed over samples and pixels, that returns the scores, in the same shape.
        thresholds: values from which a pixel counts as an event.
        of_range: upper end of the scale of the thresholds; the range of the data is mapped to
            0..of_range. None: thresholds are in the units of the data.
        over_leads: aggregation over lead times: "sum", the score of counts summed over lead times;
            "mean", the mean of the scores of lead times.
        no_value: reason shown where ``score`` is undefined.

    Raises:
        StpError: there are no thresholds, or one is not a number.
    """
    numbers = [t for t in thresholds if isinstance(t, int | float) and not isinstance(t, bool)]
    if not numbers or len(set(numbers)) < len(thresholds):
        raise ConfigurationError(
            f"thresholds are {list(thresholds)}",
            expected="different numbers, one at least, in the units of the data",
        )
    return Metric(
        partial(contingency, thresholds=thresholds),
        finish=partial(_scores, score=score),
        components=tuple(f"{count}{t:g}" for t in thresholds for count in COUNTS),
        leads="pool" if over_leads == "sum" else "mean",
        no_value=no_value,
        series=(Series(), *(Series(threshold=t) for t in thresholds)),
        on_data=None if of_range is None else partial(_in_units, thresholds, of_range),
    )


def _scores(means: np.ndarray, score: Score) -> np.ndarray:
    """Mean score over K thresholds, then each score: counts (..., 3 K, T) to (..., 1 + K, T).

    The mean is NaN if any score is NaN.
    """
    *outer, components, leads = means.shape
    counts = means.reshape(*outer, components // 3, 3, leads)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = score(counts[..., 0, :], counts[..., 1, :], counts[..., 2, :])
    return np.concatenate([each.mean(axis=-2, keepdims=True), each], axis=-2)


def _in_units(
    thresholds: Sequence[float], of_range: float, metric: Metric, compared: Comparison
) -> Metric:
    range_ = unit_range(compared.data.attrs)
    if range_ is None:
        return metric._replace(reason=NO_RANGE)
    offset, scale = (np.asarray(part, np.float64) for part in range_)
    inside = [(t / of_range * scale + offset).astype(np.float32) for t in thresholds]
    return metric._replace(statistics=partial(contingency, thresholds=inside))
