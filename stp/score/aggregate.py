"""From statistics of samples to values: per lead time and overall, with intervals and reasons."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stp.metrics.metric import Metric, first_component
from stp.options.score import Bootstrap
from stp.score import bootstrap
from stp.score.jackknife import FEWEST_CLUSTERS, left_out_means


class Row(NamedTuple):
    """One value of one convention; ``value`` is None exactly where there is a ``reason``."""

    lead: int | None
    statistic: str
    value: float | None
    n: int
    reason: str | None
    variable: str | None = None
    level: float | None = None
    threshold: float | None = None


class Spread(NamedTuple):
    """What clusters say of the values of one convention.

    Attributes:
        lost: how many of the values without one of the clusters do not exist, int (S, 1 + T').
        ends: of 95 % intervals, (2, S, 1 + T'); NaN where there is none.
    """

    lost: np.ndarray
    ends: np.ndarray


class Flaws(NamedTuple):
    """Where statistics are no finite numbers.

    Attributes:
        nan: bool (N, K, T'); K is 1 where it is not known of which component.
        infinite: likewise.
        clips: names of the N samples.
    """

    nan: np.ndarray
    infinite: np.ndarray
    clips: Sequence[str]

    @classmethod
    def of(cls, statistics: np.ndarray, clips: Sequence[str]) -> "Flaws":
        """Look for them in statistics (N, K, T')."""
        return cls(np.isnan(statistics), np.isinf(statistics), clips)


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
    """Means over samples (..., K, T) to values: the overall one, then one per lead time.

    Returns:
        (..., 1 + T), or (..., S, 1 + T) where the convention has several series.
    """
    with np.errstate(all="ignore"):
        per_lead = metric.finish(means)
        if metric.leads == "pool":
            overall = metric.finish(means.mean(axis=-1, keepdims=True))
        else:
            overall = per_lead.mean(axis=-1, keepdims=True)
    return np.concatenate([overall, per_lead], axis=-1)


def spreads(
    metrics: Sequence[Metric], sums: Sequence[np.ndarray], counts: np.ndarray, options: Bootstrap
) -> list[Spread]:
    """Intervals of all values of several conventions, from the same resamples.

    Args:
        metrics: the conventions.
        sums: over the clusters, (G, K, T') each.
        counts: number of samples of each cluster, (G,).
        options: how many resamples.
    """
    overall, left_out = [], []
    for metric, part in zip(metrics, sums, strict=True):
        means, without = part.sum(axis=0) / counts.sum(), left_out_means(part, counts)
        overall.append(_by_series(values(metric, means), means))
        left_out.append(_by_series(values(metric, without), without))
    flat = np.concatenate([part.reshape(len(counts), -1) for part in left_out], axis=1)
    ends = bootstrap.intervals(
        np.concatenate([part.reshape(-1) for part in overall]),
        flat,
        counts,
        resamples=options.resamples,
        seed=options.seed,
    )
    of_each = np.split(ends, np.cumsum([part.size for part in overall])[:-1], axis=1)
    return [
        Spread((~np.isfinite(without)).sum(axis=0), both.reshape(2, *value.shape))
        for value, without, both in zip(overall, left_out, of_each, strict=True)
    ]


def rows(
    metric: Metric,
    flaws: Flaws,
    means: np.ndarray,
    spread: Spread | None,
    *,
    clusters: int,
    leads: int,
) -> list[Row]:
    """All rows of one convention.

    Args:
        metric: the convention.
        flaws: of the statistics of all samples.
        means: over samples, (K, T').
        spread: of its values; None if there are too few clusters.
        clusters: how many clusters there are.
        leads: number of lead times T; the last statistic belongs to lead time T.

    Returns:
        Mean and both ends of the 95 % interval, for all lead times (lead None) and for each, of
        each series.
    """
    found = _by_series(values(metric, means), means)
    result = []
    for s, series in enumerate(metric.series):
        components = _components_of(s, len(metric.series), flaws.nan.shape[1])
        its_rows = _series_rows(
            metric,
            Flaws(
                np.asarray(flaws.nan[:, components].any(axis=1)),
                np.asarray(flaws.infinite[:, components].any(axis=1)),
                flaws.clips,
            ),
            found[s],
            None if spread is None else Spread(spread.lost[s], spread.ends[:, s]),
            clusters=clusters,
            first=leads - means.shape[-1] + 1,
        )
        result += [row._replace(**series._asdict()) for row in its_rows]
    return result


def sd_rows(metric: Metric, samples: np.ndarray, leads: int) -> list[Row]:
    """Standard deviations over samples (ddof 0), of all lead times together and of each.

    Args:
        metric: the convention.
        samples: statistics of single samples, (N, K, T').
        leads: number of lead times T.

    Returns:
        Rows; none where single samples have no value, as with sums that make a ratio.
    """
    if metric.finish is not first_component:
        return []
    found = values(metric, samples).std(axis=0).tolist()
    first = leads - samples.shape[-1] + 1
    numbered = zip([None, *range(first, leads + 1)], found, strict=True)
    return [
        Row(lead, "sd", sd, len(samples), None)
        if np.isfinite(sd)
        else Row(lead, "sd", None, len(samples), "a sample has no value")
        for lead, sd in numbered
    ]


def absent(metric: Metric, samples: int) -> list[Row]:
    """Rows of a convention that these data have no value of: NULL for all lead times."""
    return [
        Row(None, "mean", None, samples, metric.reason, **series._asdict())
        for series in metric.series
    ]


def _by_series(found: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Values with an axis of series, (..., S, 1 + T), also where there is only one."""
    return found if found.ndim == means.ndim else found[..., None, :]


def _components_of(series: int, of: int, components: int) -> slice:
    """The components of one series; all where they are not dealt out."""
    each, rest = divmod(components, of)
    return slice(None) if rest or not each else slice(series * each, (series + 1) * each)


def _series_rows(
    metric: Metric,
    flaws: Flaws,
    found: np.ndarray,
    spread: Spread | None,
    *,
    clusters: int,
    first: int,
) -> list[Row]:
    """Rows of one series: values (1 + T',), their spread (1 + T') and flaws (N, T')."""
    samples = len(flaws.clips)
    result = []
    for i, value in enumerate(found.tolist()):
        here = slice(None) if i == 0 else slice(i - 1, i)
        lead = None if i == 0 else first + i - 1
        at_lead = Flaws(flaws.nan[:, here], flaws.infinite[:, here], flaws.clips)
        reason = _why_missing(metric, value, at_lead)
        result.append(Row(lead, "mean", None if reason else value, samples, reason))
        ends: Any = (None, None)
        if reason is None and spread is None:
            reason = f"only {clusters} clusters ({FEWEST_CLUSTERS} needed)"
        elif reason is None and spread is not None:
            if spread.lost[i]:
                reason = f"no value without any one of {spread.lost[i]} of {clusters} clusters"
                reason += f" ({metric.no_value})" if metric.no_value else ""
            elif np.isnan(spread.ends[:, i]).any():
                reason = f"nearly all of the {clusters} clusters have the same value"
            else:
                ends = spread.ends[:, i].tolist()
        for statistic, end in zip(("ci95_low", "ci95_high"), ends, strict=True):
            result.append(Row(lead, statistic, end, clusters, reason))
    return result


def _why_missing(metric: Metric, value: float, flaws: Flaws) -> str | None:
    """The reason why a value is missing; None if it is not."""
    if np.isfinite(value):
        return None
    if flaws.nan.any():
        where = "predictions or data are NaN or infinite"
        return f"not a number in {_counted(flaws.nan, flaws.clips)}: {where}"
    because = f" ({metric.no_value})" if metric.no_value else ""
    if flaws.infinite.any():
        return f"infinite in {_counted(flaws.infinite, flaws.clips)}{because}"
    return f"{'undefined' if np.isnan(value) else 'infinite'}{because}"


def _counted(bad: np.ndarray, clips: Sequence[str]) -> str:
    """How many frames are bad, and whose the first one is."""
    first = clips[int(bad.any(axis=1).argmax())]
    return f"{bad.sum()} of {bad.size} frames, first in clip {first}"
