"""Core of stage `train` (the function that does its work) for predictors of people.

A predictor is calibrated (its parameters are searched) or trained on a part of a dataset.
"""

import json
from dataclasses import asdict
from importlib import import_module
from types import ModuleType
from typing import Any

import pandas as pd

from stp.core.job import Extras, Job
from stp.core.options import build
from stp.options.calibrate import CalibrationOptions, FittingOptions
from stp.tracks import prepared
from stp.tracks.prepared import PreparedTracks
from stp.tracks.scenarios import Scenarios
from stp.train.calibrate import calibrate


def run(job: Job) -> Extras:
    """Calibrate or train a predictor, and write its parameters.

    The output folder gets ``parameters.json`` and, from a calibration, ``trials.parquet`` (all
    parameters tried, and their errors), or, from a training run, ``model.pt`` (the weights) and
    ``history.parquet`` (a row for each validation).

    Args:
        job: settings (recipe), input folders and output folder. The recipe has ``model``,
            ``options`` (parameters that are not searched), ``context`` and ``horizon`` (numbers of
            positions), ``fit`` (``calibrate`` or ``sgd``), ``seed`` of a training run, ``train``
            (see `CalibrationOptions` and `FittingOptions`) and ``train_subset``, the protocol that
            cuts scenarios from tracks. The input is ``data``, prepared tracks.

    Returns:
        numbers of scenarios and people; for a calibration, the number of trials and the errors of
        default and best parameters on the calibration part; for a training run, the number of steps
        and the validation error.

    Raises:
        StpError: the recipe is wrong, the data are damaged, or there is no scenario to calibrate
            on.
        Interrupted: the job was asked to stop, and has saved its state.
    """
    recipe = job.recipe
    place = prepared.read(job.inputs["data"])
    scenarios = place.scenarios(
        "calibration", recipe["train_subset"], recipe["context"], recipe["horizon"]
    )
    module = import_module(f"stp.tracks.predictors.{recipe['model']}")
    make = _learn if recipe.get("fit") == "sgd" else _search
    return {
        "scenarios": len(scenarios),
        "people": int(scenarios.has_future.sum()),
        **make(job, module, scenarios, place),
    }


def _search(
    job: Job, module: ModuleType, scenarios: Scenarios, place: PreparedTracks
) -> dict[str, Any]:
    recipe = job.recipe
    options = CalibrationOptions.from_recipe(recipe["train"])
    calibrated = calibrate(
        module,  # type: ignore[arg-type]
        scenarios,
        place.obstacles,
        trials=options.trials,
        seed=options.seed,
        search=options.search,
        default=build(module.Parameters, recipe["options"], f"options of {recipe['model']}"),
        folder=job.state,
        report=job.report,
        interrupted=job.interrupted,
    )
    _write_parameters(job, calibrated.parameters)
    pd.DataFrame(calibrated.tried).to_parquet(
        job.out / "trials.parquet", index=False, write_page_checksum=True
    )
    return {
        "trials": calibrated.trials,
        "final_error": calibrated.error,
        "default_final_error": calibrated.default_error,
    }


def _learn(
    job: Job, module: ModuleType, scenarios: Scenarios, place: PreparedTracks
) -> dict[str, Any]:
    import torch  # not needed by searches

    from stp.train import learning

    recipe = job.recipe
    parameters = build(module.Parameters, recipe["options"], f"options of {recipe['model']}")
    learned = learning.learn(
        lambda: module.network(parameters, scenarios.dt),
        module.Objective(parameters),
        scenarios,
        FittingOptions.from_recipe(recipe["train"]),
        seed=recipe["seed"] or 0,
        recipe=recipe,
        folder=job.state,
        every_s=job.runtime.get("checkpoint_every_s", 60),
        report=job.report,
        interrupted=job.interrupted,
    )
    _write_parameters(job, parameters)
    torch.save({"weights": learned.weights, "dt": scenarios.dt}, job.out / "model.pt")
    pd.DataFrame(learned.history).to_parquet(
        job.out / "history.parquet", index=False, write_page_checksum=True
    )
    return dict(learned.facts)


def _write_parameters(job: Job, parameters: Any) -> None:
    written = {name: value for name, value in asdict(parameters).items() if name != "body"}
    text = json.dumps(written, indent=1) + "\n"
    (job.out / "parameters.json").write_text(text, encoding="utf-8")
