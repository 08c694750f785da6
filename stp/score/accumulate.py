"""One pass over predictions and truth: block by block, and what is kept of each.

Kept are sums over the samples of each cluster, where statistics are no numbers, and, of most
conventions, the statistics of each sample. A sum goes from sample to sample, so it does not depend
on the blocks.
"""

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from stp.job import Job
from stp.metrics.metric import Metric
from stp.score.aggregate import Flaws
from stp.score.members import Members
from stp.score.predictions import Predictions

BLOCK_BYTES = 1 << 24
"""Size of the predicted frames of a block."""


class Accumulated(NamedTuple):
    """What is known of one convention after the pass.

    Attributes:
        sums: over the samples of each cluster, float64 (clusters, K, T').
        flaws: of the statistics of all samples.
        samples: the statistics, float64 (N, K, T'); None if they are not kept.
    """

    sums: np.ndarray
    flaws: Flaws
    samples: np.ndarray | None


def accumulate(
    job: Job,
    predictions: Predictions,
    metrics: Mapping[str, Metric],
    members: Members,
    clusters: np.ndarray,
    count: int,
    threads: int,
) -> dict[str, Accumulated]:
    """Compute the statistics of all samples.

    Args:
        job: for its runtime (``block_samples``) and progress.
        predictions: predicted and observed frames.
        metrics: conventions by name, as they are for these data.
        members: what to do with several forecasts of a sample.
        clusters: number of each sample's cluster, (N,).
        count: how many clusters there are.
        threads: conventions that are computed at the same time.
    """
    total = predictions.shape[0]
    clips = [str(clip) for clip in predictions.index["clip"]]
    sample_bytes = 4 * math.prod(predictions.shape[1:])
    block = job.runtime.get("block_samples") or max(1, BLOCK_BYTES // sample_bytes)
    kept = {name: _Kept(metric, count) for name, metric in metrics.items()}
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, total, block):
            numbers = np.arange(start, min(start + block, total))
            predicted, observed = predictions.read(start, start + len(numbers))
            futures = {
                name: pool.submit(members.statistics, name, metric, predicted, observed, numbers)
                for name, metric in metrics.items()
            }
            for name, future in futures.items():
                kept[name].add(future.result(), clusters[numbers])
            job.report("samples scored", start + len(numbers), total)
    return {name: its.finished(clips) for name, its in kept.items()}


class _Kept:
    """What is kept of one convention while blocks come."""

    def __init__(self, metric: Metric, clusters: int) -> None:
        self._metric = metric
        self._clusters = clusters
        self._sums: np.ndarray | None = None
        self._nan: list[np.ndarray] = []
        self._infinite: list[np.ndarray] = []
        self._samples: list[np.ndarray] = []

    def add(self, statistics: np.ndarray, clusters: np.ndarray) -> None:
        """Take in the statistics of a block, (n, K, T')."""
        if self._sums is None:
            self._sums = np.zeros((self._clusters, *statistics.shape[1:]))
        np.add.at(self._sums, clusters, statistics)  # one sample after the other
        nan, infinite = np.isnan(statistics), np.isinf(statistics)
        if self._metric.keep_samples:
            self._samples.append(statistics)
        else:  # as many components as would fill the memory
            nan, infinite = (bad.any(axis=1, keepdims=True) for bad in (nan, infinite))
        self._nan.append(nan)
        self._infinite.append(infinite)

    def finished(self, clips: Sequence[str]) -> Accumulated:
        """After the last block."""
        assert self._sums is not None
        flaws = Flaws(np.concatenate(self._nan), np.concatenate(self._infinite), clips)
        samples = np.concatenate(self._samples) if self._metric.keep_samples else None
        return Accumulated(self._sums, flaws, samples)
