"""Score forecasts that are read from somewhere else, while they are read.

A year of a centre's control forecasts is 100 GB, of an ensemble more than a terabyte: too much to
be written down once more. The forecasts of a clip are read at some lead times at a time, compared
with what happened, and forgotten.
"""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from stp.core.disk import beside, write_text
from stp.core.job import Extras, Job, Recipe
from stp.data.prepared import Prepared
from stp.data.zarr_write import SequentialWriter
from stp.options.predict import PredictOptions
from stp.options.score import NOTE, ScoreOptions
from stp.predict.agreement import Agreement, levels
from stp.predict.output import create_predictions
from stp.predict.source import Given, Source, given_for, open_source
from stp.score.samples import ALL, FrameSamples, There, wanted_samples
from stp.score.scoring import score


def run(job: Job) -> Extras:
    """Write what `stp.score.run` writes and, of ``keep`` samples, the forecasts.

    Where forecasts are nearer to the truth than they can be, or members equal, ``note.json`` says
    so (`stp.options.score.NOTE`).

    Args:
        job: the recipe is a `ScoreOptions` with ``rollout``, a recipe of forecasts with ``source``,
            and perhaps ``keep``, see `wanted_samples` (none unless given). Inputs are
            ``data`` and, where forecasts are those of an archive, its lock file ``archive``.
            Runtime: ``raw_roots`` of this, ``block_samples``, ``block_leads``,
            ``checkpoint_every_s``.

    Returns:
        What `stp.score.run` returns, and how many samples, members, lead times and variables there
        are.

    Raises:
        StpError: a bad recipe, or forecasts that are missing, damaged or do not fit the data.
        Interrupted: it was asked to stop, and has saved its state.
    """
    recipe = dict(job.recipe)
    rollout, keep = recipe.pop("rollout"), recipe.pop("keep", 0)
    options = ScoreOptions.from_recipe(recipe)
    predict = PredictOptions.from_recipe(rollout["predict"])
    data = Prepared(job.inputs["data"])
    given = given_for(job, rollout, data)
    with closing(open_source(rollout, given)) as source:
        samples = ReadSamples(given, source)
        if samples.members == 1:
            options = replace(options, statistic=None)
        wanted = wanted_samples(given.clips, keep)
        where = f"forecasts of {rollout['model']}"
        found = score(job, options, data, samples, where=where, threads=predict.threads)
        kept = kept_of(samples.rows, wanted)
        if len(kept):
            samples.store(job.out, rollout, kept)
        if note := "; ".join(filter(None, (samples.note(), source.note))):
            told = {"note": note, "members": samples.members}
            write_text(job.out / NOTE, json.dumps(told))
    return {**found, "kept": len(kept), "of samples": len(given.clips)}


def kept_of(rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Which forecasts are stored: those of the wanted clips, or of the next ones that have some.

    So models that lack different starts store the same ones where they can.

    Args:
        rows: numbers of the clips that have forecasts, in any order.
        wanted: numbers of clips.

    Returns:
        Places in ``rows``, ascending.
    """
    there = np.sort(rows)
    next_ones = np.searchsorted(there, wanted).clip(max=len(there) - 1)
    return np.flatnonzero(np.isin(rows, there[next_ones]))


class ReadSamples(FrameSamples):
    """Forecasts of a split that are read when they are asked for.

    Args:
        given: what they are read for.
        source: where they are read from.

    Attributes:
        rows: numbers of the clips that have forecasts, in the order of the samples.
    """

    def __init__(self, given: Given, source: Source) -> None:
        self.rows = source.rows
        leads = np.arange(given.lead_times) if source.leads is None else source.leads
        shape = (
            len(source.rows),
            given.members if source.members is None else source.members,
            len(leads),
            len(source.channels),
            *given.data.shape[1:],
        )
        super().__init__(
            given.clips,
            shape,
            rows=source.rows,
            leads=given.lead_times,
            there=There(leads, source.channels),
        )
        self._given, self._source = given, source
        self._aside = given.aside / "levels.npy"
        self._levels = _put_aside(self._aside, (shape[0], shape[2]))

    def read(self, start: int, stop: int, leads: slice = ALL) -> tuple[np.ndarray, np.ndarray]:
        """See `Samples.read`; what is found of unknown forecasts survives a crash."""
        forecasts, observed = super().read(start, stop, leads)
        if self._source.is_unknown:
            valid = self.context + self.there.leads[leads]
            around = valid[:, None] + np.arange(-2, 2)
            around = np.unique(around.clip(0, self.context + self.leads - 1))
            frames = self._clips.read(
                self._rows[start:stop], length=int(around[-1]) + 1, frames=around
            )[:, :, self.there.channels]
            self._levels[start:stop, leads] = levels(forecasts, frames, around, valid)
            with beside(self._aside) as temporary, temporary.open("wb") as file:
                np.save(file, self._levels)
        return forecasts, observed

    def note(self) -> str:
        """Say which forecasts are nearer to the truth than they can be; empty if none are."""
        agreement = Agreement()
        agreement.count(0, self._levels)
        return agreement.note([str(clip) for clip in self.index["clip"]])

    def forecasts(self, start: int, stop: int, leads: slice = ALL) -> np.ndarray:
        """Forecasts of samples start..stop-1, float32 (n, M, t, C_there, H, W)."""
        wanted = self.there.leads[leads]
        return np.stack([self._source.read(int(row), wanted) for row in self.rows[start:stop]])

    def store(self, out: Path, recipe: Recipe, kept: np.ndarray) -> None:
        """Write some forecasts and their part of the index; they are read once more."""
        rows = np.sort(self.rows[kept])
        place = {int(row): i for i, row in enumerate(self.rows)}
        data = self._given.data
        attrs = dict(data.attrs)
        if names := attrs.get("variables"):
            attrs["variables"] = [names[c] for c in self.there.channels]
        recipe = {**recipe, "leads": (1 + self.there.leads).tolist()}
        stored = create_predictions(out, recipe, attrs, self.shape[1:], rows, complete=False)
        with SequentialWriter(stored) as writer:
            for row in rows.tolist():
                one = self.forecasts(place[row], place[row] + 1)
                writer.append(one.reshape(1, *stored.shape[1:]))
        index = self._given.clips.index.iloc[rows].assign(sample=rows)
        index.to_parquet(out / "index.parquet", index=False, write_page_checksum=True)


def _put_aside(path: Path, shape: tuple[int, int]) -> np.ndarray:
    """What was found before a pass was interrupted, uint8; zeros if nothing was."""
    try:
        found = np.load(path)
    except (OSError, ValueError, EOFError):
        return np.zeros(shape, np.uint8)
    return found if found.shape == shape and found.dtype == np.uint8 else np.zeros(shape, np.uint8)
