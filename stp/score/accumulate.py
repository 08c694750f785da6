"""Statistics of metrics, and their sums over clusters, in one pass over predictions and truth.

A block is a range of samples at all lead times. If a single sample is too large, and the lead times
of all conventions are independent, a block is a range of samples and lead times. Memory holds at
most ``threads + 2`` blocks, each with ``BLOCK_BYTES`` of forecasts (or one lead time of the samples
that are forecast together, if that is more), the observations, and arrays that conventions derive
from both.

The results are sums over the samples of each cluster, masks of NaN and infinite statistics, and,
for most conventions, the statistics of each sample. Samples are added one by one, so that sums
depend neither on the blocks nor on the number of threads.
"""

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from stp.core.job import Interrupted, Job
from stp.metrics.metric import Batches, Metric, Windows, batch_weights
from stp.score.aggregate import NonFinite
from stp.score.checkpoint import Checkpoint
from stp.score.members import Members
from stp.score.samples import Samples
from stp.score.target_cache import TargetCache
from stp.score.windows import Frames, WindowMeans

BLOCK_BYTES = 1 << 24
"""Size of the predicted frames of a block, bytes."""

Statistics = dict[str, np.ndarray]
"""Statistics by convention."""


class Block(NamedTuple):
    """Samples and lead times that are read and compared together.

    Attributes:
        samples: indices of the samples, (n,).
        leads: range of the available lead times.
        is_last: whether no further lead times of these samples follow.
    """

    samples: np.ndarray
    leads: slice
    is_last: bool


class Accumulated(NamedTuple):
    """Statistics of one convention (one exact definition of a metric) over all samples.

    Statistics are the K numbers of a sample and lead time from whose means over samples a metric is
    computed (`stp.metrics.metric.Metric`), such as the squared error for an RMSE. They exist at the
    last T' lead times of a forecast. T' is less than the number of lead times if the first ones
    have none, as for a moving average.

    Attributes:
        sums: statistics, summed over the samples of each cluster, float64 (clusters, K, T').
        non_finite: masks that say which statistics of which samples are NaN or infinite.
        samples: statistics of each sample, float64 (N, K, T'), NaN where the forecasts lack a lead
            time or variable; None if the convention stores none.
    """

    sums: np.ndarray
    non_finite: NonFinite
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
    """Compute the statistics from which metrics get their values, in one pass over all samples.

    The sums so far are saved periodically; an interrupted pass resumes from them.

    Args:
        job: the job, for its state folder, progress and runtime (``block_samples``,
            ``block_leads``, ``checkpoint_every_s``).
        predictions: predicted and observed frames, read by one thread, in order.
        metrics: metrics, adapted to these data, by name of their convention.
        members: rule by which several forecasts of a sample are scored.
        clusters: index of each sample's cluster, (N,); samples of a cluster depend on each other,
            such as clips of one video.
        count: number of clusters.
        threads: number of blocks that are computed at the same time.

    Returns:
        statistics of each convention, by its name.

    Raises:
        Interrupted: the job was asked to stop, and has saved its state.
    """
    if not metrics:
        return {}
    total = predictions.shape[0]
    clips = [str(clip) for clip in predictions.index["clip"]]
    apart = all(members.independent_leads(metric) for metric in metrics.values())
    block_samples, block_leads = _sizes(job, predictions, apart)
    sums = {name: _Sums(metric, clusters, count) for name, metric in metrics.items()}
    saved = Checkpoint(job.state, job.recipe, job.runtime.get("checkpoint_every_s", 60))
    for part in saved.parts():
        for name, of_metric in sums.items():
            of_metric.restore(name, part)

    targets = TargetCache(predictions.frame_numbers())
    means = WindowMeans(metric.windows for metric in metrics.values())
    has_context = any(metric.with_context for metric in metrics.values())

    def statistics(
        block: Block,
        frames: Frames,
        of_windows: Mapping[Windows, Frames],
        context: np.ndarray | None,
    ) -> Statistics:
        every: dict[Windows, Frames] = {(): frames, **of_windows}
        transformed: dict[Windows, dict[tuple[Any, Any], np.ndarray]] = {key: {} for key in every}
        return {
            name: members.statistics(
                name,
                metric,
                *every[metric.windows][:2],
                block.samples,
                every[metric.windows].leads,
                transformed[metric.windows],
                None if metric.windows else targets,
                context,
            )
            for name, metric in metrics.items()
            if metric.windows in every
        }

    parts: list[Statistics] = []

    def take(block: Block, part: Statistics) -> None:
        parts.append(part)
        if not block.is_last:
            return
        for name, of_metric in sums.items():
            of_leads = [part[name] for part in parts if name in part]
            of_metric.add(
                _expand_statistics(of_leads, of_metric.metric, predictions), block.samples
            )
        parts.clear()
        after = int(block.samples[-1]) + 1
        stop = after < total and job.interrupted()
        if stop or saved.is_due():
            new = (array for name, of_metric in sums.items() for array in of_metric.part(name))
            saved.save(after, dict(new))
        job.report("samples scored", after, total)
        if stop:
            raise Interrupted(f"the scores of {after} of {total} samples are saved")

    waiting: deque[tuple[Block, Future[Statistics]]] = deque()
    leads = len(predictions.available.leads)
    with ThreadPoolExecutor(threads) as pool:
        for block in _blocks(saved.next, total, leads, block_samples, block_leads):
            first, last = int(block.samples[0]), int(block.samples[-1])
            steps = predictions.available.leads[block.leads]
            predicted, observed = predictions.read(first, last + 1, block.leads)
            frames = Frames(predicted, observed, steps)
            context = None
            if has_context:
                context = predictions.read_context(first, last + 1)
                context = context[:, :, predictions.available.channels]
            future = pool.submit(statistics, block, frames, means.add(frames), context)
            waiting.append((block, future))
            while len(waiting) > threads:
                done, future = waiting.popleft()
                take(done, future.result())
        while waiting:
            done, future = waiting.popleft()
            take(done, future.result())
    return {name: of_metric.finish(clips) for name, of_metric in sums.items()}


def _sizes(job: Job, predictions: Samples, apart: bool) -> tuple[int, int]:
    """Numbers of samples and lead times of a block.

    Args:
        job: the job, whose runtime may set the numbers.
        predictions: forecasts to read.
        apart: whether lead times may be computed in different blocks.
    """
    leads = len(predictions.available.leads)
    lead_bytes = 4 * math.prod(predictions.shape[1:]) // leads
    samples = job.runtime.get("block_samples") or max(1, BLOCK_BYTES // (lead_bytes * leads))
    set_leads = job.runtime.get("block_leads")
    if not apart or (set_leads is None and lead_bytes * leads <= BLOCK_BYTES):
        return samples, leads
    samples = max(1, samples // predictions.together) * predictions.together
    return samples, min(leads, set_leads or max(1, BLOCK_BYTES // (lead_bytes * samples)))


def _blocks(start: int, total: int, leads: int, samples: int, at_a_time: int) -> Iterator[Block]:
    """Yield all blocks from sample ``start`` on; blocks of the same samples are consecutive."""
    for first in range(start, total, samples):
        numbers = np.arange(first, min(first + samples, total))
        for lead in range(0, leads, at_a_time):
            stop = min(lead + at_a_time, leads)
            yield Block(numbers, slice(lead, stop), stop == leads)


def _expand_statistics(
    parts: Sequence[np.ndarray], metric: Metric, predictions: Samples
) -> np.ndarray:
    """Expand statistics to all components and lead times of the data; NaN where missing.

    Args:
        parts: statistics of consecutive available lead times, (n, K_available, t) each.
        metric: the convention for all variables of the data.
        predictions: forecasts, with their lead times and channels in ``available``.
    """
    known = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)
    available = predictions.available
    steps = np.arange(known.shape[-1])
    if metric.independent_leads:
        steps = np.array(sorted(metric.leads_with_value(available.leads.tolist())))
    leads = predictions.leads if metric.independent_leads else known.shape[-1]
    components = np.arange(known.shape[1])
    count = len(components)
    if metric.is_by_variable:
        count = len(metric.series) * len(metric.components)
        of_variables = np.arange(count).reshape(len(metric.variables), -1)
        components = of_variables[available.channels].reshape(-1)
    if known.shape[1:] == (count, leads):
        return known
    complete = np.full((len(known), count, leads), np.nan)
    complete[:, components[:, None], steps] = known
    return complete


class _Sums:
    """Statistics of one convention over the blocks so far, and their sums over clusters.

    Args:
        metric: the convention.
        clusters: index of each sample's cluster, int64 (N,).
        count: number of clusters.

    Attributes:
        metric: the convention of the added statistics. With batches, these are the statistics from
            which the scores of batches are computed; statistics of samples are not stored.
    """

    def __init__(self, metric: Metric, clusters: np.ndarray, count: int) -> None:
        self.metric, self._whole = metric, metric._replace(batches=None)
        self._clusters, self._count = clusters, count
        self._groups, self._number = clusters, count
        self._batches = batches = metric.batches
        if batches is not None:
            self.metric = metric._replace(components=("",) * batches.components, keep_samples=False)
            self._groups, self._number = batches.number, 1 + int(batches.number.max())
        self._sums: np.ndarray | None = None
        self._nan: list[np.ndarray] = []
        self._infinite: list[np.ndarray] = []
        self._samples: list[np.ndarray] = []
        self._saved = 0  # blocks
        self._changed: set[int] = set()  # groups, since the last part

    def add(self, statistics: np.ndarray, numbers: np.ndarray) -> None:
        """Add the statistics of a block of n samples.

        Args:
            statistics: K statistics of each sample, float64 (n, K, T').
            numbers: indices of the samples in the split, int64 (n,).
        """
        if self._sums is None:
            self._sums = np.zeros((self._number, *statistics.shape[1:]))
        groups = self._groups[numbers].tolist()
        for group, of_sample in zip(groups, statistics, strict=True):
            self._sums[group] += of_sample
        self._changed.update(groups)
        if self.metric.keep_samples:
            self._samples.append(statistics)
        nan, infinite = np.isnan(statistics), np.isinf(statistics)
        if not self.metric.keep_samples:  # all components would not fit in memory
            nan, infinite = (bad.any(axis=1, keepdims=True) for bad in (nan, infinite))
        self._nan.append(nan)
        self._infinite.append(infinite)

    def part(self, name: str) -> list[tuple[str, np.ndarray]]:
        """Arrays for a checkpoint, by name: the changes since the last part."""
        assert self._sums is not None
        new, changed = slice(self._saved, None), np.array(sorted(self._changed), np.int64)
        self._saved, self._changed = len(self._nan), set()
        arrays = [(f"{name}:groups", changed), (f"{name}:sums", self._sums[changed])]
        if self.metric.keep_samples:
            return [*arrays, (f"{name}:samples", np.concatenate(self._samples[new]))]
        arrays.append((f"{name}:nan", np.concatenate(self._nan[new])))
        return [*arrays, (f"{name}:infinite", np.concatenate(self._infinite[new]))]

    def restore(self, name: str, part: Mapping[str, np.ndarray]) -> None:
        """Add a part of a checkpoint; parts are added in the order in which they were saved."""
        sums = part[f"{name}:sums"]
        if self._sums is None:
            self._sums = np.zeros((self._number, *sums.shape[1:]))
        self._sums[part[f"{name}:groups"]] = sums
        if self.metric.keep_samples:
            samples = part[f"{name}:samples"]
            self._samples.append(samples)
            self._nan.append(np.isnan(samples))
            self._infinite.append(np.isinf(samples))
        else:
            self._nan.append(part[f"{name}:nan"])
            self._infinite.append(part[f"{name}:infinite"])
        self._saved = len(self._nan)

    def finish(self, clips: Sequence[str]) -> Accumulated:
        """Return the statistics after the last block.

        Args:
            clips: names of the N samples.
        """
        assert self._sums is not None
        if self._batches is not None:
            # A single sample has no score: its batch depends on the other samples.
            of_batches = self._of_batches(self._batches, self._sums).finish(clips)
            return of_batches._replace(samples=None)
        non_finite = NonFinite(np.concatenate(self._nan), np.concatenate(self._infinite), clips)
        samples = np.concatenate(self._samples) if self.metric.keep_samples else None
        return Accumulated(self._sums, non_finite, samples)

    def _of_batches(self, batches: Batches, sums: np.ndarray) -> "_Sums":
        """Convert to statistics in which each sample has the score of its batch.

        All batches have equal weights: the deviation of a score from the mean over batches is
        multiplied by the weight of the sample, which leaves that mean unchanged. The mean itself is
        not multiplied, so that weights do not add to the spread of the scores.
        """
        sizes, every = np.bincount(batches.number), batch_weights(batches.number)
        scores = np.stack(
            [batches.score(total / size) for total, size in zip(sums, sizes, strict=True)]
        )
        mean, of_samples = scores.mean(axis=0), scores[batches.number]
        with np.errstate(invalid="ignore"):  # infinity minus infinity
            weighted = mean + every[:, None, None] * (of_samples - mean)
        of_samples = np.where(np.isfinite(mean), weighted, of_samples)
        of_batches = _Sums(self._whole, self._clusters, self._count)
        of_batches.add(of_samples, np.arange(len(of_samples)))
        return of_batches
