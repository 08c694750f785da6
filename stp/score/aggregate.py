"""From statistics of samples to values: per lead time and overall, with intervals and reasons."""

from typing import Any, NamedTuple

import numpy as np

from stp.metrics.metric import Metric
from stp.score.bootstrap import FEWEST_CLUSTERS, TAILS


class Row(NamedTuple):
    """One value of one convention; ``value`` is None exactly where there is a ``reason``."""

    lead: int | None
    statistic: str
    value: float | None
    n: int
    reason: str | None


def cluster_sums(statistics: np.ndarray, clusters: np.ndarray, count: int) -> np.ndarray:
    """Sums over the samples of each cluster.

    Args:
        statistics: (N, K, T).
        clusters: number of each sample's cluster, (N,).
        count: how many clusters there are.

    Returns:
        float64 (count, K, T); sums of other samples of the same clusters may be added.
    """
    sums = np.zeros((count, *statistics.shape[1:]))
    np.add.at(sums, clusters, statistics)  # one sample after the other
    return sums


def values(metric: Metric, means: np.ndarray) -> np.ndarray:
    """Means over samples (..., K, T) to (..., 1 + T): the overall value, then one per lead time."""
    with np.errstate(all="ignore"):
        per_lead = metric.finish(means)
        if metric.leads == "pool":
            overall = metric.finish(means.mean(axis=-1, keepdims=True))
        else:
            overall = per_lead.mean(axis=-1, keepdims=True)
    return np.concatenate([overall, per_lead], axis=-1)


def rows(
    metric: Metric,
    statistics: np.ndarray,
    means: np.ndarray,
    resampled: np.ndarray,
    *,
    clusters: int,
    leads: int,
) -> list[Row]:
    """All rows of one convention.

    Args:
        metric: the convention.
        statistics: of all samples, (N, K, T').
        means: over samples, (K, T').
        resampled: the same in each resample, (R, K, T'); empty if there are too few clusters.
        clusters: how many clusters there are.
        leads: number of lead times T; the last statistic belongs to lead time T.

    Returns:
        Mean and both ends of the 95 % interval, for all lead times (lead None) and for each.
    """
    found = values(metric, means)
    nan = np.isnan(statistics).any(axis=1)
    infinite = np.isinf(statistics).any(axis=1)
    if clusters >= FEWEST_CLUSTERS:
        spread = values(metric, resampled)
    result = []
    first = leads - statistics.shape[-1] + 1
    for i, value in enumerate(found):
        here = slice(None) if i == 0 else slice(i - 1, i)
        lead = None if i == 0 else first + i - 1
        reason = _why_missing(metric, value, nan[:, here], infinite[:, here])
        result.append(Row(lead, "mean", None if reason else value, len(statistics), reason))
        ends: Any = (None, None)
        if reason is None and clusters < FEWEST_CLUSTERS:
            reason = f"only {clusters} clusters ({FEWEST_CLUSTERS} needed)"
        elif reason is None:
            lost = int((~np.isfinite(spread[:, i])).sum())
            if lost:
                reason = f"{lost} of {len(spread)} resamples have no value"
                reason += f" ({metric.no_value})" if metric.no_value else ""
            else:
                ends = np.quantile(spread[:, i], TAILS)
        for statistic, end in zip(("ci95_low", "ci95_high"), ends, strict=True):
            result.append(Row(lead, statistic, end, clusters, reason))
    return result


def _why_missing(metric: Metric, value: float, nan: np.ndarray, infinite: np.ndarray) -> str | None:
    """The reason why a value is missing; None if it is not."""
    if np.isfinite(value):
        return None
    if nan.any():
        where = "predictions or data are NaN or infinite"
        return f"not a number in {nan.sum()} of {nan.size} frames: {where}"
    because = f" ({metric.no_value})" if metric.no_value else ""
    if infinite.any():
        return f"infinite in {infinite.sum()} of {infinite.size} frames{because}"
    return f"{'undefined' if np.isnan(value) else 'infinite'}{because}"
