"""One pass over predictions and truth: block by block, and what is kept of each.

A block is some samples at all lead times or, where a single sample is too large and the lead times
of all conventions are independent, at some. In memory are at most ``threads + 2`` blocks, each of
``BLOCK_BYTES`` of forecasts (or of one lead time of the samples that are forecast together, if that
is more), with what was observed and what conventions make of both.

It keeps sums over the samples of each cluster, which statistics are NaN or infinite, and, of most
conventions, the statistics of each sample. A sum goes from sample to sample, so it depends neither
on the blocks nor on how many of them are computed at the same time.
"""

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from stp.core.job import Interrupted, Job
from stp.metrics.metric import Batches, Metric, Windows, batch_weights
from stp.score.aggregate import Flaws
from stp.score.checkpoint import Checkpoint
from stp.score.members import Members
from stp.score.samples import Samples
from stp.score.target_cache import Observed
from stp.score.windows import Frames, WindowMeans

BLOCK_BYTES = 1 << 24
"""Size of the predicted frames of a block."""

Statistics = dict[str, np.ndarray]
"""Statistics by convention."""


class Block(NamedTuple):
    """Samples at lead times that are read and compared together.

    Attributes:
        samples: their numbers, (n,).
        leads: which of the lead times that there are.
        is_last: whether no further lead times of these samples follow.
    """

    samples: np.ndarray
    leads: slice
    is_last: bool


class Accumulated(NamedTuple):
    """Statistics of one convention over all samples.

    Attributes:
        sums: over the samples of each cluster, float64 (clusters, K, T').
        flaws: of the statistics of all samples.
        samples: the statistics, float64 (N, K, T'); None if they are not kept. What forecasts lack
            is NaN.
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
        job: for its state folder, progress and runtime (``block_samples``, ``block_leads``,
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
    apart = all(members.independent_leads(metric) for metric in metrics.values())
    block_samples, block_leads = _sizes(job, predictions, apart)
    kept = {name: _Kept(metric, clusters, count) for name, metric in metrics.items()}
    saved = Checkpoint(job.state, job.recipe, job.runtime.get("checkpoint_every_s", 60))
    for part in saved.parts():
        for name, its in kept.items():
            its.restore(name, part)

    truth = Observed(predictions.frames())
    means = WindowMeans(metric.windows for metric in metrics.values())
    has_context = any(metric.with_context for metric in metrics.values())

    def statistics(
        block: Block,
        frames: Frames,
        of_windows: Mapping[Windows, Frames],
        context: np.ndarray | None,
    ) -> Statistics:
        every: dict[Windows, Frames] = {(): frames, **of_windows}
        made: dict[Windows, dict[tuple[Any, Any], np.ndarray]] = {which: {} for which in every}
        return {
            name: members.statistics(
                name,
                metric,
                *every[metric.windows][:2],
                block.samples,
                every[metric.windows].leads,
                made[metric.windows],
                None if metric.windows else truth,
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
        numbers = block.samples
        found = {
            name: _placed([part[name] for part in parts if name in part], its.metric, predictions)
            for name, its in kept.items()
        }
        parts.clear()
        for name, its in kept.items():
            its.add(found[name], numbers)
        after = int(numbers[-1]) + 1
        stop = after < total and job.interrupted()
        if stop or saved.is_due():
            saved.save(after, {k: v for name, its in kept.items() for k, v in its.part(name)})
        job.report("samples scored", after, total)
        if stop:
            raise Interrupted(f"the scores of {after} of {total} samples are saved")

    waiting: deque[tuple[Block, Future[Statistics]]] = deque()
    leads = len(predictions.there.leads)
    with ThreadPoolExecutor(threads) as pool:
        for block in _blocks(saved.next, total, leads, block_samples, block_leads):
            first, last = int(block.samples[0]), int(block.samples[-1])
            steps = predictions.there.leads[block.leads]
            predicted, observed = predictions.read(first, last + 1, block.leads)
            frames = Frames(predicted, observed, steps)
            shown = None
            if has_context:
                shown = predictions.read_context(first, last + 1)[:, :, predictions.there.channels]
            made = pool.submit(statistics, block, frames, means.add(frames), shown)
            waiting.append((block, made))
            while len(waiting) > threads:
                done, future = waiting.popleft()
                take(done, future.result())
        while waiting:
            done, future = waiting.popleft()
            take(done, future.result())
    return {name: its.finished(clips) for name, its in kept.items()}


def _sizes(job: Job, predictions: Samples, apart: bool) -> tuple[int, int]:
    """How many samples and lead times a block has.

    Args:
        job: its runtime may say it.
        predictions: to be read.
        apart: whether lead times may be computed apart.
    """
    leads = len(predictions.there.leads)
    lead_bytes = 4 * math.prod(predictions.shape[1:]) // leads
    samples = job.runtime.get("block_samples") or max(1, BLOCK_BYTES // (lead_bytes * leads))
    wanted = job.runtime.get("block_leads")
    if not apart or (wanted is None and lead_bytes * leads <= BLOCK_BYTES):
        return samples, leads
    samples = max(1, samples // predictions.together) * predictions.together
    return samples, min(leads, wanted or max(1, BLOCK_BYTES // (lead_bytes * samples)))


def _blocks(start: int, total: int, leads: int, samples: int, at_a_time: int) -> Iterator[Block]:
    """All blocks from a sample on: of the same samples, lead times follow each other."""
    for first in range(start, total, samples):
        numbers = np.arange(first, min(first + samples, total))
        for lead in range(0, leads, at_a_time):
            stop = min(lead + at_a_time, leads)
            yield Block(numbers, slice(lead, stop), stop == leads)


def _placed(parts: Sequence[np.ndarray], metric: Metric, predictions: Samples) -> np.ndarray:
    """Statistics of all components and lead times from those of blocks; NaN where there are none.

    Args:
        parts: (n, K_there, t) each, of all lead times that there are, in order.
        metric: as it is for all variables of the data.
        predictions: know what there is.
    """
    found = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)
    there = predictions.there
    steps = np.arange(found.shape[-1])
    if metric.independent_leads:
        steps = np.array(sorted(metric.valued(there.leads.tolist())))
    leads = predictions.leads if metric.independent_leads else found.shape[-1]
    components = np.arange(found.shape[1])
    count = len(components)
    if metric.is_by_variable:
        count = len(metric.series) * len(metric.components)
        of_variables = np.arange(count).reshape(len(metric.variables), -1)
        components = of_variables[there.channels].reshape(-1)
    if found.shape[1:] == (count, leads):
        return found
    whole = np.full((len(found), count, leads), np.nan)
    whole[:, components[:, None], steps] = found
    return whole


class _Kept:
    """Statistics of one convention over the blocks so far.

    Args:
        metric: the convention.
        clusters: number of each sample's cluster, int64 (N,).
        count: how many clusters there are.

    Attributes:
        metric: the convention of what is added. Of one with batches these are the statistics that
            scores of batches are made from: there are many, so those of samples are not kept.
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
        """Add the statistics of a block.

        Args:
            statistics: float64 (n, K, T').
            numbers: of its samples, int64 (n,).
        """
        if self._sums is None:
            self._sums = np.zeros((self._number, *statistics.shape[1:]))
        groups = self._groups[numbers].tolist()
        for group, one in zip(groups, statistics, strict=True):
            self._sums[group] += one
        self._changed.update(groups)
        if self.metric.keep_samples:
            self._samples.append(statistics)
        nan, infinite = np.isnan(statistics), np.isinf(statistics)
        if not self.metric.keep_samples:  # as many components as would fill the memory
            nan, infinite = (bad.any(axis=1, keepdims=True) for bad in (nan, infinite))
        self._nan.append(nan)
        self._infinite.append(infinite)

    def part(self, name: str) -> list[tuple[str, np.ndarray]]:
        """Arrays for a checkpoint, by name: sums and samples that are new since the last part."""
        assert self._sums is not None
        new, changed = slice(self._saved, None), np.array(sorted(self._changed), np.int64)
        self._saved, self._changed = len(self._nan), set()
        found = [(f"{name}:groups", changed), (f"{name}:sums", self._sums[changed])]
        if self.metric.keep_samples:
            return [*found, (f"{name}:samples", np.concatenate(self._samples[new]))]
        found.append((f"{name}:nan", np.concatenate(self._nan[new])))
        return [*found, (f"{name}:infinite", np.concatenate(self._infinite[new]))]

    def restore(self, name: str, part: Mapping[str, np.ndarray]) -> None:
        """Add a part of a checkpoint; parts come in the order in which they were saved."""
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

    def finished(self, clips: Sequence[str]) -> Accumulated:
        """Return the statistics after the last block.

        Args:
            clips: names of the N samples.
        """
        assert self._sums is not None
        if self._batches is not None:
            # Among other samples, one is in another batch: alone it has no score.
            whole = self._of_batches(self._batches, self._sums).finished(clips)
            return whole._replace(samples=None)
        flaws = Flaws(np.concatenate(self._nan), np.concatenate(self._infinite), clips)
        samples = np.concatenate(self._samples) if self.metric.keep_samples else None
        return Accumulated(self._sums, flaws, samples)

    def _of_batches(self, batches: Batches, sums: np.ndarray) -> "_Kept":
        """The scores of batches as those of their samples; batches weigh alike.

        Weights are of how far a score is from the mean of all, which is the same mean: they do not
        add to the spread of the scores.
        """
        sizes, every = np.bincount(batches.number), batch_weights(batches.number)
        scores = np.stack(
            [batches.score(total / size) for total, size in zip(sums, sizes, strict=True)]
        )
        mean, found = scores.mean(axis=0), scores[batches.number]
        with np.errstate(invalid="ignore"):  # infinite less infinite
            weighted = mean + every[:, None, None] * (found - mean)
        found = np.where(np.isfinite(mean), weighted, found)
        whole = _Kept(self._whole, self._clusters, self._count)
        whole.add(found, np.arange(len(found)))
        return whole
