"""Predict the paths of people in scenarios (moments of a recording, with observed people)."""

import json
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stp.core.errors import StpError
from stp.core.job import Extras, Job
from stp.core.json_files import read_json
from stp.core.options import build
from stp.data.raw_files import RawFiles
from stp.options.predict_tracks import MotionOptions
from stp.tracks import densities, noise, prepared, runtime
from stp.tracks.densities import Density
from stp.tracks.scenarios import Scenarios
from stp.tracks.tables import (
    CUT,
    PREDICTIONS,
    RUNTIME,
    SCENARIOS,
    person_names,
    scenario_table,
)

LEARNED = "model.pt"
"""File of a training run by gradient descent, see `stp.train.calibrated`."""
PEOPLE_AT_ONCE = 4096
"""Number of people in a batch; predictors need memory for each pair of people in a scenario."""


def run(job: Job) -> Extras:
    """Predict the paths of people in all scenarios (moments of a recording) of a test.

    Files that are written:

    - ``predictions.parquet``: a row is the predicted position of one person in one scenario at one
      lead time in one sample (random forecast). Columns: ``scenario``, ``person`` (a number),
      ``person_name`` (the identifier in the raw data), ``lead`` from 1, ``sample`` from 0, ``x``
      and ``y`` in metres.
    - ``mixtures.parquet`` or ``grids.parquet`` (`stp.tracks.densities`): predicted densities, from
      predictors that predict them.
    - ``scenarios.parquet``: the scenarios. ``runtime.parquet``: run times of the predictor.

    Args:
        job: job with the inputs ``data`` (the prepared tracks), ``model`` (the calibration or
            training of a predictor that has one) and ``weights`` (the lock file of released
            weights, if the predictor has some). Runtime: ``raw_roots``, the folders that are
            searched for these weights. Keys of the recipe:

            - ``model``: name of the predictor.
            - ``options``: parameters of the predictor.
            - ``context``, ``lead_times``: numbers of observed and of predicted positions.
            - ``split``: name of the protocol (rules) by which scenarios are cut from the test
              data, such as ``atlas-paper`` (`stp.options.protocols`). The key has this name
              because other tasks use it for the split or subset that is predicted.
            - ``predict``: number of samples, standard deviation of the random velocities that make
              samples differ, seed and number of threads, as a mapping with the fields of
              `MotionOptions`.
            - ``observe`` (optional): number of observed positions, instead of ``context``.
            - ``noise`` (optional): standard deviation of the noise that is added to observed
              positions, millimetres.
            - ``people`` (optional): minimum number of people in a scenario.

    Returns:
        facts for the receipt: counts of scenarios, people, samples and lead times.

    Raises:
        StpError: a bad recipe, damaged inputs, or no scenario.
    """
    recipe = job.recipe
    options = MotionOptions.from_recipe(recipe["predict"])
    place = prepared.read(job.inputs["data"])
    scenarios = place.scenarios(
        "test",
        recipe["split"],
        recipe.get("observe", recipe["context"]),
        recipe["lead_times"],
        noise=recipe.get("noise", 0) / 1000,
        seed=options.seed,
        fewest=recipe.get("people"),
    )
    module = import_module(f"stp.tracks.predictors.{recipe['model']}")
    parameters = _parameters(job, module)
    size = max(1, PEOPLE_AT_ONCE // scenarios.person.shape[1])
    row_tables, density_tables, done = [], [], 0
    for batch in scenarios.batches(size):
        drawn, density = _draw(module, batch, recipe["lead_times"], parameters, place, options)
        row_tables.append(_rows(batch, drawn, done))
        density_tables += [densities.table(density, batch, done)] if density is not None else []
        done += len(batch)
        job.report("scenarios predicted", done, len(scenarios))
    cut = {key: recipe[key] for key in CUT if key in recipe}
    rows = pa.concat_tables(row_tables).replace_schema_metadata({"cut": json.dumps(cut)})
    pq.write_table(rows, job.out / PREDICTIONS, compression="zstd", write_page_checksum=True)
    densities.write(job.out, density_tables)
    about = scenario_table(
        scenarios, place.step, recipe["split"], recipe.get("people") or place.about["fewest"]
    )
    pq.write_table(about, job.out / SCENARIOS, compression="zstd", write_page_checksum=True)
    measured = runtime.measure(
        lambda one: _draw(module, one, recipe["lead_times"], parameters, place, options),
        scenarios,
    )
    pq.write_table(measured, job.out / RUNTIME, write_page_checksum=True)
    return {
        "scenarios": len(scenarios),
        "moments": scenarios.looked_at,
        "episodes": len(np.unique(scenarios.episode)),
        "people": int(scenarios.has_future.sum()),
        # The next two are 0 except in strict-relaxed, which admits people seen for a part only.
        "neighbours": int((scenarios.present & ~scenarios.has_future).sum()),
        "left_out": 0 if scenarios.left_out is None else int(scenarios.left_out.sum()),
        "samples": options.samples,
        "lead_times": recipe["lead_times"],
    }


def _parameters(job: Job, module: Any) -> Any:
    """Parameters of the predictor, from the recipe and from a calibration, with any weights."""
    options = dict(job.recipe["options"])
    folder = job.inputs.get("model")
    if folder is not None:
        expected = "the parameters of a calibration"
        calibrated = read_json(folder / "parameters.json", dict, expected, "calibrate again")
        options = {**calibrated, **options}
    parameters = build(module.Parameters, options, f"options of {job.recipe['model']}")
    if not hasattr(module, "load"):
        return parameters
    if folder is not None:
        return module.load(folder / LEARNED, parameters)
    if "weights" not in job.inputs:
        raise StpError(
            f"{job.recipe['model']} has neither been trained nor been given weights",
            expected="`weights` in its configuration for this dataset",
            remedy="see config/models/social_gan.yaml",
        )
    raw = RawFiles(job.inputs["weights"], job.runtime["raw_roots"])
    (name,) = raw.names
    return module.load(raw.find(name), parameters)


def _draw(
    module: Any,
    scenarios: Scenarios,
    steps: int,
    parameters: Any,
    place: prepared.PreparedTracks,
    options: MotionOptions,
) -> tuple[np.ndarray, Density | None]:
    """Predicted positions, (K, S, N, T, 2), and their density if the predictor computes one."""
    arguments = (scenarios, steps, parameters, place.obstacles)
    prediction = module.predict(*arguments)
    density = None if isinstance(prediction, np.ndarray) else prediction
    points = densities.to_positions(prediction, scenarios, steps, module)
    if points.ndim == 5:
        if len(points) != options.samples:
            raise StpError(
                f"the predictor gives {len(points)} samples, and {options.samples} are asked for",
                remedy=f"set predict: {{samples: {len(points)}}} of this model",
            )
        return points, density
    if options.samples == 1:
        return points[None], density
    if hasattr(module, "draw"):
        drawn = module.draw(*arguments, options.samples, options.seed)
        return densities.to_positions(drawn, scenarios, steps, module), density
    shape = (options.samples, steps, 2)
    jitter = noise.normal(scenarios, shape, options.seed, noise.JITTER)
    jitter = options.jitter * scenarios.dt * np.moveaxis(jitter, 2, 0)
    return np.stack(
        [
            densities.to_positions(module.predict(*arguments, moved), scenarios, steps, module)
            for moved in jitter
        ]
    ), density


def _rows(scenarios: Scenarios, drawn: np.ndarray, first: int) -> pa.Table:
    scene, place = np.nonzero(scenarios.present)
    samples, steps = drawn.shape[0], drawn.shape[3]
    paths = np.moveaxis(drawn[:, scene, place], 0, 2)  # (people, steps, samples, 2)
    people = np.repeat(np.arange(len(scene)), steps * samples)
    person = scenarios.person[scene, place][people]
    return pa.table(
        {
            "scenario": first + scene[people],
            "person": person,
            "person_name": person_names(person, scenarios.names),
            "lead": np.tile(np.repeat(np.arange(1, steps + 1), samples), len(scene)),
            "sample": np.tile(np.arange(samples), len(scene) * steps),
            "x": paths[..., 0].reshape(-1),
            "y": paths[..., 1].reshape(-1),
        }
    )
