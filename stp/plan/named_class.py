"""Find the source files of a model's class (``class: package.module:Class``) without importing it.

Modules of this package are fingerprinted like any other code. If the class is in another package,
fingerprints cover all files of that package, like the files of ``reads``.
"""

import ast
import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from stp.core import named_modules
from stp.core.canonical import PACKAGE
from stp.core.errors import ConfigurationError, suggest_name
from stp.core.fingerprint import not_python
from stp.core.json_files import Json
from stp.core.project import own_modules
from stp.core.receipts import checksum

EXPECTED = "package.module:Class, of an installed package or of a module of stp"


def of_suite(package: str, name: str) -> str | None:
    """Find the class of a model whose module is in the folder of a suite (a benchmark).

    Models that several suites share are modules of a package of their task, such as ``stp.models``
    for frames. A model of one suite is a module in the folder ``models`` of that suite.

    Args:
        package: full name of the package of the model's task, such as ``stp.models``.
        name: name of the model, which is also the name of its module.

    Returns:
        ``package.module:Model``; None if no suite's folder has a module of this name.

    Raises:
        StpError: two modules have this name.
    """
    module = named_modules.module_of(package, name)
    return None if module == f"{package}.{name}" else f"{module}:Model"


def module_of(class_name: str) -> str:
    """The module in the name of a class, ``package.module:Class``."""
    return class_name.partition(":")[0]


def is_ours(class_name: str) -> bool:
    """Whether a class is in this package, or in a user's own module."""
    return class_name.startswith(f"{PACKAGE}.")


def source_of(class_name: str, where: str) -> Path:
    """Find the source file of a class.

    Args:
        class_name: ``package.module:Class``.
        where: file and key of the class in the configuration, for errors.

    Raises:
        ConfigurationError: the module does not exist, or does not define or import the class.
    """
    module, _, name = class_name.partition(":")
    source = _file_of(module)
    if source is None:
        raise ConfigurationError(
            f"{where}: {class_name}: there is no module {module}",
            expected=EXPECTED,
            remedy="install its package into this environment, or correct the name",
        )
    names = _names(source)
    if name not in names and "*" not in names:
        raise ConfigurationError(
            f"{where}: {class_name}: {source} has no class {name}",
            expected=EXPECTED,
            remedy=suggest_name(name, names),
        )
    return source


def package_of(recipe: Json) -> list[Path]:
    """Find the package with the class of a model (named in its recipe), if not this package.

    Returns:
        the folders of the top-level package, or its only file; empty if the class is in this
        package, or if the recipe names no class.
    """
    class_name = recipe.get("rollout", recipe).get("class")
    return _package(class_name) if class_name and not is_ours(class_name) else []


def _package(class_name: str) -> list[Path]:
    folders, file = _find_top_package(module_of(class_name))
    return folders or ([file] if file else [])


def digest_of(class_name: str) -> str:
    """SHA-256 over all files, except bytecode, of the package that a class belongs to."""
    total = hashlib.sha256()
    for top in _package(class_name):
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                name = path.relative_to(top.parent).as_posix()
                total.update(f"{name} {checksum(path)}\n".encode())
    return total.hexdigest()


def _find_top_package(module: str) -> tuple[list[Path], Path | None]:
    """Folders of the top package of a module, or its file, without importing it."""
    try:
        spec = find_spec(module.partition(".")[0])
    except (ImportError, ValueError):  # raised for imported modules without a spec
        spec = None
    if spec is None:
        return [], None
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    if spec.name == PACKAGE:
        folders += own_modules()
    return folders, Path(spec.origin) if spec.origin else None


@cache
def _file_of(module: str) -> Path | None:
    folders, file = _find_top_package(module)
    for part in module.split(".")[1:]:
        files = [
            file
            for folder in folders
            for file in (folder / f"{part}.py", folder / part / "__init__.py")
        ]
        file = next((path for path in files if path.is_file()), None)
        folders = [folder / part for folder in folders]
    return file if file is not None and file.is_file() else None


@cache
def _names(source: Path) -> tuple[str, ...]:
    """Names that a module defines or imports; ``*`` for star imports."""
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
