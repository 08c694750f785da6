"""From statistics of samples to values: per lead time and overall, with intervals and reasons."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stp.metrics.metric import Metric, first_component
from stp.options.score import Bootstrap
from stp.score import bootstrap
from stp.score.blocks import Blocks, few, summed
from stp.score.jackknife import FEWEST_CLUSTERS, left_out_means

Leads = slice | np.ndarray
"""Numbers of lead times along the last axis of statistics."""


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
    """Uncertainty of the values of one convention, from a bootstrap over clusters.

    Attributes:
        lost: number of undefined leave-one-cluster-out values, int (S, 1 + T').
        ends: of 95 % intervals, (2, S, 1 + T'); NaN where there is none.
        clusters: how many there are, int (1 + T'); with too few nothing else is known.
    """

    lost: np.ndarray
    ends: np.ndarray
    clusters: np.ndarray


class There(NamedTuple):
    """Which starts, lead times and variables the forecasts have; by default all.

    Attributes:
        leads: numbers of lead times, from 0.
        variables: numbers of variables, of conventions whose series are about them.
    """

    leads: frozenset[int] | None = None
    variables: frozenset[int] | None = None


ALL_THERE = There()


class Flaws(NamedTuple):
    """Counts of non-finite statistics.

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
        """Mark the non-finite numbers of statistics, float64 (N, K, T')."""
        return cls(np.isnan(statistics), np.isinf(statistics), clips)


def values(metric: Metric, means: np.ndarray, leads: Leads = slice(None)) -> np.ndarray:
    """Compute the values of a convention: over all lead times first, then at each lead time.

    Args:
        metric: the convention.
        means: of its statistics over samples, (..., K, T).
        leads: lead times of the overall value, equally weighted.

    Returns:
        (..., 1 + T), or (..., S, 1 + T) where the convention has several series.
    """
    with np.errstate(all="ignore"):
        per_lead = metric.finish(means)
        if metric.leads == "pool":
            overall = metric.finish(means[..., leads].mean(axis=-1, keepdims=True))
        else:
            overall = per_lead[..., leads].mean(axis=-1, keepdims=True)
    return np.concatenate([overall, per_lead], axis=-1)


def there_of(metric: Metric, there: There, leads: int, count: int) -> Leads:
    """Indices of the lead times with a value, among the last ``count`` of ``leads``."""
    if there.leads is None and not metric.windows:
        return slice(None)
    first = leads - count
    valued = metric.valued(range(leads) if there.leads is None else there.leads)
    return np.array([t for t in range(count) if t + first in valued], np.int64)


def spreads(
    metrics: Sequence[Metric],
    sums: Sequence[np.ndarray],
    counts: np.ndarray,
    options: Bootstrap,
    *,
    leads: int | None = None,
    blocks: Blocks | None = None,
    there: There = ALL_THERE,
) -> list[Spread]:
    """Intervals of all values of several conventions, from the same resamples.

    Args:
        metrics: the conventions.
        sums: over the clusters, (G, K, T') each.
        counts: number of samples of each cluster, (G,).
        options: how many resamples.
        leads: number of lead times T; the largest T' unless given.
        blocks: where the clusters lie in time, if they are blocks of it; those of a value at a lead
            time are longer than it, those of the overall value longer than the last one.
        there: what forecasts have.
    """
    leads = max(part.shape[-1] for part in sums) if leads is None else leads
    # Position in a row of values -> lead time: 0 is the overall one.
    needs = {lead: blocks.merged(lead) if blocks else None for lead in range(1, leads + 1)}
    alike: dict[bytes, list[int]] = {}
    for lead, groups in needs.items():
        alike.setdefault(b"" if groups is None else groups.tobytes(), []).append(lead)
    found: list[Spread] | None = None
    for some in alike.values():
        groups = needs[some[0]]
        merged = _merged(sums, counts, groups)
        its = _spreads(metrics, *merged, options, leads, there, some)
        found = its if found is None else [_either(a, b) for a, b in zip(found, its, strict=True)]
    return found or []


def _merged(
    sums: Sequence[np.ndarray], counts: np.ndarray, groups: np.ndarray | None
) -> tuple[Sequence[np.ndarray], np.ndarray]:
    """Sums and counts of merged clusters that have samples."""
    if groups is None:
        return sums, counts
    count = summed(counts, groups)
    return [summed(part, groups)[count > 0] for part in sums], count[count > 0]


def _either(one: Spread, other: Spread) -> Spread:
    """Join spreads of different lead times, whose clusters are 0 where they know nothing."""
    here = other.clusters > 0
    return Spread(*(np.where(here, b, a) for a, b in zip(one, other, strict=True)))


def _spreads(
    metrics: Sequence[Metric],
    sums: Sequence[np.ndarray],
    counts: np.ndarray,
    options: Bootstrap,
    leads: int,
    there: There,
    at: Sequence[int],
) -> list[Spread]:
    """Spreads of the values at some lead times; the overall value belongs to the last one."""
    result, chosen, overall, left_out = [], [], [], []
    shares = [metric.share for metric in metrics]
    for metric, part in zip(metrics, sums, strict=True):
        means = part.sum(axis=0) / counts.sum()
        over = there_of(metric, there, leads, part.shape[-1])
        first = leads - part.shape[-1]
        numbers = [t - first for t in sorted(at) if t > first]
        numbers = [0, *numbers] if leads in at else numbers
        # A copy in another order in memory would be added up in another order.
        here = slice(None) if len(numbers) > part.shape[-1] else numbers
        whole = _by_series(values(metric, means, over), means)
        shape = whole.shape
        clusters = np.zeros(shape[-1], np.int64)
        clusters[here] = len(counts)
        result.append(Spread(np.zeros(shape, np.int64), np.full((2, *shape), np.nan), clusters))
        chosen.append(here)
        overall.append(whole[..., here])
        if len(counts) >= FEWEST_CLUSTERS:
            without = left_out_means(part, counts)
            left_out.append(_by_series(values(metric, without, over), without)[..., here])
    if len(counts) >= FEWEST_CLUSTERS:
        made = intervals(overall, left_out, counts, options, shares)
        for spread, here, (lost, ends) in zip(result, chosen, made, strict=True):
            spread.lost[..., here] = lost
            spread.ends[..., here] = ends
    return result


def intervals(
    overall: Sequence[np.ndarray],
    left_out: Sequence[np.ndarray],
    counts: np.ndarray,
    options: Bootstrap,
    shares: Sequence[bool],
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Intervals of several arrays of values, from the same resamples.

    Args:
        overall: values of all clusters, (S, V) each.
        left_out: the same without each of the clusters, (G, S, V) each.
        counts: number of samples of each cluster, (G,).
        options: how many resamples.
        shares: whether the values of each array are shares.

    Returns:
        how many of the values without one of the clusters do not exist, int (S, V), and lower and
        upper ends, (2, S, V), NaN where there are none.
    """
    flat = np.concatenate([part.reshape(len(counts), -1) for part in left_out], axis=1)
    ends = bootstrap.intervals(
        np.concatenate([part.reshape(-1) for part in overall]),
        flat,
        counts,
        resamples=options.resamples,
        seed=options.seed,
        share=np.repeat(shares, [part.size for part in overall]),
    )
    of_each = np.split(ends, np.cumsum([part.size for part in overall])[:-1], axis=1)
    return [
        ((~np.isfinite(without)).sum(axis=0), both.reshape(2, *value.shape))
        for value, without, both in zip(overall, left_out, of_each, strict=True)
    ]


def rows(
    metric: Metric,
    flaws: Flaws,
    means: np.ndarray,
    spread: Spread,
    *,
    leads: int,
    there: There = ALL_THERE,
    in_blocks: bool = False,
) -> list[Row]:
    """All rows of one convention.

    Args:
        metric: the convention.
        flaws: of the statistics of all samples.
        means: over samples, (K, T').
        spread: of its values.
        leads: number of lead times T; the last statistic belongs to lead time T.
        there: what forecasts have.
        in_blocks: whether clusters are blocks that are longer than lead times.

    Returns:
        Mean and both ends of the 95 % interval, for all lead times (lead None) and for each, of
        each series.
    """
    over = there_of(metric, there, leads, means.shape[-1])
    found = _by_series(values(metric, means, over), means)
    result = []
    absent = {
        name
        for number, name in enumerate(metric.variables)
        if there.variables is not None and number not in there.variables
    }
    for s, series in enumerate(metric.series):
        if series.variable in absent:
            lacks = f"the forecasts have no {series.variable}"
            result.append(Row(None, "mean", None, len(flaws.clips), lacks, **series._asdict()))
            continue
        components = _components_of(s, len(metric.series), flaws.nan.shape[1])
        its_rows = _series_rows(
            metric,
            Flaws(
                np.asarray(flaws.nan[:, components].any(axis=1)),
                np.asarray(flaws.infinite[:, components].any(axis=1)),
                flaws.clips,
            ),
            found[s],
            Spread(spread.lost[s], spread.ends[:, s], spread.clusters),
            leads=leads,
            over=over,
            in_blocks=in_blocks,
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
    spread: Spread,
    *,
    leads: int,
    over: Leads,
    in_blocks: bool,
) -> list[Row]:
    """Rows of one series: values (1 + T',), their spread (1 + T') and flaws (N, T')."""
    samples = len(flaws.clips)
    first = leads - len(found) + 2
    result = []
    for i, value in enumerate(found.tolist()):
        here = over if i == 0 else slice(i - 1, i)
        lead = None if i == 0 else first + i - 1
        clusters = int(spread.clusters[i])
        if isinstance(over, np.ndarray) and i > 0 and i - 1 not in over:
            if lacks := _what_is_lacking(metric, first + i - 1):
                result.append(Row(lead, "mean", None, samples, lacks))
            continue
        at_lead = Flaws(flaws.nan[:, here], flaws.infinite[:, here], flaws.clips)
        reason = _why_missing(metric, value, at_lead)
        result.append(Row(lead, "mean", None if reason else value, samples, reason))
        ends: Any = (None, None)
        if reason is None and clusters < FEWEST_CLUSTERS:
            longer = (lead or leads) if in_blocks else None
            reason = few(clusters, FEWEST_CLUSTERS, longer)
        elif reason is None:
            if spread.lost[i]:
                reason = f"no value without any one of {spread.lost[i]} of {clusters} clusters"
                reason += f" ({metric.no_value})" if metric.no_value else ""
            elif np.isnan(spread.ends[:, i]).any():
                reason = bootstrap.no_spread(clusters)
            else:
                ends = spread.ends[:, i].tolist()
        for statistic, end in zip(("ci95_low", "ci95_high"), ends, strict=True):
            result.append(Row(lead, statistic, end, clusters, reason))
    return result


def _what_is_lacking(metric: Metric, lead: int) -> str:
    """Which lead times are not there for a value at one; empty if there never is a value."""
    if not metric.windows:
        return f"the forecasts have no lead time {lead}"
    windows = (f"{first} to {last}" for first, last in metric.windows if last == lead)
    return next((f"the forecasts lack some of the lead times {its}" for its in windows), "")


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
