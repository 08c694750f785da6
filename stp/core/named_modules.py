"""Modules that the configuration names: of a room, or of a leaf that no room imports.

A leaf is a folder of ``stp/datasets`` (a raw layout) or of ``stp/suites`` (code of one suite).
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from stp.core.errors import StpError

PACKAGE = "stp"
SOURCE_FOLDER = Path(__file__).parents[2]
"""The folder that holds the package."""


def reader(name: str, folder: Path = SOURCE_FOLDER) -> str:
    """Name the module that reads a raw layout: ``own.reader`` of `stp.prepare`, or ``kth``.

    Args:
        name: ``reader`` of a dataset.
        folder: the folder that holds the package.

    Raises:
        StpError: two modules have this name.
    """
    generic = f"prepare.{name}"
    layout = f"datasets.{name}.reader"
    return _only([*_matching(generic, folder), *_matching(layout, folder)]) or _full(layout)


def generator(name: str) -> str:
    """Name the module that generates a raw layout: ``kth``, or ``atlas.crowd`` of a folder."""
    return _full(f"datasets.{name}" if "." in name else f"datasets.{name}.generator")


def generators() -> list[str]:
    """Name all modules of raw layouts that have a function ``generate``."""
    return sorted(
        module
        for module, path in _matching("datasets.*.*", SOURCE_FOLDER)
        if "\ndef generate(" in path.read_text(encoding="utf-8")
    )


def module_of(room: str, name: str, folder: Path = SOURCE_FOLDER) -> str:
    """Name the module of a metric, model, table or figure: of its room, or else of a suite.

    Args:
        room: such as ``stp.metrics``; suites have a folder with its last name.
        name: name of the module.
        folder: the folder that holds the package.

    Returns:
        its full name; the name that it would have in the room if it does not exist.

    Raises:
        StpError: two modules have this name.
    """
    return _only(_candidates(room, name, folder)) or f"{room}.{name}"


def names_in(room: str) -> list[str]:
    """Names of all modules of a room, and of the folders of suites with its name."""
    modules = {module for module, _ in _candidates(room, "*", SOURCE_FOLDER)}
    return sorted({module.rpartition(".")[2] for module in modules})


def file_of(module: str) -> Path:
    """The file of a module named by a function of this module."""
    ((_, path),) = _matching(module.removeprefix(f"{PACKAGE}."), SOURCE_FOLDER)
    return path


def _candidates(room: str, name: str, folder: Path) -> list[tuple[str, Path]]:
    generic = room.removeprefix(f"{PACKAGE}.")
    of_suites = f"suites.*.{generic.rpartition('.')[2]}.{name}"
    return [*_matching(f"{generic}.{name}", folder), *_matching(of_suites, folder)]


def _matching(pattern: str, folder: Path) -> list[tuple[str, Path]]:
    modules: dict[str, Path] = {}
    further = list(sys.modules[PACKAGE].__path__)[1:]  # of a project, and of extensions
    for root in (folder / PACKAGE, *map(Path, further)):
        for path in sorted(root.glob(f"{pattern.replace('.', '/')}.py")):
            if path.name != "__init__.py":
                module = _full(".".join(path.relative_to(root).with_suffix("").parts))
                modules.setdefault(module, path)
    return list(modules.items())


def _full(module: str) -> str:
    return f"{PACKAGE}.{module}"


def _only(candidates: Iterable[tuple[str, Path]]) -> str | None:
    modules = dict(candidates)
    if len(modules) > 1:
        raise StpError(
            f"two modules have one name: {' and '.join(map(str, modules.values()))}",
            remedy="rename one of them, and its entry in the configuration",
        )
    return next(iter(modules), None)
