"""Score: compare predictions with what happened.

Predictions and truth are read in blocks of samples and dropped again; kept are the statistics of
each sample, a few numbers per convention and lead time. All values, intervals and sums are made
from these, so they do not depend on the blocks.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd

from stp.data.prepared import Prepared
from stp.job import Job
from stp.metrics.metric import Metric
from stp.score import aggregate, conventions, tables
from stp.score.bootstrap import FEWEST_CLUSTERS, resampled_means
from stp.score.options import ScoreOptions
from stp.score.predictions import Predictions

BLOCK_BYTES = 1 << 24
"""Size of the predicted frames of a block."""


def run(job: Job) -> dict[str, Any]:
    """Write ``scores.parquet``, ``sample_scores.parquet`` and ``cluster_sums.parquet``.

    Args:
        job: the recipe is a `ScoreOptions`; inputs are ``data`` and ``predictions``; the runtime
            may set ``block_samples``, the samples that are read at a time.

    Returns:
        Numbers of samples, clusters and lead times, and the overall value of each convention.

    Raises:
        StpError: a bad recipe, an unknown convention, damaged inputs, or predictions that do not
            belong to the data.
    """
    options = ScoreOptions.from_recipe(job.recipe)
    metrics = {name: conventions.find(name) for name in options.conventions}
    data = Prepared(job.inputs["data"])
    predictions = Predictions(job.inputs["predictions"], data, options.split)

    statistics = _statistics(job, options, predictions, metrics)
    codes, names = pd.factorize(predictions.index["cluster"])
    counts = np.bincount(codes, minlength=len(names))
    sums = {
        name: aggregate.cluster_sums(values, codes, len(names))
        for name, values in statistics.items()
    }
    rows = _rows(options, metrics, statistics, sums, counts, predictions.leads)

    variable = _variable(data)
    clusters = [str(name) for name in names]
    tables.write_scores(job.out / "scores.parquet", options.cell, variable, rows)
    tables.write_samples(
        job.out / "sample_scores.parquet",
        options.cell,
        variable,
        [str(clip) for clip in predictions.index["clip"]],
        [clusters[code] for code in codes],
        {
            name if len(metric.components) == 1 else f"{name}.{component}": statistics[name][:, k]
            for name, metric in metrics.items()
            for k, component in enumerate(metric.components)
        },
    )
    tables.write_clusters(job.out / "cluster_sums.parquet", clusters, counts, sums)
    return {
        "samples": len(codes),
        "clusters": len(names),
        "leads": predictions.leads,
        "values": {name: rows[name][0].value for name in rows},
    }


def _statistics(
    job: Job, options: ScoreOptions, predictions: Predictions, metrics: dict[str, Metric]
) -> dict[str, np.ndarray]:
    """Statistics of all samples by convention, float64 (N, K, T')."""
    samples = predictions.shape[0]
    sample_bytes = 4 * math.prod(predictions.shape[1:])
    block = job.runtime.get("block_samples") or max(1, BLOCK_BYTES // sample_bytes)
    blocks: dict[str, list[np.ndarray]] = {name: [] for name in metrics}
    with ThreadPoolExecutor(options.threads) as pool:
        for start in range(0, samples, block):
            stop = min(start + block, samples)
            predicted, observed = predictions.read(start, stop)
            futures = {
                name: pool.submit(metric.statistics, predicted, observed)
                for name, metric in metrics.items()
            }
            for name, future in futures.items():
                blocks[name].append(future.result())
            job.report("samples scored", stop, samples)
    return {name: np.concatenate(parts) for name, parts in blocks.items()}


def _rows(
    options: ScoreOptions,
    metrics: dict[str, Metric],
    statistics: dict[str, np.ndarray],
    sums: dict[str, np.ndarray],
    counts: np.ndarray,
    leads: int,
) -> dict[str, list[aggregate.Row]]:
    """Rows by convention; all conventions see the same resamples."""
    flat = [values.reshape(len(counts), -1) for values in sums.values()]
    if len(counts) >= FEWEST_CLUSTERS:
        resampled = resampled_means(
            np.concatenate(flat, axis=1),
            counts,
            resamples=options.bootstrap.resamples,
            seed=options.bootstrap.seed,
        )
    else:
        resampled = np.empty((0, sum(part.shape[1] for part in flat)))
    parts = np.split(resampled, np.cumsum([part.shape[1] for part in flat])[:-1], axis=1)
    rows = {}
    for (name, metric), part in zip(metrics.items(), parts, strict=True):
        shape = sums[name].shape[1:]
        rows[name] = aggregate.rows(
            metric,
            statistics[name],
            sums[name].sum(axis=0) / counts.sum(),
            part.reshape(-1, *shape),
            clusters=len(counts),
            leads=leads,
        )
    return rows


def _variable(data: Prepared) -> str | None:
    """Name of the only channel, if it has one."""
    names = data.attrs.get("variables")
    return names[0] if names and data.shape[0] == 1 else None
