"""The class that ``class: package.module:Class`` of a model names: its files, without importing it.

Modules of this package are part of the code of an artefact like any other. Of other packages, all
files of the top one are: their content is a part of the fingerprints, as that of ``reads``.
"""

import ast
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from stp.core import named_modules
from stp.core.canonical import PACKAGE
from stp.core.errors import StpError, nearest
from stp.core.fingerprint import not_python
from stp.core.project import own_modules
from stp.core.receipts import checksum

EXPECTED = "package.module:Class, of an installed package or of a module of stp"


def of_suite(room: str, name: str) -> str | None:
    """The class of a model that lies in the folder of a suite; None if the model's room has it.

    Args:
        room: the package of models.
        name: of the model.

    Raises:
        StpError: two modules have this name.
    """
    module = named_modules.module_of(room, name)
    return None if module == f"{room}.{name}" else f"{module}:Model"


def module_of(named: str) -> str:
    """The module of a class."""
    return named.partition(":")[0]


def is_ours(named: str) -> bool:
    """Is it a class of this package, or of a module that is added to it?"""
    return named.startswith(f"{PACKAGE}.")


def source_of(named: str, where: str) -> Path:
    """The file of the module of a class.

    Args:
        named: ``package.module:Class``.
        where: the file and key that name it, for errors.

    Raises:
        StpError: there is no such module, or it defines and imports nothing of this name.
    """
    module, _, name = named.partition(":")
    source = _file_of(module)
    if source is None:
        raise StpError(
            f"{where}: {named}: there is no module {module}",
            expected=EXPECTED,
            remedy="install its package into this environment, or correct the name",
        )
    names = _names(source)
    if name not in names and "*" not in names:
        raise StpError(
            f"{where}: {named}: {source} has no class {name}",
            expected=EXPECTED,
            remedy=nearest(name, names),
        )
    return source


def package_of(recipe: Mapping[str, Any]) -> list[Path]:
    """The folders, or the file, of the package of others whose class is the model of a recipe."""
    named = recipe.get("rollout", recipe).get("class")
    return _package(named) if named and not is_ours(named) else []


def _package(named: str) -> list[Path]:
    folders, file = _top(module_of(named))
    return folders or ([file] if file else [])


def digest_of(named: str) -> str:
    """SHA-256 of the package of a class of others: of all files but compiled code."""
    total = hashlib.sha256()
    for top in _package(named):
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                name = path.relative_to(top.parent).as_posix()
                total.update(f"{name} {checksum(path)}\n".encode())
    return total.hexdigest()


def _top(module: str) -> tuple[list[Path], Path | None]:
    """Folders of the top package of a module, or its file; finding it imports nothing."""
    try:
        spec = find_spec(module.partition(".")[0])
    except (ImportError, ValueError):  # of modules that are imported, and say nothing of themselves
        spec = None
    if spec is None:
        return [], None
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    if spec.name == PACKAGE:
        folders += own_modules()
    return folders, Path(spec.origin) if spec.origin else None


@cache
def _file_of(module: str) -> Path | None:
    folders, file = _top(module)
    for part in module.split(".")[1:]:
        files = [path for at in folders for path in (at / f"{part}.py", at / part / "__init__.py")]
        file = next((path for path in files if path.is_file()), None)
        folders = [folder / part for folder in folders]
    return file if file is not None and file.is_file() else None


@cache
def _names(source: Path) -> tuple[str, ...]:
    """What a module binds: classes, imported names and assigned ones; ``*`` of whole modules."""
    try:
        tree = ast.parse(source.read_bytes())
    except (SyntaxError, ValueError) as error:
        raise not_python(source, error) from None
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names += [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
    return tuple(names)
