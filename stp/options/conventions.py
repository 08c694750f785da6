"""Definitions of conventions: a function of ``stp.metrics`` and options.

A definition is a mapping: ``{"function": "wrmse", "root": "pooled", "region": "tropics"}``. Options
are keyword arguments of the function, or compositions, which apply to any convention that fits.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stp.core import named_modules

ROOM = "stp.metrics"

COMPOSITIONS = {
    "region": "regions",
    "windows": "weeks",
    "members": "members",
    "batch": "batches",
}
"""Option -> the module of ``stp.metrics`` whose ``compose(metric, value)`` applies it, in the order
of composition. Whole names would be imports, and add all four to the code of every score."""


def function_of(definition: Mapping[str, Any]) -> tuple[str, str]:
    """Module of ``stp.metrics`` and function: of ``wrmse``, both; of ``nino34.rmse``, each."""
    module, _, function = str(definition["function"]).partition(".")
    return module, function or module


def module_of(definition: Mapping[str, Any], folder: Path = named_modules.SOURCE_FOLDER) -> str:
    """The module that has the function: of ``stp.metrics``, or of a suite.

    Args:
        definition: definition of a convention.
        folder: folder that holds the package.
    """
    return named_modules.module_of(ROOM, function_of(definition)[0], folder)


def modules_of(
    definition: Mapping[str, Any], folder: Path = named_modules.SOURCE_FOLDER
) -> list[str]:
    """The modules of the function and the compositions of a convention."""
    composed = [f"{ROOM}.{name}" for option, name in COMPOSITIONS.items() if option in definition]
    return [module_of(definition, folder), *composed]
