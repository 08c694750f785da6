"""Networks whose speed and memory can be measured (profiled), listed without importing torch."""

import json
from typing import Any

from stp.core.errors import StpError, suggest_name
from stp.core.fingerprint import Sources
from stp.core.json_files import Json
from stp.core.options import as_json
from stp.plan import named_class
from stp.plan.checked_config import check_known
from stp.plan.config import Config
from stp.plan.recipes import Recipes
from stp.tasks import task as tasks

NETWORK_KEYS = ("model", "class", "options", "shape", "context", "horizon")
CODE = ("stp.profiling.measure", "stp.profiling.table19")
"""Root modules of the code of a measurement, besides the model."""
BUSY = "other work ran on this machine at the same time, so durations are too long"


def networks(config: Config) -> dict[str, str]:
    """Titles of all models whose speed and memory can be measured (profiled), by name."""
    return {
        name: model.title
        for name, model in config.models.items()
        if tasks.find(model.kind).is_profiled(model.fit)
    }


def network(config: Config, model: str, dataset: str) -> Json:
    """The settings of a model and a dataset that define a network, for measurements of its costs.

    Returns:
        ``model``, ``class``, ``options``, ``shape``, ``context`` and ``horizon`` of the recipe of
        its training, as far as they are set, and ``precision``, such as ``float32``.

    Raises:
        StpError: the dataset or model is unknown, or the model is not a network.
    """
    check_known(dataset, config.datasets, "dataset", "profile")
    profiled = networks(config)
    if model not in config.models:
        raise StpError(f"profile: unknown model {model!r}", remedy=suggest_name(model, profiled))
    if model not in profiled:
        raise StpError(
            f"profile: {model} is not a network: there is nothing to count or to train",
            expected=f"one of {', '.join(profiled)}",
        )
    recipe = as_json(Recipes(config).train(model, dataset, 0))
    network = {key: recipe[key] for key in NETWORK_KEYS if key in recipe}
    return {**network, "precision": recipe["train"].get("precision", "float32")}


def describe_network(config: Config, model: str, dataset: str) -> str:
    """Describe network and code as JSON; if the text changes, a measurement is outdated.

    Args:
        config: the checked configuration.
        model: name of the model.
        dataset: name of the dataset that sets the network's frame shape, context and horizon.
    """
    recipe = network(config, model, dataset)
    class_name = recipe.get("class")
    module = f"stp.models.{model}" if class_name is None else named_class.module_of(class_name)
    described: dict[str, Any] = {
        "network": recipe,
        "code": Sources().code_of([*CODE, module]).fingerprint,
    }
    if class_name is not None and not named_class.is_ours(class_name):
        described["package"] = named_class.digest_of(class_name)
    return json.dumps(described, indent=1, sort_keys=True) + "\n"
