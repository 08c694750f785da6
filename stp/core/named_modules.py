"""Find modules by the short names that the configuration uses, such as ``kth`` or ``ssim``.

A named module lies in a room (a package such as ``stp.metrics``) or in a leaf: a folder of
``stp/datasets`` (code of one raw layout) or of ``stp/suites`` (code of one suite), which no room
imports.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from stp.core.errors import StpError

PACKAGE = "stp"
SOURCE_FOLDER = Path(__file__).parents[2]
"""The folder that holds the package."""


def reader(name: str, folder: Path = SOURCE_FOLDER) -> str:
    """Find the module that reads the raw files of a dataset.

    Args:
        name: ``reader`` of a dataset: a module of `stp.prepare` such as ``own.reader``, or a folder
            of ``stp/datasets`` such as ``kth``.
        folder: folder that holds the package.

    Returns:
        full name of the module.

    Raises:
        StpError: two modules have this name.
    """
    generic = f"prepare.{name}"
    layout = f"datasets.{name}.reader"
    return _single_module([*_matching(generic, folder), *_matching(layout, folder)]) or _full_name(
        layout
    )


def generator(name: str) -> str:
    """Name the module that generates synthetic raw files of a dataset.

    Args:
        name: a folder of ``stp/datasets`` such as ``kth``, which stands for ``kth.generator``; or a
            module in such a folder, such as ``atlas.crowd``.

    Returns:
        full name of the module.
    """
    return _full_name(f"datasets.{name}" if "." in name else f"datasets.{name}.generator")


def generators() -> list[str]:
    """Full names of all modules in ``stp/datasets`` with a function ``generate``."""
    return sorted(
        module
        for module, path in _matching("datasets.*.*", SOURCE_FOLDER)
        if "\ndef generate(" in path.read_text(encoding="utf-8")
    )


def module_of(package: str, name: str, folder: Path = SOURCE_FOLDER) -> str:
    """Find the module of a metric, model, table or figure, in its package or a benchmark (suite).

    Args:
        package: full name of a package, such as ``stp.metrics``. The folder ``metrics`` of each
            suite is searched as well.
        name: name of the module in the package or in the suite's folder.
        folder: folder that holds the package.

    Returns:
        full name of the module; if it does not exist, the name that it would have in the package.

    Raises:
        StpError: two modules have this name.
    """
    return _single_module(_candidates(package, name, folder)) or f"{package}.{name}"


def names_in(package: str) -> list[str]:
    """Names of all modules of a package, and of the modules that suites (benchmarks) add to it.

    Args:
        package: full name of the package, such as ``stp.metrics``. The modules in the folder
            ``metrics`` of each suite are then added.
    """
    modules = {module for module, _ in _candidates(package, "*", SOURCE_FOLDER)}
    return sorted({module.rpartition(".")[2] for module in modules})


def file_of(module: str) -> Path:
    """The file of a module.

    Args:
        module: full name of an existing module, as returned by `module_of`.
    """
    ((_, path),) = _matching(module.removeprefix(f"{PACKAGE}."), SOURCE_FOLDER)
    return path


def _candidates(package: str, name: str, folder: Path) -> list[tuple[str, Path]]:
    generic = package.removeprefix(f"{PACKAGE}.")
    of_suites = f"suites.*.{generic.rpartition('.')[2]}.{name}"
    return [*_matching(f"{generic}.{name}", folder), *_matching(of_suites, folder)]


def _matching(pattern: str, folder: Path) -> list[tuple[str, Path]]:
    modules: dict[str, Path] = {}
    further = list(sys.modules[PACKAGE].__path__)[1:]  # folders of a project and of extensions
    for root in (folder / PACKAGE, *map(Path, further)):
        for path in sorted(root.glob(f"{pattern.replace('.', '/')}.py")):
            if path.name != "__init__.py":
                module = _full_name(".".join(path.relative_to(root).with_suffix("").parts))
                modules.setdefault(module, path)
    return list(modules.items())


def _full_name(module: str) -> str:
    return f"{PACKAGE}.{module}"


def _single_module(candidates: Iterable[tuple[str, Path]]) -> str | None:
    modules = dict(candidates)
    if len(modules) > 1:
        raise StpError(
            f"two modules have one name: {' and '.join(map(str, modules.values()))}",
            remedy="rename one of them, and its entry in the configuration",
        )
    return next(iter(modules), None)
