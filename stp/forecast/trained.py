"""Find a model: in a folder, in a file, by its name, or by words of the plan."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from stp.core import store
from stp.core.errors import StpError, nearest
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
"""What a calibration leaves."""


def load(what: str | Path, configfile: Path) -> FrameModel | TrackModel:
    """Load a model.

    Args:
        what: the folder of a trained model, a file ``model.pt`` or a snapshot of one, words of a
            training in the plan (``convlstm/kth``), or the name of a model with nothing to fit.
        configfile: the scale file of the plan.

    Raises:
        StpError: it is nothing of these, is not trained, or damaged.
    """
    path = Path(what)
    if path.is_dir():
        return _in_folder(path)
    if path.is_file():
        return _in_file(path)
    return _unfitted(str(what)) or _in_folder(_planned(str(what), configfile))


def _in_folder(folder: Path) -> FrameModel | TrackModel:
    if (folder / PARAMETERS).is_file():
        return _predictor(folder)
    return _in_file(folder / weights.MODEL)


def _in_file(path: Path) -> FrameModel:
    """A model of frames from its file, which says what it was trained from."""
    expected = "a folder or file of a trained model (model.pt)"
    if not path.is_file():
        raise StpError(f"{path} is missing", expected=expected, remedy="`stp plan --list` has all")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        recipe = {key: content["recipe"][key] for key in RECIPE_KEYS if key in content["recipe"]}
    # torch raises almost anything for files that it has not written
    except Exception as error:
        raise StpError(
            f"{path} is no trained model ({str(error).partition('.')[0]})",
            expected=expected,
            remedy="of a training that goes on, wait for its model.pt",
        ) from error
    state, normalisation = weights.load(path, recipe)
    return FrameModel(recipe["model"], recipe, state, normalisation)


def _predictor(folder: Path) -> TrackModel:
    """A predictor of people from what its calibration or training has left."""
    receipt = read_receipt(folder)
    if receipt is None:
        raise StpError(f"{folder} has no receipt", expected="artefact.json beside parameters.json")
    recipe = receipt.recipe
    module = import_module(f"stp.tracks.predictors.{recipe['model']}")
    expected = "the parameters that a calibration has found"
    found = read_json(folder / PARAMETERS, dict, expected, "calibrate again")
    given = {**found, **recipe.get("options", {})}
    parameters: Any = build(module.Parameters, given, f"parameters of {recipe['model']}")
    if hasattr(module, "load"):
        parameters = module.load(folder / weights.MODEL, parameters)
    return TrackModel(
        recipe["model"],
        module,
        parameters,
        recipe.get("context", OBSERVE),
        recipe.get("horizon", PREDICT),
    )


def _unfitted(name: str) -> FrameModel | TrackModel | None:
    """A model with nothing to fit, by its name; None if there is none of this name."""
    if not name.isidentifier():
        return None
    if find_spec(f"stp.tracks.predictors.{name}") is not None:
        module = import_module(f"stp.tracks.predictors.{name}")
        fitted = module.SEARCH or hasattr(module, "load")
        return None if fitted else TrackModel(name, module, module.Parameters())
    if find_spec(f"stp.models.{name}") is None or not hasattr(
        import_module(f"stp.models.{name}"), "Model"
    ):
        return None
    recipe: dict[str, Any] = {"model": name, "options": {}}
    small = {"shape": [1, 16, 16], "context": 2, "horizon": 2}
    return None if create({**recipe, **small}).state_dict() else FrameModel(name, recipe)


def _planned(what: str, configfile: Path) -> Path:
    """The folder of the one training of the plan that has all words.

    Raises:
        StpError: there is none, there are several, or it is not trained yet.
    """
    plan = Plan(config.load(configfile))
    words = what.split("/")
    trained = [a for a in plan.artefacts.values() if a.stage == "train"]
    found = [a for a in trained if a.words.issuperset(words)]
    if len(found) != 1:
        listed = "; ".join([a.label for a in (found or trained)][:8])
        parts = {word for a in trained for word in a.words}
        raise StpError(
            f"{what!r} is no file, no model with nothing to fit, and "
            f"{len(found) or 'no'} trainings of {configfile}",
            expected=f"one of: {listed or 'nothing is trained there'}",
            remedy=nearest(words[0], parts) if not found else "add words of its path, with /",
        )
    folder = plan.store / found[0].folder
    if not store.is_complete(folder):
        raise StpError(
            f"{found[0].label} is not done",
            expected=f"a finished folder {folder}",
            remedy=f"`stp train {' '.join(words)} --configfile {configfile}`, after its data",
        )
    return folder
