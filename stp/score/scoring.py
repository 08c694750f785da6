"""Score forecasts from any source.

Forecasts and truth are read in blocks of samples (`stp.score.samples`). Of each sample only
statistics are kept (a few numbers per convention and lead time), and their sums over clusters. All
values and intervals are computed from these, so they do not depend on the blocks.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from stp.core.job import Job
from stp.metrics.comparison import ComparedData, Comparison, on_data
from stp.metrics.metric import Metric, NetworkInputs, Series, SetValue
from stp.options.score import ScoreOptions
from stp.score import aggregate, conventions, tables
from stp.score.accumulate import Accumulated, accumulate
from stp.score.members import Members
from stp.score.samples import Samples


def score(
    job: Job,
    options: ScoreOptions,
    data: ComparedData,
    predictions: Samples,
    *,
    where: str,
    threads: int,
    spread: bool = False,
    densities: Mapping[str, np.ndarray] | None = None,
) -> dict[str, Any]:
    """Score forecasts from any source.

    Values are written to ``scores.parquet``, values of single samples to ``sample_scores.parquet``,
    and sums over clusters (dependent samples, such as those of one video) to
    ``cluster_sums.parquet``.

    Args:
        job: the job, used for its folders, runtime and progress.
        options: options of the recipe.
        data: the prepared data.
        predictions: forecasts and observations.
        where: source of the forecasts, for errors.
        threads: number of blocks that are computed at the same time.
        spread: whether rows with standard deviations over samples are written too.
        densities: predicted log-densities at the observed positions of people, (N, people, T), by
            kind of density; none by default.

    Returns:
        numbers of samples, members, clusters and lead times, and, under ``values``, the overall
        value of each convention by name.
    """
    networks = NetworkInputs(
        options.weights,
        job.runtime.get("weights", {}),
        options.features,
        job.inputs,
        job.runtime.get("device", "auto"),
        options.threads,
    )
    loaded = {
        name: conventions.build(name, of).with_networks(name, networks)
        for name, of in options.conventions.items()
    }
    in_channels = len(predictions.available.channels) < data.shape[0]
    members = Members(predictions.members, options.statistic, options.higher_is_better)
    members.check(where)
    compared = Comparison(data, predictions.frame_numbers(), predictions.members, densities or {})
    bound = {
        name: members.adapt_metric(name, _bind_metric(metric, compared, predictions))
        for name, metric in loaded.items()
        if isinstance(metric, Metric)
    }
    metrics = {name: metric for name, metric in bound.items() if not metric.reason}

    codes, names = pd.factorize(predictions.index["cluster"])
    if predictions.blocks is not None:  # including those without forecasts
        names = pd.Index(predictions.blocks.names)
        codes = names.get_indexer(pd.Index(predictions.index["cluster"].astype(str)))
    counts = np.bincount(codes, minlength=len(names))
    kept = accumulate(job, predictions, metrics, members, codes, len(names), threads)
    lacks = _describe_lacks(predictions, data)
    scored = _rows(options, metrics, kept, counts, predictions)
    if spread:
        for name, metric in metrics.items():
            if (each := kept[name].samples) is not None:
                scored[name] += aggregate.sd_rows(metric, each, predictions.leads)
    absent = {n: aggregate.absent(m, len(codes)) for n, m in bound.items() if m.reason}

    variable = _variable(data)
    rows = {
        # A convention without series of its own gets the data's only variable, if there is one.
        name: [row._replace(variable=variable) for row in of_metric]
        if bound[name].series == (Series(),)
        else of_metric
        for name, of_metric in ((name, scored.get(name) or absent[name]) for name in bound)
    }
    for name, of_sets in loaded.items():
        if isinstance(of_sets, SetValue):
            value = SetValue(None, len(codes), lacks) if lacks else of_sets
            rows[name] = [aggregate.Row(None, "mean", *value, variable)]
    clips = [str(clip) for clip in predictions.index["clip"]]
    clusters = [str(name) for name in names]
    tables.write_scores(job.out / "scores.parquet", options.cell, rows)
    tables.write_samples(
        job.out / "sample_scores.parquet",
        options.cell,
        variable,
        clips,
        [clusters[code] for code in codes],
        _sample_columns(metrics, kept, variable, predictions),
    )
    sums = {name: accumulated.sums for name, accumulated in kept.items()}
    tables.write_clusters(
        job.out / "cluster_sums.parquet",
        clusters,
        counts,
        sums,
        blocks=predictions.blocks,
        defined={
            name: _defined_mask(metrics[name], each.shape, predictions)
            for name, each in sums.items()
        },
        lacks={name: lacks for name in sums if not metrics[name].is_by_variable and in_channels},
    )
    return {
        "samples": len(codes),
        "members": predictions.members,
        "clusters": int((counts > 0).sum()),
        "leads": predictions.leads,
        "values": {name: _overall(of_metric) for name, of_metric in rows.items()},
    }


def _rows(
    options: ScoreOptions,
    metrics: dict[str, Metric],
    kept: dict[str, Accumulated],
    counts: np.ndarray,
    predictions: Samples,
) -> dict[str, list[aggregate.Row]]:
    """Make the score rows of each convention; all conventions use the same resamples."""
    if not kept:
        return {}
    sums = [accumulated.sums for accumulated in kept.values()]
    leads, blocks, available = predictions.leads, predictions.blocks, predictions.available
    spreads = aggregate.spreads(
        list(metrics.values()),
        sums,
        counts,
        options.bootstrap,
        leads=leads,
        blocks=blocks,
        available=available,
    )
    return {
        name: aggregate.rows(
            metric,
            kept[name].non_finite,
            kept[name].sums.sum(axis=0) / counts.sum(),
            spread,
            leads=leads,
            available=available,
            in_blocks=blocks is not None,
        )
        for (name, metric), spread in zip(metrics.items(), spreads, strict=True)
    }


def _bind_metric(metric: Metric, compared: Comparison, predictions: Samples) -> Metric:
    """Bind a convention to the data, restricted to channels that the forecasts have."""
    bound = on_data(metric, compared)
    available = predictions.available
    if len(available.channels) < compared.data.shape[0]:
        part = on_data(metric, compared._replace(data=compared.data.only(available.channels)))
        bound = bound._replace(
            statistics=part.statistics, transform=part.transform, reason=part.reason
        )
    lost = predictions.leads - len(available.leads)
    if lost and not bound.independent_leads and not bound.reason:
        why = f"it needs all lead times; the forecasts lack {lost} of {predictions.leads}"
        bound = bound._replace(reason=why)
    if bound.windows and not bound.reason and not bound.leads_with_value(available.leads.tolist()):
        why = "the forecasts have no whole window of lead times of its means"
        bound = bound._replace(reason=why)
    return bound


def _defined_mask(metric: Metric, shape: tuple[int, ...], predictions: Samples) -> np.ndarray:
    """Mask of the sums (..., K, T') that the forecasts define, bool (K, T')."""
    _, components, leads = shape
    mask = np.ones((components, leads), bool)
    if metric.independent_leads:
        mask &= np.isin(
            np.arange(leads), list(metric.leads_with_value(predictions.available.leads.tolist()))
        )
    if metric.is_by_variable:
        count = len(metric.variables)
        of_variables = np.isin(np.arange(count), predictions.available.channels)
        mask &= np.repeat(of_variables, components // count)[:, None]
    return mask


def _describe_lacks(predictions: Samples, data: ComparedData) -> str:
    """Note on the number of lead times or variables that the forecasts lack; empty if complete."""
    available, channels = predictions.available, data.shape[0]
    parts = [
        f"{expected - present} of {expected} {unit}"
        for expected, present, unit in (
            (predictions.leads, len(available.leads), "lead times"),
            (channels, len(available.channels), "variables"),
        )
        if present < expected
    ]
    return f"the forecasts lack {' and '.join(parts)}" if parts else ""


def _sample_columns(
    metrics: dict[str, Metric],
    kept: dict[str, Accumulated],
    variable: str | None,
    predictions: Samples,
) -> dict[str, tables.BySample]:
    """Values of single samples by column and variable; ``variable`` names all channels together.

    Lead times and variables that the forecasts lack are masked or left out.
    """
    columns: dict[str, tables.BySample] = {}
    for name, metric in metrics.items():
        if (samples := kept[name].samples) is None:
            continue
        absent = ~_defined_mask(metric, samples.shape, predictions)
        masked = np.ma.masked_array(samples, np.broadcast_to(absent, samples.shape))
        every = metric.by_variable(masked).items()
        by_name = {of: values for of, values in every if not np.ma.getmaskarray(values).all()}
        for k, component in enumerate(metric.components):
            column = name if len(metric.components) == 1 else f"{name}.{component}"
            columns[column] = {v or variable: values[:, k] for v, values in by_name.items()}
    return columns


def _variable(data: ComparedData) -> str | None:
    """Name of the only channel; None if there are several, or it has no name."""
    names = data.attrs.get("variables")
    return names[0] if names and data.shape[0] == 1 else None


def _overall(rows: list[aggregate.Row]) -> Any:
    """The value over all lead times; with several series, the values by variable or threshold."""
    means = [row for row in rows if row.lead is None and row.statistic == "mean"]
    if len(means) == 1:
        return means[0].value
    named = ([n for n in (row.variable, row.threshold) if n is not None] for row in means)
    return {
        " ".join(map(str, name)) or "all": row.value for name, row in zip(named, means, strict=True)
    }
