"""Fingerprints: hashes of the code, recipe and inputs of an artefact, as 16 hex digits.

The fingerprint of an artefact is part of its path: a change of code, recipe or inputs gives a new
path, and older artefacts stay where they are. The hash of the code covers the syntax trees
(`stp.core.canonical`) of the stage's root modules and of all modules that they import directly or
indirectly. This module uses the standard library only.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from stp.core import canonical, imports
from stp.core.canonical import DIGITS, PACKAGE, definitions
from stp.core.disk import write_text
from stp.core.errors import StpError
from stp.core.imports import Meaning, analyse_source
from stp.core.json_files import Json
from stp.core.project import own_modules

SOURCE_FOLDER = Path(__file__).parents[2]
"""The folder that holds the package."""
SHELL_OF_CORES = frozenset({f"{PACKAGE}.core.errors", f"{PACKAGE}.core.job"})
"""Modules that every core imports and that compute nothing, so that no fingerprint has them."""


def digest(value: Any) -> str:
    """Hash a JSON value to 16 hexadecimal digits.

    The order of an object's keys has no effect on the hash; the order of a list has.

    Raises:
        TypeError: the value contains something that is not JSON.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


@dataclass(frozen=True)
class Code:
    """The code that can influence an artefact (folder that a stage wrote), and its hash.

    Attributes:
        fingerprint: one hash of all `modules`.
        modules: hash of the syntax tree of each module, without docstrings and texts of errors, by
            the name of the module.
    """

    fingerprint: str
    modules: Mapping[str, str]


class SourceCache:
    """File cache of results of source analysis, shared by processes.

    An analysis takes seconds, and every job of a workflow needs it. The file lies where Python
    keeps its bytecode. An entry is valid for one text of a source, analysed by one version of the
    code.

    Args:
        folder: the folder that holds the package.
        name: name of the cache file, without its suffix.
        analysers: paths of the Python files that analyse the sources, or texts such as versions; a
            change in any of them, or in this module, empties the cache.
    """

    def __init__(self, folder: Path, name: str, *analysers: Path | str) -> None:
        self.path = folder / PACKAGE / "__pycache__" / f"{name}.json"
        texts = [item if isinstance(item, str) else item.read_text() for item in analysers]
        self.version = digest([Path(__file__).read_text(), *texts])
        self.entries = self._read_entries()
        self.new: dict[str, Json] = {}

    def get(self, name: str, source: bytes, analyse: Callable[[bytes], Json]) -> Json:
        """Get the analysis of a source from the cache, or compute and store it.

        Args:
            name: name of the source, such as that of a module.
            source: source text.
            analyse: function that analyses the source, called if the cache has no valid entry; its
            errors are passed on.
        """
        checksum = hashlib.sha256(source).hexdigest()
        entry = self.entries.get(name)
        if entry is None or entry["source"] != checksum:
            entry = {"source": checksum, "analysis": analyse(source)}
            self.entries[name] = self.new[name] = entry
        analysis: Json = entry["analysis"]
        return analysis

    def save(self) -> None:
        """Write new entries to the file; if the disk refuses, they are lost without an error."""
        if self.new:
            text = json.dumps(self._read_entries() | self.new)
            with contextlib.suppress(StpError, OSError):
                write_text(self.path, f"{self._compute_seal(text)}\n{text}")
            self.new = {}

    def _read_entries(self) -> dict[str, Json]:
        """The entries of the file; none if it is damaged or was written by another version."""
        try:
            seal, _, text = self.path.read_text().partition("\n")
        except (OSError, ValueError):
            return {}
        return dict(json.loads(text)) if seal == self._compute_seal(text) else {}

    def _compute_seal(self, text: str) -> str:
        """The first line of the file: a checksum of version and entries."""
        return hashlib.sha256(f"{self.version}\n{text}".encode()).hexdigest()


source_cache = cache(SourceCache)
_READERS = Path(canonical.__file__), Path(imports.__file__)


def _cached_analysis(module: str, source: bytes, folder: Path) -> Meaning:
    """Hash, imports and definitions of a module.

    Raises:
        SyntaxError, ValueError: the source is not Python.
    """
    analysis = source_cache(folder, "meanings", *_READERS).get(
        module, source, lambda content: asdict(analyse_source(content))
    )
    defines = analysis["defines"]
    return Meaning(
        analysis["hash"],
        tuple((level, base, name) for level, base, name in analysis["imports"]),
        None if defines is None else tuple(defines),
    )


def not_python(path: Path | str, error: SyntaxError | ValueError) -> StpError:
    """Make the error for a source file that Python cannot parse.

    Args:
        path: path of the file.
        error: the error of Python's parser.
    """
    line, message = "", str(error)
    if isinstance(error, SyntaxError):
        line, message = f", line {error.lineno}" if error.lineno else "", error.msg
    return StpError(
        f"{path}{line}: this is not Python ({message})",
        expected="a module that Python can import",
        remedy="correct it",
    )


class Sources:
    """Source code of the package's modules; each file is read once, and later edits are ignored.

    Args:
        folder: folder that contains the package.
    """

    def __init__(self, folder: Path = SOURCE_FOLDER) -> None:
        self.folder = folder
        self._modules: dict[str, _Module | None] = {}
        self._files: dict[str, tuple[str, bool]] | None = None

    def code_of(self, roots: Iterable[str]) -> Code:
        """Compute the fingerprint (hash) of root modules and all modules that they import.

        Only modules of the package count.

        Args:
            roots: full names of the root modules.
        """
        modules = self.closure(roots)
        return Code(digest(modules), modules)

    def closure(self, roots: Iterable[str]) -> dict[str, str]:
        """Map every module that the roots can reach inside the package to its hash.

        Parent packages are included, because Python runs their ``__init__`` on import. A parent
        package that only defines names is included only if a name is imported from it. A root that
        does not exist maps to ``"missing"``: a plan may name models that are not written yet.

        Raises:
            StpError: a module is not Python.
        """
        waiting = list(roots)
        hashes = {module: "missing" for module in waiting if self._module(module) is None}
        parents: set[str] = set()
        while waiting:
            name = waiting.pop()
            module = self._module(name)
            if name in hashes or name in SHELL_OF_CORES or module is None:
                continue
            hashes[name] = module.hash
            waiting += module.reached
            for parent in module.parents:
                package = self._module(parent)
                if parent not in parents and package is not None and not package.only_defines:
                    waiting.append(parent)
                parents.add(parent)
        source_cache(self.folder, "meanings", *_READERS).save()
        return dict(sorted(hashes.items()))

    def _module(self, module: str) -> "_Module | None":
        """The module with a name; None if the name belongs to a function or class."""
        if module not in self._modules:
            self._modules[module] = self._read(module)
        return self._modules[module]

    def _file(self, module: str) -> tuple[str, bool] | None:
        """Path of a module's file, and whether the module is a package; None without a file."""
        if self._files is None:
            self._files = _module_files(self.folder)
        return self._files.get(module)

    def _read(self, module: str) -> "_Module | None":
        file = self._file(module)
        if file is None:
            return None
        path, is_package = file
        source = Path(path).read_bytes()
        try:
            analysis = _cached_analysis(module, source, self.folder)
        except (SyntaxError, ValueError) as error:
            raise not_python(path, error) from None
        reached: dict[str, None] = {}
        for level, base, name in analysis.absolute_imports(module, is_package):
            if name == "*":  # all submodules: a package may import them in many ways
                reached |= dict.fromkeys((base, *_submodules(base, self.folder)))
            elif name and self._file(f"{base}.{name}"):
                reached[f"{base}.{name}"] = None  # the package itself counts as a parent only
            else:
                reached[base] = None
                if not name and level == 0:  # import a.b.c binds a, with all names of a and a.b
                    reached |= dict.fromkeys(_parents(base))
        names = analysis.defines
        is_hiding = names is not None and any(self._file(f"{module}.{name}") for name in names)
        parents = tuple(_parents(module))
        only_defines = names is not None and not is_hiding
        return _Module(analysis.hash, tuple(reached), parents, only_defines)


@dataclass(frozen=True)
class _Module:
    """A module of the package.

    Attributes:
        hash: hash of the module's syntax tree.
        reached: names of the modules that it imports.
        parents: names of the packages that contain it; importing it runs their ``__init__``.
        only_defines: whether running it has no effect, and none of its names hides a submodule.
    """

    hash: str
    reached: tuple[str, ...]
    parents: tuple[str, ...]
    only_defines: bool


def _parents(module: str) -> list[str]:
    parts = module.split(".")[:-1]
    return [".".join(parts[: i + 1]) for i in range(len(parts))]


def _submodules(package: str, folder: Path) -> list[str]:
    """Full names of the modules in a package; empty if ``package`` names a module."""
    names = sorted(
        name
        for path in _candidates(package, folder)
        for name in {file.stem for file in path.glob("*.py")} | {d.name for d in path.glob("*/")}
    )
    return [f"{package}.{name}" for name in names if name.isidentifier() and name != "__init__"]


def _module_files(folder: Path) -> dict[str, tuple[str, bool]]:
    """Map the modules of the package to their files: path, and whether the module is a package.

    All files are listed at once: a plan looks up thousands of names, most of which are functions.
    A module of the package takes precedence over a user's own module of the same name.
    """
    modules: dict[str, tuple[str, bool]] = {}
    for root in (folder / PACKAGE, *own_modules()):
        of_root: dict[str, tuple[str, bool]] = {}
        for parent, folders, names in os.walk(root, followlinks=True):
            if "__pycache__" in folders:
                folders.remove("__pycache__")
            package = ".".join((PACKAGE, *Path(parent).relative_to(root).parts))
            for name in names:
                if name == "__init__.py":
                    of_root[package] = f"{parent}/{name}", True
                elif name.endswith(".py"):
                    module = f"{package}.{name.removesuffix('.py')}"
                    of_root.setdefault(module, (f"{parent}/{name}", False))
        modules = of_root | modules
    return modules


def _candidates(module: str, folder: Path) -> list[Path]:
    """Paths where a module may lie, without suffix: in the package, or in the folders of a user."""
    package, *parts = module.split(".")
    own = own_modules() if parts and package == PACKAGE else ()
    return [folder.joinpath(package, *parts), *(root.joinpath(*parts) for root in own)]


def definitions_of(modules: Iterable[str], folder: Path = SOURCE_FOLDER) -> dict[str, Json]:
    """Hash each function, class and constant of modules.

    Args:
        modules: full names of the modules; modules that do not exist are skipped.
        folder: folder that holds the package.

    Returns:
        for each module, by its name, the hashes of its definitions by name, as returned by
        `stp.core.canonical.definitions`.

    Raises:
        SyntaxError: a module is not Python.
    """
    files, cached = _module_files(folder), source_cache(folder, "definitions", *_READERS)
    hashes = {
        module: cached.get(module, Path(files[module][0]).read_bytes(), definitions)
        for module in modules
        if module in files
    }
    cached.save()
    return hashes
