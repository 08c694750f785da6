"""From the words of a recipe to a model."""

import importlib
import inspect
from collections.abc import Mapping
from typing import Any

from torch import nn

from stp.core.errors import StpError
from stp.core.options import check_keys
from stp.models import forecast_shape

RECIPE_KEYS = ("model", "options", "shape", "context", "horizon")
"""What of a recipe makes up a model, apart from its weights."""


def create(recipe: Mapping[str, Any]) -> nn.Module:
    """Build the model that a recipe names, with fresh weights from torch's global generator.

    It raises an StpError instead of returning forecasts of another shape than it is asked for.

    Args:
        recipe: has ``model`` (a module of stp.models), ``options``, ``shape`` (C, H, W),
            ``context`` and ``horizon``.

    Raises:
        StpError: there is no such model, or it does not know an option or its value.
    """
    name, options = recipe["model"], recipe["options"]
    module_name = f"stp.models.{name}"
    try:
        model_class = getattr(importlib.import_module(module_name), "Model", None)
    except ModuleNotFoundError as error:
        if error.name != module_name:
            raise
        model_class = None
    if model_class is None:
        raise StpError(
            f"there is no model {name!r}",
            expected=f"a class Model in stp/models/{name}.py, or modules/models/ of a project",
            remedy="write it, or take the model out of the configuration",
        )
    known = [p for p in inspect.signature(model_class).parameters if p not in RECIPE_KEYS]
    if options and not known:
        raise StpError(f"{name} takes no options, but {', '.join(options)} is set")
    check_keys(f"options of {name}", options, known)
    model: nn.Module = model_class(
        tuple(recipe["shape"]), recipe["context"], recipe["horizon"], **options
    )
    forecast_shape.watch(model)
    return model
