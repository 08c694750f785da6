"""Compute values of metrics from statistics: overall and per lead time, with intervals."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stp.metrics.metric import Metric, first_component
from stp.options.score import Bootstrap
from stp.score import bootstrap
from stp.score.blocks import Blocks, explain_too_few, sum_by_group
from stp.score.jackknife import FEWEST_CLUSTERS, leave_one_out_means

if TYPE_CHECKING:
    from stp.score.samples import Availability

Leads = slice | np.ndarray
"""Indices of lead times along the last axis of statistics; a slice or int64 array."""


class Row(NamedTuple):
    """One value of one convention (one exact definition of a metric).

    Attributes:
        lead: lead time, from 1; None for the value of all lead times together.
        statistic: "mean", "median" or "sd" (standard deviation) over samples; "ci95_low" or
            "ci95_high", the lower or upper end of the 95 % interval.
        value: the value; None if there is a ``reason``.
        n: number of samples behind the value; for an end of an interval, number of clusters.
        reason: reason why the value is missing; None if there is a value.
        variable, level, threshold: what the value belongs to; None if the convention does not
            distinguish it.
    """

    lead: int | None
    statistic: str
    value: float | None
    n: int
    reason: str | None
    variable: str | None = None
    level: float | None = None
    threshold: float | None = None


class Uncertainty(NamedTuple):
    """Intervals of the values of one metric over clusters, and why some values have none.

    Arrays have an axis of the S series of the metric (its variables or thresholds), and an axis of
    1 + T' values: first the overall value, then the values at the last T' of the T lead times of a
    forecast. T' is T for most metrics. It is smaller if the first lead times have no statistics: a
    moving average over three lead times has T' = T - 2.

    Attributes:
        undefined: how often the value is undefined when each cluster is left out once, on its own,
            int (S, 1 + T'). Intervals need all these values, so there is no interval if the number
            is above 0. If there are fewer than ten clusters, there is no interval either, but the
            number is 0, since no cluster is left out.
        ends: lower and upper ends of 95 % intervals, (2, S, 1 + T'); NaN without an interval.
        clusters: number of clusters behind the interval of each value, int (1 + T').
    """

    undefined: np.ndarray
    ends: np.ndarray
    clusters: np.ndarray


class NonFinite(NamedTuple):
    """Masks of the NaN and infinite statistics of N samples.

    Attributes:
        nan: whether a statistic is NaN, bool (N, K, T'), for each of the K statistics of a sample
            at the last T' lead times. T' is less than the number of lead times if the first ones
            have no statistics, as for a moving average. K is 1 if the masks of several statistics
            were merged.
        infinite: whether a statistic is infinite, bool with the same shape.
        clips: names of the clips of the N samples.
    """

    nan: np.ndarray
    infinite: np.ndarray
    clips: Sequence[str]

    @classmethod
    def of(cls, statistics: np.ndarray, clips: Sequence[str]) -> "NonFinite":
        """Mark the NaN and infinite entries of statistics.

        Args:
            statistics: K statistics of N samples at the last T' lead times, (N, K, T'). T' is less
                than the number of lead times if the first ones have no statistics, as for a moving
                average.
            clips: names of the clips of the N samples.
        """
        return cls(np.isnan(statistics), np.isinf(statistics), clips)


def values(metric: Metric, means: np.ndarray, leads: Leads = slice(None)) -> np.ndarray:
    """Compute the values of a metric: the overall value first, then one at each lead time.

    Args:
        metric: the metric.
        means: means of its K statistics over samples, at T lead times, (..., K, T).
        leads: indices, along the last axis, of the lead times that the overall value is computed
            from, with equal weight; all by default.

    Returns:
        values, (..., 1 + T); (..., S, 1 + T) if the metric has several series, such as one for each
        of S variables.
    """
    with np.errstate(all="ignore"):
        per_lead = metric.finish(means)
        if metric.leads == "pool":
            overall = metric.finish(means[..., leads].mean(axis=-1, keepdims=True))
        else:
            overall = per_lead[..., leads].mean(axis=-1, keepdims=True)
    return np.concatenate([overall, per_lead], axis=-1)


def leads_with_values(
    metric: Metric, available: "Availability | None", leads: int, count: int
) -> Leads:
    """Select the lead times at which a metric has a value.

    A lead time may lack a value for two reasons. The metric has no statistics at its first T - T'
    lead times: a moving average over three months starts at the third month. Or the forecasts lack
    the lead time, or a part of its window of lead times.

    For example, if the second of T = T' = 4 lead times is missing, the result is [0, 2, 3]. A
    moving average over three of T = 6 months has T' = 4 statistics, at the months 3 to 6. If the
    forecasts are complete, the result is ``slice(None)``: all four have a value.

    Args:
        metric: the metric.
        available: lead times that the forecasts have; None for all.
        leads: number T of lead times of a complete forecast.
        count: number T' <= T of lead times with statistics, the last ones of a forecast.

    Returns:
        indices of the lead times with a value, along an axis of the T' lead times with statistics,
        int64; ``slice(None)`` if the forecasts lack none and the metric has no windows.
    """
    present = range(leads) if available is None else available.leads.tolist()
    if len(present) >= leads and not metric.windows:
        return slice(None)
    first = leads - count
    valued = metric.leads_with_value(present)
    return np.array([t for t in range(count) if t + first in valued], np.int64)


def spreads(
    metrics: Sequence[Metric],
    sums: Sequence[np.ndarray],
    counts: np.ndarray,
    options: Bootstrap,
    *,
    leads: int | None = None,
    blocks: Blocks | None = None,
    available: "Availability | None" = None,
) -> list[Uncertainty]:
    """Compute the intervals of all values of several metrics, from the same resamples.

    Args:
        metrics: the metrics.
        sums: for each metric, the statistics of the samples, summed over each of G clusters, (G,
            K, T'). A metric has K statistics of each sample (`Metric.statistics`), such as the
            squared error of an RMSE. They exist at the last T' lead times of a forecast: T' is less
            than the number of lead times if the first ones have none, as for a moving average.
        counts: number of samples of each cluster, (G,).
        options: number of resamples, and seed.
        leads: number T of lead times of a complete forecast; by default the largest T'.
        blocks: the clusters as blocks of time, if they are such blocks. Blocks are merged until
            they are longer than the lead time of a value or, for the overall value, than the last
            lead time.
        available: lead times and channels that the forecasts have; all by default.

    Returns:
        the uncertainty of each metric, in the order of ``metrics``.
    """
    leads = max(part.shape[-1] for part in sums) if leads is None else leads
    needs = {lead: blocks.groups_for_lead(lead) if blocks else None for lead in range(1, leads + 1)}
    alike: dict[bytes, list[int]] = {}
    for lead, groups in needs.items():
        alike.setdefault(b"" if groups is None else groups.tobytes(), []).append(lead)
    joined: list[Uncertainty] | None = None
    for some in alike.values():
        groups = needs[some[0]]
        merged = _merge_clusters(sums, counts, groups)
        part = _spreads(metrics, *merged, options, leads, available, some)
        if joined is not None:
            part = [_combine_uncertainties(a, b) for a, b in zip(joined, part, strict=True)]
        joined = part
    return joined or []


def _merge_clusters(
    sums: Sequence[np.ndarray], counts: np.ndarray, groups: np.ndarray | None
) -> tuple[Sequence[np.ndarray], np.ndarray]:
    """Sums and counts of merged clusters, without clusters that have no samples."""
    if groups is None:
        return sums, counts
    count = sum_by_group(counts, groups)
    return [sum_by_group(part, groups)[count > 0] for part in sums], count[count > 0]


def _combine_uncertainties(one: Uncertainty, other: Uncertainty) -> Uncertainty:
    """Combine uncertainties of different lead times; those that are not set have 0 clusters."""
    here = other.clusters > 0
    return Uncertainty(*(np.where(here, b, a) for a, b in zip(one, other, strict=True)))


def _spreads(
    metrics: Sequence[Metric],
    sums: Sequence[np.ndarray],
    counts: np.ndarray,
    options: Bootstrap,
    leads: int,
    available: "Availability | None",
    at: Sequence[int],
) -> list[Uncertainty]:
    """Uncertainty at the lead times ``at``; with the last one, also that of the overall value."""
    result, chosen, overall, left_out = [], [], [], []
    shares = [metric.share for metric in metrics]
    for metric, part in zip(metrics, sums, strict=True):
        means = part.sum(axis=0) / counts.sum()
        over = leads_with_values(metric, available, leads, part.shape[-1])
        first = leads - part.shape[-1]
        numbers = [t - first for t in sorted(at) if t > first]
        numbers = [0, *numbers] if leads in at else numbers
        # A copy with another memory order would be summed in another order.
        here = slice(None) if len(numbers) > part.shape[-1] else numbers
        whole = _by_series(values(metric, means, over), means)
        shape = whole.shape
        clusters = np.zeros(shape[-1], np.int64)
        clusters[here] = len(counts)
        result.append(
            Uncertainty(np.zeros(shape, np.int64), np.full((2, *shape), np.nan), clusters)
        )
        chosen.append(here)
        overall.append(whole[..., here])
        if len(counts) >= FEWEST_CLUSTERS:
            without = leave_one_out_means(part, counts)
            left_out.append(_by_series(values(metric, without, over), without)[..., here])
    if len(counts) >= FEWEST_CLUSTERS:
        made = intervals(overall, left_out, counts, options, shares)
        for spread, here, (undefined, ends) in zip(result, chosen, made, strict=True):
            spread.undefined[..., here] = undefined
            spread.ends[..., here] = ends
    return result


def intervals(
    overall: Sequence[np.ndarray],
    left_out: Sequence[np.ndarray],
    counts: np.ndarray,
    options: Bootstrap,
    shares: Sequence[bool],
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Compute the intervals of several arrays of values, from the same resamples.

    An interval is that of the bootstrap-t, if there are at least ten effective clusters. If there
    are fewer, it is that of Student's t or, for shares, the exact one of Clopper and Pearson. The
    exact one is also used for shares if the bootstrap-t has none, or if each cluster is a success
    or a failure as a whole (`stp.score.bootstrap.intervals`).

    Args:
        overall: arrays of values over all clusters, (S, V) each: S series of a metric, V values in
            a series.
        left_out: for each array, the values with each of the G clusters left out in turn, (G, S,
            V).
        counts: number of samples of each cluster, (G,).
        options: number of resamples, and seed.
        shares: for each array, whether its values are shares from 0 to 1.

    Returns:
        for each array, two arrays. The first says how often each value is undefined in
        ``left_out``, int (S, V); if this is above 0, the value has no interval. The second has the
        lower and upper ends of intervals, (2, S, V), NaN without an interval.
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
    non_finite: NonFinite,
    means: np.ndarray,
    spread: Uncertainty,
    *,
    leads: int,
    available: "Availability | None" = None,
    in_blocks: bool = False,
) -> list[Row]:
    """Make all rows of one metric for ``scores.parquet``.

    Args:
        metric: the metric.
        non_finite: masks of the NaN and infinite statistics of all samples.
        means: means of its K statistics over samples, (K, T'), at the last T' of the T lead times
            of a complete forecast. For example, a moving average over three months has T' = T - 2.
        spread: uncertainty of the values, as `spreads` computes it.
        leads: number T of lead times of a complete forecast.
        available: lead times and channels that the forecasts have; all by default.
        in_blocks: whether clusters are blocks of time, merged until they are longer than a lead
            time.

    Returns:
        for each series of the metric (such as one variable), the mean and both ends of its 95 %
        interval, over all lead times (``lead`` is None) and at each lead time.
    """
    over = leads_with_values(metric, available, leads, means.shape[-1])
    every = _by_series(values(metric, means, over), means)
    result = []
    absent = {
        name
        for number, name in enumerate(metric.variables)
        if available is not None and number not in available.channels
    }
    for s, series in enumerate(metric.series):
        if series.variable in absent:
            lacks = f"the forecasts have no {series.variable}"
            result.append(Row(None, "mean", None, len(non_finite.clips), lacks, **series._asdict()))
            continue
        components = _components_of(s, len(metric.series), non_finite.nan.shape[1])
        series_rows = _series_rows(
            metric,
            NonFinite(
                np.asarray(non_finite.nan[:, components].any(axis=1)),
                np.asarray(non_finite.infinite[:, components].any(axis=1)),
                non_finite.clips,
            ),
            every[s],
            Uncertainty(spread.undefined[s], spread.ends[:, s], spread.clusters),
            leads=leads,
            over=over,
            in_blocks=in_blocks,
        )
        result += [row._replace(**series._asdict()) for row in series_rows]
    return result


def sd_rows(metric: Metric, samples: np.ndarray, leads: int) -> list[Row]:
    """Make rows with standard deviations of a metric over samples, overall and at each lead time.

    Squared deviations are divided by the number of samples n, not by n - 1.

    Args:
        metric: the metric.
        samples: what `Metric.statistics` returned for N samples, (N, K, T'). A metric has K
            statistics of a sample and lead time, such as the squared error of an RMSE. They exist
            at the last T' of the T lead times; T' < T for a moving average, which has none at the
            first lead times.
        leads: number T of lead times of a complete forecast.

    Returns:
        the rows; empty if single samples have no value, as for ratios of sums.
    """
    if metric.finish is not first_component:
        return []
    deviations = values(metric, samples).std(axis=0).tolist()
    first = leads - samples.shape[-1] + 1
    numbered = zip([None, *range(first, leads + 1)], deviations, strict=True)
    return [
        Row(lead, "sd", sd, len(samples), None)
        if np.isfinite(sd)
        else Row(lead, "sd", None, len(samples), "a sample has no value")
        for lead, sd in numbered
    ]


def absent(metric: Metric, samples: int) -> list[Row]:
    """Make the rows of a metric that has no values for these data, one for each of its series.

    The ``value`` of each row is None, and its ``reason`` is that of the metric.

    Args:
        metric: the metric, with a ``reason``.
        samples: number of samples.
    """
    return [
        Row(None, "mean", None, samples, metric.reason, **series._asdict())
        for series in metric.series
    ]


def _by_series(every: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Values with an axis for series, (..., S, 1 + T), also for a single series."""
    return every if every.ndim == means.ndim else every[..., None, :]


def _components_of(series: int, of: int, components: int) -> slice:
    """Slice of one series' components; all components if they do not belong to single series."""
    each, rest = divmod(components, of)
    return slice(None) if rest or not each else slice(series * each, (series + 1) * each)


def _series_rows(
    metric: Metric,
    non_finite: NonFinite,
    of_series: np.ndarray,
    spread: Uncertainty,
    *,
    leads: int,
    over: Leads,
    in_blocks: bool,
) -> list[Row]:
    """Make the rows of one series from its values (1 + T',) and masks (N, T')."""
    samples = len(non_finite.clips)
    first = leads - len(of_series) + 2
    result = []
    for i, value in enumerate(of_series.tolist()):
        here = over if i == 0 else slice(i - 1, i)
        lead = None if i == 0 else first + i - 1
        clusters = int(spread.clusters[i])
        if isinstance(over, np.ndarray) and i > 0 and i - 1 not in over:
            if lacks := _missing_leads(metric, first + i - 1):
                result.append(Row(lead, "mean", None, samples, lacks))
            continue
        at_lead = NonFinite(non_finite.nan[:, here], non_finite.infinite[:, here], non_finite.clips)
        reason = _why_missing(metric, value, at_lead)
        result.append(Row(lead, "mean", None if reason else value, samples, reason))
        ends: Any = (None, None)
        if reason is None and clusters < FEWEST_CLUSTERS:
            longer = (lead or leads) if in_blocks else None
            reason = explain_too_few(clusters, FEWEST_CLUSTERS, longer)
        elif reason is None:
            if spread.undefined[i]:
                reason = f"no value without any one of {spread.undefined[i]} of {clusters} clusters"
                reason += f" ({metric.no_value})" if metric.no_value else ""
            elif np.isnan(spread.ends[:, i]).any():
                reason = bootstrap.no_spread(clusters)
            else:
                ends = spread.ends[:, i].tolist()
        for statistic, end in zip(("ci95_low", "ci95_high"), ends, strict=True):
            result.append(Row(lead, statistic, end, clusters, reason))
    return result


def _missing_leads(metric: Metric, lead: int) -> str:
    """Reason that names the missing lead times of a value; empty if lead times have no values."""
    if not metric.windows:
        return f"the forecasts have no lead time {lead}"
    windows = (f"{first} to {last}" for first, last in metric.windows if last == lead)
    return next((f"the forecasts lack some of the lead times {of}" for of in windows), "")


def _why_missing(metric: Metric, value: float, non_finite: NonFinite) -> str | None:
    """The reason for a missing value; None if it is finite."""
    if np.isfinite(value):
        return None
    if non_finite.nan.any():
        where = "predictions or data are NaN or infinite"
        return f"not a number in {_bad_frames_text(non_finite.nan, non_finite.clips)}: {where}"
    because = f" ({metric.no_value})" if metric.no_value else ""
    if non_finite.infinite.any():
        return f"infinite in {_bad_frames_text(non_finite.infinite, non_finite.clips)}{because}"
    return f"{'undefined' if np.isnan(value) else 'infinite'}{because}"


def _bad_frames_text(bad: np.ndarray, clips: Sequence[str]) -> str:
    """The number of bad frames, and the clip of the first one."""
    first = clips[int(bad.any(axis=1).argmax())]
    return f"{bad.sum()} of {bad.size} frames, first in clip {first}"
