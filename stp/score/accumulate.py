"""One pass over predictions and truth: block by block, and what is kept of each.

Kept are sums over the samples of each cluster, where statistics are no numbers, and, of most
conventions, the statistics of each sample. A sum goes from sample to sample, so it depends neither
on the blocks nor on how many of them are computed at the same time.
"""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from stp.core.job import Interrupted, Job
from stp.metrics.metric import Metric
from stp.score.aggregate import Flaws
from stp.score.checkpoint import Checkpoint
from stp.score.members import Members
from stp.score.predictions import Samples

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
    predictions: Samples,
    metrics: Mapping[str, Metric],
    members: Members,
    clusters: np.ndarray,
    count: int,
    threads: int,
) -> dict[str, Accumulated]:
    """Compute the statistics of all samples.

    What was found is saved from time to time, and an interrupted pass goes on from there.

    Args:
        job: for its state folder, progress and runtime (``block_samples``,
            ``checkpoint_every_s``).
        predictions: predicted and observed frames; they are read by one thread, in order.
        metrics: conventions by name, as they are for these data.
        members: what to do with several forecasts of a sample.
        clusters: number of each sample's cluster, (N,).
        count: how many clusters there are.
        threads: blocks that are computed at the same time.

    Raises:
        Interrupted: the job was asked to stop, and has saved its state.
    """
    if not metrics:
        return {}
    total = predictions.shape[0]
    clips = [str(clip) for clip in predictions.index["clip"]]
    sample_bytes = 4 * math.prod(predictions.shape[1:])
    block = job.runtime.get("block_samples") or max(1, BLOCK_BYTES // sample_bytes)
    kept = {name: _Kept(metric, count) for name, metric in metrics.items()}
    saved = Checkpoint(job.state, job.recipe, job.runtime.get("checkpoint_every_s", 60))
    for part in saved.parts():
        for name, its in kept.items():
            its.restore(name, part)

    def statistics(
        numbers: np.ndarray, predicted: np.ndarray, observed: np.ndarray
    ) -> dict[str, np.ndarray]:
        return {
            name: members.statistics(name, metric, predicted, observed, numbers)
            for name, metric in metrics.items()
        }

    def take(numbers: np.ndarray, found: dict[str, np.ndarray]) -> None:
        for name, its in kept.items():
            its.add(found[name], clusters[numbers])
        after = int(numbers[-1]) + 1
        stop = after < total and job.interrupted()
        if stop or saved.is_due():
            saved.save(after, {k: v for name, its in kept.items() for k, v in its.part(name)})
        job.report("samples scored", after, total)
        if stop:
            raise Interrupted(f"the scores of {after} of {total} samples are saved")

    waiting: deque[tuple[np.ndarray, Future[dict[str, np.ndarray]]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for start in range(saved.next, total, block):
            numbers = np.arange(start, min(start + block, total))
            frames = predictions.read(start, start + len(numbers))
            waiting.append((numbers, pool.submit(statistics, numbers, *frames)))
            while len(waiting) > threads:
                done, future = waiting.popleft()
                take(done, future.result())
        while waiting:
            done, future = waiting.popleft()
            take(done, future.result())
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
        self._saved = 0  # blocks

    def add(self, statistics: np.ndarray, clusters: np.ndarray) -> None:
        """Take in the statistics of a block, (n, K, T')."""
        if self._sums is None:
            self._sums = np.zeros((self._clusters, *statistics.shape[1:]))
        np.add.at(self._sums, clusters, statistics)  # one sample after the other
        if self._metric.keep_samples:
            self._samples.append(statistics)
        nan, infinite = np.isnan(statistics), np.isinf(statistics)
        if not self._metric.keep_samples:  # as many components as would fill the memory
            nan, infinite = (bad.any(axis=1, keepdims=True) for bad in (nan, infinite))
        self._nan.append(nan)
        self._infinite.append(infinite)

    def part(self, name: str) -> list[tuple[str, np.ndarray]]:
        """What was taken in since the last part, and all sums; named for a checkpoint."""
        assert self._sums is not None
        new = slice(self._saved, None)
        self._saved = len(self._nan)
        found = [(f"{name}:sums", self._sums)]
        if self._metric.keep_samples:
            return [*found, (f"{name}:samples", np.concatenate(self._samples[new]))]
        found.append((f"{name}:nan", np.concatenate(self._nan[new])))
        return [*found, (f"{name}:infinite", np.concatenate(self._infinite[new]))]

    def restore(self, name: str, part: Mapping[str, np.ndarray]) -> None:
        """Take in a part; parts come in the order in which they were saved."""
        self._sums = part[f"{name}:sums"]
        if self._metric.keep_samples:
            samples = part[f"{name}:samples"]
            self._samples.append(samples)
            self._nan.append(np.isnan(samples))
            self._infinite.append(np.isinf(samples))
        else:
            self._nan.append(part[f"{name}:nan"])
            self._infinite.append(part[f"{name}:infinite"])
        self._saved = len(self._nan)

    def finished(self, clips: Sequence[str]) -> Accumulated:
        """After the last block."""
        assert self._sums is not None
        flaws = Flaws(np.concatenate(self._nan), np.concatenate(self._infinite), clips)
        samples = np.concatenate(self._samples) if self._metric.keep_samples else None
        return Accumulated(self._sums, flaws, samples)
