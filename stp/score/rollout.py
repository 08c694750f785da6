"""Score forecasts while they are computed, and store only a few of them.

Twenty lead times of WeatherBench are 1 TB per model, too much to store. The forecasts are computed
in the same batches as in `stp.predict.run`, so their scores equal those of stored predictions bit
by bit.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from stp.core.job import Extras, Job
from stp.data.prepared import Prepared
from stp.data.zarr_write import SequentialWriter
from stp.models.compute import set_up_compute
from stp.options.predict import PredictOptions
from stp.options.score import ScoreOptions
from stp.predict.forecasts import Forecasts
from stp.score.samples import ALL, Availability, FrameSamples, samples_to_keep
from stp.score.scoring import score

KEPT = "kept"
"""Folder of the forecasts that will be stored, in the state folder of a job."""


def run(job: Job) -> Extras:
    """Forecast with a model and score the forecasts, without storing all of them.

    Scores are written to the same files as by `stp.score.run`. Forecasts of a few samples are
    stored in ``predictions.zarr`` with ``index.parquet``, in the format of `stp.predict.run`; the
    column ``sample`` of the index has the indices of these samples.

    Args:
        job: the recipe has the keys of `ScoreOptions` and two more:

            - ``rollout``: the recipe of the forecasts (`stp.predict.run`).
            - ``keep``: number of samples whose forecasts are stored, evenly spaced over the split,
              so that they are the same for all models; or names of their clips; 0 by default.

            Inputs are ``data`` and, for trained models, ``model``. The runtime may set ``device``,
            and ``block_samples``, ``block_leads`` and ``checkpoint_every_s`` as in
            `stp.score.read.run`.

    Returns:
        numbers of samples, members, clusters and lead times, the overall value of each convention,
        device, precision, and the number of stored samples (``kept``).

    Raises:
        StpError: as in `stp.predict.run` and `stp.score.run`.
        Interrupted: the job was asked to stop, and has saved its state.
    """
    recipe = dict(job.recipe)
    rollout, keep = recipe.pop("rollout"), recipe.pop("keep", 0)
    options = ScoreOptions.from_recipe(recipe)
    predict = PredictOptions.from_recipe(rollout["predict"])
    data = Prepared(job.inputs["data"])
    device = job.runtime.get("device", "auto")
    with set_up_compute(device, predict.threads, predict.precision) as compute:
        forecasts = Forecasts(rollout, data, job.inputs, compute)
        kept = samples_to_keep(forecasts.clips, keep)
        rolled = Rollout(forecasts, kept, Path(job.state) / KEPT)
        where = f"forecasts of {rollout['model']}"
        scores = score(job, options, data, rolled, where=where, threads=predict.threads)
        if len(rolled.kept):
            rolled.store(job.out)
        return {**forecasts.describe(), **scores, "kept": len(rolled.kept)}


class _Part(NamedTuple):
    """Forecasts of a batch at consecutive lead times, the most recently computed ones.

    Attributes:
        sample: index of the first sample.
        lead: index of the first lead time of the frames, from 0.
        parts: iterator over the frames of later lead times.
        frames: predicted frames, float32 (B, M, t, C, H, W).
    """

    sample: int
    lead: int
    parts: Iterator[np.ndarray]
    frames: np.ndarray

    @property
    def length(self) -> int:
        """Number of lead times of the frames."""
        return self.frames.shape[2] if self.frames.ndim > 1 else 0

    def later(self, lead: int) -> "_Part":
        """The same part without frames of lead times before ``lead``."""
        dropped = min(max(0, lead - self.lead), self.length)
        frames = self.frames[:, :, dropped:].copy() if dropped else self.frames
        return self._replace(lead=self.lead + dropped, frames=frames)


class Rollout(FrameSamples):
    """Samples with forecasts that are computed when they are read.

    Args:
        forecasts: object that computes the forecasts.
        kept: indices of the samples whose forecasts are stored.
        aside: folder for the stored forecasts until the end of the job; it survives a crash.
    """

    def __init__(self, forecasts: Forecasts, kept: np.ndarray, aside: Path) -> None:
        super().__init__(
            forecasts.clips,
            forecasts.shape,
            leads=forecasts.recipe["lead_times"],
            available=Availability(forecasts.leads - 1, forecasts.channels),
        )
        self.kept = kept
        self.together = forecasts.batch_size if forecasts.has_parts else 1
        self._source, self._aside = forecasts, aside
        self._first, self._batch = 0, np.empty((0, *self.shape[1:]), np.float32)
        self._part: _Part | None = None

    def forecasts(self, start: int, stop: int, leads: slice = ALL) -> np.ndarray:
        """Compute forecasts of n samples, start..stop-1: float32 (n, members, lead times, C, H, W).

        Forecasts are computed in whole batches, counted from the first sample. Callers should read
        samples and lead times in ascending order, because nothing but the latest batch stays in
        memory: earlier samples are computed again.

        The latest batch is kept with all lead times, with one exception that saves memory. If a
        call reads some of the lead times of exactly one batch, and the model can forecast in parts,
        lead times before these are dropped. They are computed again if they are read later.

        Args:
            start: index of the first sample.
            stop: index after the last sample.
            leads: indices of the lead times, from 0; all by default.
        """
        batch = min(start + self._source.batch_size, len(self._source))
        whole = len(range(self.shape[2])[leads]) == self.shape[2]
        if not whole and self._source.has_parts and start % self.together == 0 and stop == batch:
            return self._in_parts(np.arange(start, stop), leads)
        parts = []
        while start < stop:
            self._make(start)
            end = min(stop, self._first + len(self._batch))
            parts.append(self._batch[start - self._first : end - self._first, :, leads])
            start = end
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _in_parts(self, rows: np.ndarray, leads: slice) -> np.ndarray:
        """Forecasts of a batch at some lead times; earlier lead times are computed and dropped."""
        steps = range(self.shape[2])[leads]
        part = self._part
        if part is None or part.sample != rows[0] or steps.start < part.lead:
            part = _Part(int(rows[0]), 0, self._source.parts_of(rows), np.empty(0, np.float32))
        while part.lead + part.length < steps.stop:
            new = next(part.parts)
            for number in np.intersect1d(rows, self.kept).tolist():
                self._put_aside_part(number, part.lead + part.length, new[number - rows[0]])
            frames = np.concatenate([part.frames, new], axis=2) if part.length else new
            part = part._replace(frames=frames).later(steps.start)
        self._part = part = part.later(steps.start)
        return part.frames[:, :, : len(steps)]

    def store(self, out: Path) -> None:
        """Write the forecasts that were kept as ``predictions.zarr``, with ``index.parquet``."""
        with SequentialWriter(self._source.create(out, self.kept)) as writer:
            for number in self.kept.tolist():
                path = self._path(number)
                forecast = np.load(path) if path.exists() else self.forecasts(number, number + 1)[0]
                writer.append(forecast.reshape(1, *writer.array.shape[1:]))
        index = self.index.iloc[self.kept].assign(sample=self.kept)
        index.to_parquet(out / "index.parquet", index=False, write_page_checksum=True)

    def _make(self, sample: int) -> None:
        """Compute the forecasts of a sample's batch, unless it is the current batch."""
        if self._first <= sample < self._first + len(self._batch):
            return
        size = self._source.batch_size
        self._first = sample // size * size
        rows = np.arange(self._first, min(self._first + size, len(self._source)))
        self._batch = self._source.of(rows)
        for number in np.intersect1d(rows, self.kept).tolist():
            self._put_aside(number, self._batch[number - self._first])

    def _put_aside(self, number: int, forecast: np.ndarray) -> None:
        """Write a forecast to a file of its own, atomically."""
        self._aside.mkdir(parents=True, exist_ok=True)
        beside = self._aside / f"{number}.part"
        with beside.open("wb") as file:
            np.save(file, forecast)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._path(number))

    def _put_aside_part(self, number: int, lead: int, forecast: np.ndarray) -> None:
        """Write the lead times from ``lead`` on of a forecast, (M, t, C, H, W), to its file."""
        self._aside.mkdir(parents=True, exist_ok=True)
        beside = self._aside / f"{number}.part"
        mode: Literal["w+", "r+"] = "r+" if lead else "w+"
        file = np.lib.format.open_memmap(
            beside, mode, dtype=np.float32, shape=self.shape[1:] if mode == "w+" else None
        )
        file[:, lead : lead + forecast.shape[1]] = forecast
        file.flush()
        if lead + forecast.shape[1] == self.shape[2]:
            beside.replace(self._path(number))

    def _path(self, number: int) -> Path:
        return self._aside / f"{number}.npy"
