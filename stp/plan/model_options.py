"""Checks of options of models and stages, without importing models or torch."""

import ast
from functools import cache
from pathlib import Path

from stp.core.errors import ConfigurationError, StpError
from stp.core.fingerprint import not_python
from stp.core.json_files import Json
from stp.core.options import Options, check_keys
from stp.options.train import TrainOptions

ABOUT_DATA = frozenset({"self", "shape", "context", "horizon"})
"""Arguments of a model that the dataset sets."""


def check_model_options(source: Path, entry: str, values: Json, label: str) -> None:
    """Refuse unknown options of a model while planning, not hours later when its job starts.

    Args:
        source: path of the model's module; if it is missing, nothing is refused.
        entry: name of the class in the module; its arguments or fields are the options.
        values: values of the options that are set, by name.
        label: label of the artefact, for errors.

    Raises:
        ConfigurationError: the model has no such option.
    """
    options = _options(source, entry) if values and source.is_file() else None
    if options is None:
        return
    if not options:
        raise ConfigurationError(
            f"{label}: options are set, {', '.join(values)}",
            expected="none: the model has no options",
        )
    check_keys(f"{label}: options", values, options)


def check_options(kind: type[Options], settings: Json, label: str) -> None:
    """Refuse wrong settings of a stage while planning, not hours later when its job starts.

    Args:
        kind: class of the options of the stage.
        settings: values that are set, by name.
        label: owner of the settings, for errors.

    Raises:
        ConfigurationError: a key is unknown, or a value is out of range.
    """
    try:
        options = kind.from_recipe(settings)
        if isinstance(options, TrainOptions):
            options.learning_rate(0, 100)
    except StpError as error:
        raise ConfigurationError(
            f"{label}: {error.what}", expected=error.expected, remedy=error.remedy
        ) from None


@cache
def _options(source: Path, entry: str) -> tuple[str, ...] | None:
    """Names of a model's options; None if they are not in the source (inherited ``__init__``)."""
    try:
        tree = ast.parse(source.read_bytes())
    except (SyntaxError, ValueError) as error:
        raise not_python(source, error) from None
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == entry]
    if not classes:
        return None
    for node in classes[-1].body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            if node.args.kwarg or node.args.vararg:
                return None
            names = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
            return tuple(name for name in names if name not in ABOUT_DATA)
    fields = [node.target for node in classes[-1].body if isinstance(node, ast.AnnAssign)]
    names = [target.id for target in fields if isinstance(target, ast.Name)]
    return tuple(names) if classes[-1].decorator_list and not classes[-1].bases else None
