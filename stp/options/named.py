"""Schedules, losses and callbacks: modules that a recipe names, with or without options.

    schedule: cosine
    schedule: {onecycle: {final_div_factor: 1000}}
    callbacks: {early_stopping: {patience: 10}}

A schedule is a module of stp.train.schedules with ``learning_rate(step, steps, lr, ...)``, a loss
one of stp.train.losses with ``loss(predicted, observed, ...)``, a callback one of
stp.train.callbacks with a class ``Callback(...)``; keyword arguments are the options.
"""

import functools
import importlib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stp.core.errors import ConfigurationError, suggest_name
from stp.core.json_files import Json
from stp.core.options import check_keys

ENTRY = {"schedules": "learning_rate", "losses": "loss", "callbacks": "Callback"}
"""Name of the function or class that a module must have, by the kind of module."""
DEFAULT_SCHEDULE = "onecycle"


def choice(where: str, kind: str, value: object) -> tuple[str, Json]:
    """Split a setting, such as a loss, into the name of a module and its options.

    Args:
        where: key of the recipe, for errors.
        kind: schedules, losses or callbacks.
        value: ``name`` or ``{name: {option: value}}``.

    Returns:
        name and options.

    Raises:
        ConfigurationError: the value is neither, or no such module exists.
    """
    name: object = value
    options: Any = {}
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, options),) = value.items()
    if not isinstance(name, str) or not isinstance(options or {}, Mapping):
        raise ConfigurationError(
            f"{where} is {value!r}",
            expected="a name, or one name with its options",
            remedy=f"write {where}: NAME, or {where}: {{NAME: {{OPTION: VALUE}}}}",
        )
    known = names(kind)
    if name not in known:
        raise ConfigurationError(
            f"{where} is {name!r}",
            expected=f"{' or '.join(known)}, or a new file stp/train/{kind}/{name}.py",
            remedy=suggest_name(name, known),
        )
    return name, dict(options or {})


def modules(train: Json) -> list[str]:
    """Full names of the modules of schedule, loss and callbacks of a training.

    Args:
        train: settings of the training, ``train`` of a recipe.

    Raises:
        ConfigurationError: a module does not exist.
    """
    chosen = [("schedules", "schedule", train.get("schedule", DEFAULT_SCHEDULE))]
    chosen += [("losses", "loss", train["loss"])] if train.get("loss") else []
    chosen += [
        ("callbacks", "callbacks", {name: options})
        for name, options in (train.get("callbacks") or {}).items()
    ]
    return sorted(
        f"stp.train.{kind}.{choice(f'train.{key}', kind, value)[0]}" for kind, key, value in chosen
    )


@functools.cache
def names(kind: str) -> list[str]:
    """Names of the modules of a kind: schedules, losses or callbacks."""
    folder = Path(__file__).parents[1] / "train" / kind
    return sorted(path.stem for path in folder.glob("[a-z]*.py"))


def load(where: str, kind: str, value: object) -> Callable[..., Any]:
    """Import the function of a schedule or loss, or the class of a callback, and bind its options.

    Args:
        where: key of the recipe, for errors.
        kind: schedules, losses or callbacks.
        value: ``name`` or ``{name: {option: value}}``.

    Raises:
        ConfigurationError: no such module exists, or it has no such option.
    """
    name, options = choice(where, kind, value)
    entry = getattr(importlib.import_module(f"stp.train.{kind}.{name}"), ENTRY[kind])
    parameters = inspect.signature(entry).parameters.values()
    known = [p.name for p in parameters if p.kind == inspect.Parameter.KEYWORD_ONLY]
    if options and not known:
        raise ConfigurationError(
            f"{where}: {name} takes no options, but {', '.join(options)} is set"
        )
    check_keys(f"{where}: {name}", options, known)
    return functools.partial(entry, **options)
