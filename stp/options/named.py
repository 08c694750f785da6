"""Schedules, losses and callbacks: one file each, named in a recipe, with options or without.

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

from stp.core.errors import StpError, nearest
from stp.core.options import check_keys

ENTRY = {"schedules": "learning_rate", "losses": "loss", "callbacks": "Callback"}
"""What a module of each kind has."""
DEFAULT_SCHEDULE = "onecycle"


def choice(where: str, kind: str, value: Any) -> tuple[str, dict[str, Any]]:
    """Read a name, or a name with options.

    Args:
        where: key of the recipe, for errors.
        kind: schedules, losses or callbacks.
        value: ``name`` or ``{name: {option: value}}``.

    Returns:
        name and options.

    Raises:
        StpError: it is neither, or there is no such module.
    """
    name, options = next(iter(value.items())) if _is_one(value) else (value, {})
    if not isinstance(name, str) or not isinstance(options or {}, Mapping):
        raise StpError(
            f"{where} is {value!r}",
            expected="a name, or one name with its options",
            remedy=f"write {where}: NAME, or {where}: {{NAME: {{OPTION: VALUE}}}}",
        )
    known = names(kind)
    if name not in known:
        raise StpError(
            f"{where} is {name!r}",
            expected=f"{' or '.join(known)}, or a new file stp/train/{kind}/{name}.py",
            remedy=nearest(name, known),
        )
    return name, dict(options or {})


def modules(train: Mapping[str, Any]) -> list[str]:
    """Name the modules that the settings of a training choose.

    Raises:
        StpError: one does not exist.
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
    """List the modules of a kind."""
    folder = Path(__file__).parents[1] / "train" / kind
    return sorted(path.stem for path in folder.glob("[a-z]*.py"))


def load(where: str, kind: str, value: Any) -> Callable[..., Any]:
    """Import what is named, with its options filled in.

    Raises:
        StpError: there is no such module, or it does not know an option.
    """
    name, options = choice(where, kind, value)
    entry = getattr(importlib.import_module(f"stp.train.{kind}.{name}"), ENTRY[kind])
    parameters = inspect.signature(entry).parameters.values()
    known = [p.name for p in parameters if p.kind == inspect.Parameter.KEYWORD_ONLY]
    if options and not known:
        raise StpError(f"{where}: {name} takes no options, but {', '.join(options)} is set")
    check_keys(f"{where}: {name}", options, known)
    return functools.partial(entry, **options)


def _is_one(value: Any) -> bool:
    return isinstance(value, Mapping) and len(value) == 1
