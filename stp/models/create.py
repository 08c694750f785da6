"""Create a model of frames from its recipe: the dict with its name, options and shapes."""

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from stp.core.errors import StpError
from stp.core.options import check_keys
from stp.models.model import ForecastModel
from stp.models.wrapped import ABOUT_DATA, Wrapped

RECIPE_KEYS = ("model", "class", "options", "shape", "context", "horizon")
"""Keys of a recipe that define a model, apart from its weights; few recipes have a ``class``."""


def create(recipe: Mapping[str, Any]) -> ForecastModel:
    """Build a model from its recipe (name, options, frame shape), with random weights.

    Weights are drawn with torch's global generator.

    Calling the model raises an StpError if its forecast has the wrong shape.

    Args:
        recipe: dict with ``model`` (a module of stp.models), ``options``, ``shape`` (C, H, W),
            ``context``, ``horizon`` and, optionally, ``class`` (``package.module:Class``), a class
            in place of the one in the module.

    Raises:
        StpError: the model does not exist, or refuses an option or a value.
    """
    name, options, shape = recipe["model"], recipe["options"], tuple(recipe["shape"])
    context, horizon = recipe["context"], recipe["horizon"]
    chosen = recipe.get("class")
    model_class = _own_class(name) if chosen is None else _import_class(name, chosen)
    bare = model_class.__init__ is nn.Module.__init__  # with a signature that accepts anything
    parameters = {} if bare else dict(inspect.signature(model_class).parameters)
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        options_of_class = [key for key in parameters if key not in ABOUT_DATA]
        if options and not options_of_class:
            raise StpError(f"{name} takes no options, but {', '.join(options)} is set")
        check_keys(f"options of {name}", options, options_of_class)
    if issubclass(model_class, ForecastModel):
        make: Callable[..., ForecastModel] = model_class
        return make(shape, context, horizon, **options)
    about = {"shape": shape, "context": context, "horizon": horizon}
    about = {key: value for key, value in about.items() if key in parameters}
    return Wrapped(model_class(**about, **options), context)


def _own_class(name: str) -> type[ForecastModel]:
    """The class ``Model`` of a module of stp.models."""
    module_name = f"stp.models.{name}"
    try:
        module = vars(importlib.import_module(module_name))
    except ModuleNotFoundError as error:
        if error.name != module_name:
            raise
        module = {}
    model_class = module.get("Model")
    if not isinstance(model_class, type):
        raise StpError(
            f"there is no model {name!r}",
            expected=f"a class Model in stp/models/{name}.py, or modules/models/ of a project",
            remedy="write it, or take the model out of the configuration",
        )
    if not issubclass(model_class, ForecastModel):
        raise StpError(
            f"{module.get('__file__', module_name)}: Model does not inherit from ForecastModel",
            expected="class Model(ForecastModel), from stp.models.model, which has a default for "
            "all that a training may ask of a model",
            remedy="inherit from it, and call super().__init__(context); or name the class in "
            f"config/models/{name}.yaml, `class: stp.models.{name}:Model`, which trains a plain "
            "nn.Module on the mean squared error",
        )
    return model_class


def _import_class(name: str, chosen: str) -> type[nn.Module]:
    """Import the class that ``class: package.module:Class`` in a model's configuration names."""
    module_name, _, class_name = chosen.partition(":")
    where, expected = f"config/models/{name}.yaml: class: {chosen}", "package.module:Class"
    try:
        attribute = vars(importlib.import_module(module_name)).get(class_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise StpError(
            f"{where}: there is no module {error.name}",
            expected=expected,
            remedy="install its package where this runs, or correct the name",
        ) from error
    if not (isinstance(attribute, type) and issubclass(attribute, nn.Module)):
        raise StpError(
            f"{where}: {class_name} is no class of that module that is a torch.nn.Module",
            expected=expected,
            remedy="correct the name, or inherit from torch.nn.Module",
        )
    return attribute
