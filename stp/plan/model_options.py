"""What options a model takes, read from its source: the plan imports no model and no torch."""

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from stp.core.errors import StpError
from stp.core.fingerprint import not_python
from stp.core.options import check_keys

ABOUT_DATA = frozenset({"self", "shape", "context", "horizon"})
"""Arguments of a model that the dataset decides."""


def check_model_options(source: Path, entry: str, given: Mapping[str, Any], label: str) -> None:
    """Refuse options that the job would refuse after hours of waiting.

    Args:
        source: the module of the model; one that is still to be written refuses nothing.
        entry: the class in it whose arguments, or fields, are the options.
        given: the options that are set.
        label: what they are set for.

    Raises:
        StpError: the model has no such option.
    """
    known = _options(source, entry) if given and source.is_file() else None
    if known is None:
        return
    if not known:
        raise StpError(
            f"{label}: options are set, {', '.join(given)}",
            expected="none: the model has no options",
            remedy="take them out",
        )
    check_keys(f"{label}: options", given, known)


@cache
def _options(source: Path, entry: str) -> tuple[str, ...] | None:
    """The options of a model; None if only Python can tell, such as of an inherited constructor."""
    try:
        tree = ast.parse(source.read_bytes())
    except (SyntaxError, ValueError) as error:
        raise not_python(source, error) from None
    found = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == entry]
    if not found:
        return None
    for node in found[-1].body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            if node.args.kwarg or node.args.vararg:
                return None
            names = [one.arg for one in (*node.args.args, *node.args.kwonlyargs)]
            return tuple(name for name in names if name not in ABOUT_DATA)
    fields = [node.target for node in found[-1].body if isinstance(node, ast.AnnAssign)]
    names = [target.id for target in fields if isinstance(target, ast.Name)]
    return tuple(names) if found[-1].decorator_list and not found[-1].bases else None
