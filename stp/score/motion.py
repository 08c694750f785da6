"""Scores of predicted tracks of people, with the same statistics, intervals and files as frames.

A sample is a scenario, its cluster is the episode, and a frame holds the positions of its people:
channels x and y, a column for each person, NaN where a person is absent.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from stp.core.disk import write_text
from stp.core.errors import ArtefactError, StpError
from stp.core.job import Extras, Job
from stp.core.parquet import read_schema, read_table, report_read_errors
from stp.options.score import NOTE, ScoreOptions
from stp.predict.agreement import Agreement, agreement_of_paths
from stp.score.samples import ALL, Availability, Samples
from stp.score.scoring import score
from stp.tracks import densities, errors, prepared
from stp.tracks.scenarios import Scenarios
from stp.tracks.tables import PREDICTIONS, error_table

ERRORS = "errors.parquet"


@dataclass(frozen=True)
class PeopleData:
    """What metrics need to know about prepared tracks: folder, units and shape of a frame.

    Metrics expect frames with channels, height and width. Here the channels are the coordinates x
    and y, the height is 1, and each person is a column. The positions themselves are in
    `PeopleSamples`.

    Attributes:
        folder: folder of the prepared data.
        attrs: attributes of the data: ``{"units": "m"}``.
        shape: shape of a frame: number of coordinates (2 if `only` chose none), 1, maximum number
            of people in a scenario.
        channels: indices of the coordinates, int64: 0 for x, 1 for y.
    """

    folder: Path
    attrs: Mapping[str, Any]
    shape: tuple[int, int, int]
    channels: np.ndarray

    def only(self, channels: np.ndarray) -> "PeopleData":
        """The same data with only some of the two coordinates of a position.

        Args:
            channels: indices, in this object, of the coordinates to keep, from 0, int64.
        """
        shape = (len(channels), *self.shape[1:])
        return replace(self, shape=shape, channels=self.channels[channels])


class PeopleSamples(Samples):
    """Predicted and true positions of people in S scenarios; each scenario is a sample.

    Args:
        scenarios: the scenarios, with observed and future positions.
        drawn: K predictions for the N people of each scenario, (K, S, N, T, 2), metres.
    """

    def __init__(self, scenarios: Scenarios, drawn: np.ndarray) -> None:
        self._observed = _frames(scenarios.observed)
        self._truth = _frames(scenarios.future)
        self._drawn = np.moveaxis(_frames(drawn), 0, 1)
        self.shape = self._drawn.shape
        self.members, self.leads = self.shape[1:3]
        self.context = scenarios.observed.shape[2]
        names = [f"frame {int(start)}" for start in scenarios.start]
        episodes = [f"episode {number}" for number in scenarios.episode]
        self.index = pd.DataFrame({"clip": names, "cluster": episodes})
        self.blocks = None
        self.available = Availability(np.arange(self.leads), np.arange(self.shape[3]))

    def read(self, start: int, stop: int, leads: slice = ALL) -> tuple[np.ndarray, np.ndarray]:
        """Read the positions of the people in n = stop - start scenarios, as frames.

        Returns:
            K predictions, float32 (n, K, T, 2, 1, N), and the truth, float32 (n, T, 2, 1, N), for N
            people; the axis of length 2 holds x and y.
        """
        return self._drawn[start:stop, :, leads], self._truth[start:stop, leads]

    def read_context(self, start: int, stop: int) -> np.ndarray:
        """Observed positions of N people in n = stop - start scenarios.

        Returns:
            positions, float32 (n, context, 2, 1, N); the axis of length 2 holds x and y.
        """
        return self._observed[start:stop]

    def frame_numbers(self) -> np.ndarray:
        """Number the true positions of S scenarios at T lead times, int (S, T).

        Caches identify an observed frame by its number. Positions of people are not shared by
        scenarios, so that each scenario and lead time has a number of its own.
        """
        return np.arange(self.shape[0] * self.leads).reshape(self.shape[0], self.leads)


def _frames(positions: np.ndarray) -> np.ndarray:
    """Arrange positions (..., N, T, 2) as frames (..., T, 2, 1, N)."""
    return np.moveaxis(positions, -3, -1)[..., None, :].astype(np.float32)


def run(job: Job) -> Extras:
    """Score predicted paths of people, and write the error of every person at each lead time.

    The errors of persons are written to ``errors.parquet``, and the scores to the same files as by
    `stp.score.run`. Scores include standard deviations over scenarios. If paths are suspiciously
    close to the truth, a warning is written to ``note.json``.

    Args:
        job: the recipe is a `ScoreOptions`; inputs are ``data`` and ``predictions``.

    Returns:
        facts for the receipt: counts, and the overall value of each convention (`score`).

    Raises:
        StpError: the recipe is wrong, an input is damaged, or the predictions do not belong to the
            data.
    """
    options = ScoreOptions.from_recipe(job.recipe)
    tracks = prepared.read(job.inputs["data"])
    folder = job.inputs["predictions"]
    scenarios = scenarios_of(folder, tracks)
    drawn = read_predictions(folder, scenarios)
    distances = errors.displacement(drawn, scenarios.future)
    pq.write_table(
        error_table(scenarios, distances, options.cell),
        job.out / ERRORS,
        compression="zstd",
        write_page_checksum=True,
    )
    samples = PeopleSamples(scenarios, drawn)
    coordinates, height, people = samples.shape[3:]
    shape = (coordinates, height, people)
    if note := _note(samples, scenarios, drawn):
        write_text(job.out / NOTE, json.dumps({"note": note}))
    data = PeopleData(job.inputs["data"], {"units": "m"}, shape, np.arange(coordinates))
    return score(
        job,
        options,
        data,
        samples,
        where=str(folder),
        threads=options.threads,
        spread=True,
        densities=log_densities(folder, scenarios),
    )


def _note(samples: PeopleSamples, scenarios: Scenarios, drawn: np.ndarray) -> str:
    """Warning about paths suspiciously close to the truth; empty if there are none."""
    followed = scenarios.has_future
    known = np.concatenate([scenarios.observed[:, :, -2:], scenarios.future], axis=2)
    nearness = np.zeros(followed.shape, np.uint8)
    nearness[followed] = agreement_of_paths(np.moveaxis(drawn[:, followed], 0, 1), known[followed])
    agreement = Agreement()
    agreement.count(0, nearness)
    clips = samples.index["clip"].tolist()
    return agreement.note(clips, "paths of people", "the positions before and behind")


def scenarios_of(folder: Path, tracks: prepared.PreparedTracks) -> Scenarios:
    """Recover the scenarios (moments with several people) for which predictions were made.

    They are cut from the prepared tracks with the stored parameters of the predictions, but without
    the noise that may have been added to the observed positions.

    Args:
        folder: folder of the predictions.
        tracks: prepared tracks of the test dataset.

    Raises:
        StpError: the predictions do not state the parameters of the scenarios.
    """
    path = folder / PREDICTIONS
    expected = "predictions that say how their scenarios were cut"
    with report_read_errors(path, expected):
        cut = json.loads((read_schema(path, expected=expected).metadata or {})[b"cut"])
        given = cut["split"], cut.get("observe", cut["context"]), cut["lead_times"]
    return tracks.scenarios("test", *given, fewest=cut.get("people"))


def log_densities(folder: Path, scenarios: Scenarios) -> dict[str, np.ndarray]:
    """Evaluate predicted densities at the true positions.

    Args:
        folder: folder of the predictions, which may have a file of densities.
        scenarios: the scenarios of the predictions, with the true positions.

    Returns:
        Log-densities, nats, for N people in S scenarios at T lead times, (S, N, T), by kind of
        density (``mixture`` or ``grid``); empty if none is predicted.

    Raises:
        StpError: the file of densities is damaged.
    """
    density = densities.read(folder, scenarios)
    if density is None:
        return {}
    kind = "mixture" if isinstance(density, densities.Mixture) else "grid"
    return {kind: density.log_density(scenarios.future)}


def read_predictions(folder: Path, scenarios: Scenarios) -> np.ndarray:
    """Read predictions of all people of all scenarios.

    Args:
        folder: folder of the predictions.
        scenarios: the scenarios of the predictions (`scenarios_of`).

    Returns:
        K predicted positions (x, y) for N people in S scenarios at T lead times, metres, (K, S, N,
        T, 2); NaN where a person is absent.

    Raises:
        StpError: the file is damaged, or has other scenarios, people or lead times.
    """
    path = folder / PREDICTIONS
    expected = "predictions: scenario, person, lead, sample, x, y"
    with report_read_errors(path, expected):
        table = read_table(path, expected=expected)
        names = ("scenario", "person", "lead", "sample", "x", "y")
        columns = {name: table[name].to_numpy() for name in names}
        samples = int(columns["sample"].max()) + 1
        x, y = columns["x"], columns["y"]
    scene, column = np.nonzero(scenarios.present)
    steps = scenarios.future.shape[2]
    expected_keys = densities.keys(scenarios, sample=samples)
    keys = [str(name) for name in expected_keys.names]
    if not pd.MultiIndex.from_arrays([columns[key] for key in keys]).equals(expected_keys):
        raise ArtefactError(
            path,
            f"{len(x)} rows are not those of {len(scene)} people, {steps} lead times and "
            f"{samples} samples",
            expected="every person of every scenario of the data, in order",
        )
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        bad = int(np.flatnonzero(~(np.isfinite(x) & np.isfinite(y)))[0])
        where = ", ".join(f"{key} {columns[key][bad]}" for key in keys)
        raise StpError(
            f"{path}: no finite position for {where}",
            expected="metres",
            remedy="check the parameters of the predictor, then predict this cell again",
        )
    positions = np.full((samples, *scenarios.person.shape, steps, 2), np.nan)
    paths = np.stack([x, y], axis=-1).reshape(len(scene), steps, samples, 2)
    positions[:, scene, column] = np.moveaxis(paths, 2, 0)
    return positions
