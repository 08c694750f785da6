"""Definitions of conventions (exact variants of a metric): a function and its options.

A definition is a mapping: ``{"function": "wrmse", "root": "pooled", "region": "tropics"}``. The
function is one of ``stp.metrics``. Options are either keyword arguments of the function (``root``),
or compositions (``region``), which work with any function: they wrap its metric.
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
    """The names of the module of ``stp.metrics`` and of the function in a definition.

    Args:
        definition: definition of a convention, such as ``{"function": "nino34.rmse"}``.

    Returns:
        names of module and function: ("nino34", "rmse") for ``nino34.rmse``, ("wrmse", "wrmse") for
        ``wrmse``.
    """
    module, _, function = str(definition["function"]).partition(".")
    return module, function or module


def module_of(definition: Mapping[str, Any], folder: Path = named_modules.SOURCE_FOLDER) -> str:
    """The full name of the module with the function of a convention (definition of a metric).

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
    """The full names of all modules that a convention (exact definition of a metric) needs.

    These are the module with its function, and a module for each of its compositions. Compositions
    are options that work with any function because they wrap its metric, such as ``region``.

    Args:
        definition: definition of the convention, such as ``{"function": "wrmse", "region":
            "tropics"}``.
        folder: folder that holds the package.

    Returns:
        names of modules, that of the function first, such as ``["stp.metrics.wrmse",
        "stp.metrics.regions"]``.
    """
    composed = [f"{ROOM}.{name}" for option, name in COMPOSITIONS.items() if option in definition]
    return [module_of(definition, folder), *composed]
