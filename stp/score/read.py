"""Score forecasts that were made elsewhere, reading them on demand.

One year of a centre's control forecasts is 100 GB, and one year of its ensemble more than a
terabyte: too much to copy. Forecasts are therefore read, a few lead times at a time, and compared
to observations, without storing them.
"""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from stp.core.disk import atomic_path, write_text
from stp.core.job import Extras, Job, Recipe
from stp.data.prepared import Prepared
from stp.data.zarr_write import SequentialWriter
from stp.options.predict import PredictOptions
from stp.options.score import NOTE, ScoreOptions
from stp.predict.agreement import Agreement, levels
from stp.predict.output import create_predictions
from stp.predict.source import ForecastRequest, Source, open_source, request_for
from stp.score.samples import ALL, Availability, FrameSamples, samples_to_keep
from stp.score.scoring import score


def run(job: Job) -> Extras:
    """Score forecasts that were made elsewhere, and store the forecasts of some samples.

    Scores are written to ``scores.parquet``, ``sample_scores.parquet`` and
    ``cluster_sums.parquet`` (`stp.score.run`), forecasts to ``predictions.zarr``. Warnings are
    written to ``note.json``: that forecasts are suspiciously close to the truth, and what the
    source notes, such as equal ensemble members.

    Args:
        job: the recipe has the keys of `ScoreOptions` and two more:

            - ``rollout``: the recipe of the forecasts. Its ``source`` is the name of a module of
              stp.predict.sources, which reads the forecasts.
            - ``keep``: number of samples whose forecasts are stored, or names of their clips; 0 by
              default.

            Inputs are ``data`` and, if the forecasts are in an archive (raw files of a model),
            ``archive``, the lock file of the archive. The runtime then has ``raw_roots``, the
            folders that are searched for the files of the archive. It may also set:

            - ``block_samples``: number of forecasts that are scored together; by default, 16 MiB of
              forecasts.
            - ``block_leads``: number of lead times that are scored together; by default, all that
              fit into 16 MiB.
            - ``checkpoint_every_s``: seconds between saved states, 60 by default.

    Returns:
        numbers of samples, members, clusters and lead times, the overall value of each convention,
        the number of stored samples (``kept``), and the number of all samples (``of samples``).

    Raises:
        StpError: the recipe is wrong, or forecasts are missing, damaged or do not fit the data.
        Interrupted: the job was asked to stop, and has saved its state.
    """
    recipe = dict(job.recipe)
    rollout, keep = recipe.pop("rollout"), recipe.pop("keep", 0)
    options = ScoreOptions.from_recipe(recipe)
    predict = PredictOptions.from_recipe(rollout["predict"])
    data = Prepared(job.inputs["data"])
    request = request_for(job, rollout, data)
    with closing(open_source(rollout, request)) as source:
        samples = ReadSamples(request, source)
        if samples.members == 1:
            options = replace(options, statistic=None)
        kept_clips = samples_to_keep(request.clips, keep)
        where = f"forecasts of {rollout['model']}"
        scores = score(job, options, data, samples, where=where, threads=predict.threads)
        kept = select_stored(samples.rows, kept_clips)
        if len(kept):
            samples.store(job.out, rollout, kept)
        if note := "; ".join(filter(None, (samples.note(), source.note))):
            content = {"note": note, "members": samples.members}
            write_text(job.out / NOTE, json.dumps(content))
    return {**scores, "kept": len(kept), "of samples": len(request.clips)}


def select_stored(rows: np.ndarray, clips: np.ndarray) -> np.ndarray:
    """Choose the forecasts to store for some wanted clips.

    For each wanted clip, its own forecast is chosen. If it has none, the forecast of the next clip
    that has one is chosen; if there is no such clip, the last forecast. Models that lack different
    starts then store the same clips as far as possible.

    Args:
        rows: indices of the clips with forecasts, in any order.
        clips: indices of the wanted clips.

    Returns:
        indices along ``rows`` of the chosen forecasts, ascending, each once.
    """
    ordered = np.sort(rows)
    following = np.searchsorted(ordered, clips).clip(max=len(ordered) - 1)
    return np.flatnonzero(np.isin(rows, ordered[following]))


class ReadSamples(FrameSamples):
    """Samples with forecasts that were made elsewhere, which are read on demand.

    Args:
        request: data, clips and lead times of the forecasts to read.
        source: source of the forecasts.

    Attributes:
        rows: indices of the clips with forecasts, in the order of the samples.
    """

    def __init__(self, request: ForecastRequest, source: Source) -> None:
        self.rows = source.rows
        leads = np.arange(request.lead_times) if source.leads is None else source.leads
        shape = (
            len(source.rows),
            request.members if source.members is None else source.members,
            len(leads),
            len(source.channels),
            *request.data.shape[1:],
        )
        super().__init__(
            request.clips,
            shape,
            rows=source.rows,
            leads=request.lead_times,
            available=Availability(leads, source.channels),
        )
        self._request, self._source = request, source
        self._aside = request.aside / "levels.npy"
        self._levels = _put_aside(self._aside, (shape[0], shape[2]))

    def read(self, start: int, stop: int, leads: slice = ALL) -> tuple[np.ndarray, np.ndarray]:
        """Read forecasts and observations of samples start..stop-1 (see `Samples.read`).

        For forecasts of unknown origin, it also computes how closely they agree with the truth, and
        saves the result to the state folder, so that it survives a crash.
        """
        forecasts, observed = super().read(start, stop, leads)
        if self._source.is_unknown:
            valid = self.context + self.available.leads[leads]
            around = valid[:, None] + np.arange(-2, 2)
            around = np.unique(around.clip(0, self.context + self.leads - 1))
            frames = self._clips.read(
                self._rows[start:stop], length=int(around[-1]) + 1, frames=around
            )[:, :, self.available.channels]
            self._levels[start:stop, leads] = levels(forecasts, frames, around, valid)
            with atomic_path(self._aside) as temporary, temporary.open("wb") as file:
                np.save(file, self._levels)
        return forecasts, observed

    def note(self) -> str:
        """Write a warning if forecasts are suspiciously close to the truth, else an empty text."""
        agreement = Agreement()
        agreement.count(0, self._levels)
        return agreement.note([str(clip) for clip in self.index["clip"]])

    def forecasts(self, start: int, stop: int, leads: slice = ALL) -> np.ndarray:
        """Read forecasts of samples start..stop-1, for the channels that the forecasts have.

        Args:
            start, stop: range of samples.
            leads: range of the available lead times to read; all by default.

        Returns:
            forecasts of M members at t lead times, float32 (n, M, t, C_available, H, W).
        """
        steps = self.available.leads[leads]
        return np.stack([self._source.read(int(row), steps) for row in self.rows[start:stop]])

    def store(self, out: Path, recipe: Recipe, kept: np.ndarray) -> None:
        """Read some of the forecasts again, and write them to ``predictions.zarr``.

        Args:
            out: folder to write to.
            recipe: recipe of the forecasts.
            kept: indices of the samples whose forecasts are written.
        """
        rows = np.sort(self.rows[kept])
        position = {int(row): i for i, row in enumerate(self.rows)}
        data = self._request.data
        attrs = dict(data.attrs)
        if names := attrs.get("variables"):
            attrs["variables"] = [names[c] for c in self.available.channels]
        recipe = {**recipe, "leads": (1 + self.available.leads).tolist()}
        stored = create_predictions(out, recipe, attrs, self.shape[1:], rows, complete=False)
        with SequentialWriter(stored) as writer:
            for row in rows.tolist():
                forecast = self.forecasts(position[row], position[row] + 1)
                writer.append(forecast.reshape(1, *stored.shape[1:]))
        index = self._request.clips.index.iloc[rows].assign(sample=rows)
        index.to_parquet(out / "index.parquet", index=False, write_page_checksum=True)


def _put_aside(path: Path, shape: tuple[int, int]) -> np.ndarray:
    """Agreement with the truth as saved by an interrupted pass, uint8; zeros without one."""
    try:
        saved = np.load(path)
    except (OSError, ValueError, EOFError):
        return np.zeros(shape, np.uint8)
    return saved if saved.shape == shape and saved.dtype == np.uint8 else np.zeros(shape, np.uint8)
