"""Definitions of conventions: a function of ``stp.metrics`` and options.

A definition is a mapping: ``{"function": "wrmse", "root": "pooled", "region": "tropics"}``. Options
are keyword arguments of the function, or compositions, which can be applied to conventions of
different functions.
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
"""For each option, the module of ``stp.metrics`` whose ``compose(metric, value)`` applies it, in
the order of composition. Short names are used because full names would count as imports, which
would put all these modules into the fingerprint of every score."""


def function_of(definition: Mapping[str, Any]) -> tuple[str, str]:
    """The module of ``stp.metrics`` and the function that a definition names.

    Returns:
        names of module and function: ("nino34", "rmse") for ``nino34.rmse``, ("wrmse", "wrmse") for
        ``wrmse``.
    """
    module, _, function = str(definition["function"]).partition(".")
    return module, function or module


def module_of(definition: Mapping[str, Any], folder: Path = named_modules.SOURCE_FOLDER) -> str:
    """The full name of the module that has the function of a convention.

    Args:
        definition: definition of the convention.
        folder: folder that holds the package.

    Returns:
        a module of ``stp.metrics``, or of a suite.
    """
    return named_modules.module_of(ROOM, function_of(definition)[0], folder)


def modules_of(
    definition: Mapping[str, Any], folder: Path = named_modules.SOURCE_FOLDER
) -> list[str]:
    """The full names of the modules with the function and the compositions of a convention.

    Args:
        definition: definition of the convention.
        folder: folder that holds the package.
    """
    composed = [f"{ROOM}.{name}" for option, name in COMPOSITIONS.items() if option in definition]
    return [module_of(definition, folder), *composed]
