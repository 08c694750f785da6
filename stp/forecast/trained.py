"""Load a model by its folder or file, by its name, or by words that select a training run."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from stp.core import store
from stp.core.errors import StpError, suggest_name
from stp.core.json_files import read_json
from stp.core.options import build
from stp.core.receipts import read_receipt
from stp.forecast.frames import FrameModel
from stp.forecast.tracks import OBSERVE, PREDICT, TrackModel
from stp.models import weights
from stp.models.create import RECIPE_KEYS, create
from stp.plan import config
from stp.plan.cells import Plan

PARAMETERS = "parameters.json"
"""Name of the file that a calibration writes."""


def load(source: str | Path, configfile: Path) -> FrameModel | TrackModel:
    """Load a trained model, to forecast from the user's own data.

    Args:
        source: folder of a trained model, ``model.pt`` or snapshot file, words that select a
            training run of the plan (``convlstm/kth``), or name of a model without parameters.
        configfile: scale file (which models and datasets are evaluated) of the plan in which words
            and names are looked up.

    Raises:
        StpError: ``source`` is none of these, is not trained, or is damaged.
    """
    path = Path(source)
    if path.is_dir():
        return _in_folder(path)
    if path.is_file():
        return _in_file(path)
    return _parameterless_model(str(source)) or _in_folder(_find_training(str(source), configfile))


def _in_folder(folder: Path) -> FrameModel | TrackModel:
    if (folder / PARAMETERS).is_file():
        return _predictor(folder)
    return _in_file(folder / weights.MODEL)


def _in_file(path: Path) -> FrameModel:
    """Load a model of frames from a file with weights and recipe."""
    expected = "a folder or file of a trained model (model.pt)"
    if not path.is_file():
        raise StpError(f"{path} is missing", expected=expected, remedy="`stp plan --list` has all")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        recipe = {key: content["recipe"][key] for key in RECIPE_KEYS if key in content["recipe"]}
    # torch raises errors of many kinds for other files
    except Exception as error:
        raise StpError(
            f"{path} is no trained model ({str(error).partition('.')[0]})",
            expected=expected,
            remedy="if its training still runs, wait for model.pt",
        ) from error
    state, normalisation = weights.load(path, recipe)
    return FrameModel(recipe["model"], recipe, state, normalisation)


def _predictor(folder: Path) -> TrackModel:
    """Load a predictor of people from the folder of its calibration or training."""
    receipt = read_receipt(folder)
    if receipt is None:
        raise StpError(f"{folder} has no receipt", expected="artefact.json beside parameters.json")
    recipe = receipt.recipe
    module = import_module(f"stp.tracks.predictors.{recipe['model']}")
    expected = "the parameters that a calibration has found"
    calibrated = read_json(folder / PARAMETERS, dict, expected, "calibrate again")
    values = {**calibrated, **recipe.get("options", {})}
    parameters: Any = build(module.Parameters, values, f"parameters of {recipe['model']}")
    if hasattr(module, "load"):
        parameters = module.load(folder / weights.MODEL, parameters)
    return TrackModel(
        recipe["model"],
        module,
        parameters,
        recipe.get("context", OBSERVE),
        recipe.get("horizon", PREDICT),
    )


def _parameterless_model(name: str) -> FrameModel | TrackModel | None:
    """The model of this name without parameters; None if there is none."""
    if not name.isidentifier():
        return None
    if find_spec(f"stp.tracks.predictors.{name}") is not None:
        module = import_module(f"stp.tracks.predictors.{name}")
        is_fitted = module.SEARCH or hasattr(module, "load")
        return None if is_fitted else TrackModel(name, module, module.Parameters())
    if find_spec(f"stp.models.{name}") is None or not hasattr(
        import_module(f"stp.models.{name}"), "Model"
    ):
        return None
    recipe: dict[str, Any] = {"model": name, "options": {}}
    small = {"shape": [1, 16, 16], "context": 2, "horizon": 2}
    return None if create({**recipe, **small}).state_dict() else FrameModel(name, recipe)


def _find_training(text: str, configfile: Path) -> Path:
    """The folder of the one training run of the plan that matches all words.

    Raises:
        StpError: no training run or several match, or the training run is not finished.
    """
    plan = Plan(config.load(configfile))
    words = text.split("/")
    trainings = [a for a in plan.artefacts.values() if a.stage == "train"]
    matches = [a for a in trainings if a.words.issuperset(words)]
    if len(matches) != 1:
        listed = "; ".join([a.label for a in (matches or trainings)][:8])
        parts = {word for a in trainings for word in a.words}
        raise StpError(
            f"{text!r} is no file, no model without parameters, and "
            f"{len(matches) or 'no'} trainings of {configfile}",
            expected=f"one of: {listed or 'nothing is trained'}",
            remedy=suggest_name(words[0], parts)
            if not matches
            else "add words of its path, with /",
        )
    folder = plan.store / matches[0].folder
    if not store.is_complete(folder):
        raise StpError(
            f"{matches[0].label} is not done",
            expected=f"a finished folder {folder}",
            remedy=f"`stp train {' '.join(words)} --configfile {configfile}`, after its data",
        )
    return folder
