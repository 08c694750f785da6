"""Fingerprints: hashes of the code, recipe and inputs of an artefact, as 16 hex digits.

The fingerprint of an artefact is part of its path, so a change of meaning gives a new path
and everything else stays where it is. Code counts by its syntax trees (`stp.core.canonical`),
over the static import closure of the stage's root modules. Standard library only.
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
from stp.core.imports import Meaning, meaning
from stp.core.project import own_modules

SOURCE_FOLDER = Path(__file__).parents[2]
"""The folder that holds the package."""
SHELL_OF_CORES = frozenset({f"{PACKAGE}.core.errors", f"{PACKAGE}.core.job"})
"""Modules that every core imports and that count nowhere: how work is handed over, and how it
fails. They compute nothing."""
Json = dict[str, Any]


def digest(value: Any) -> str:
    """Hash a JSON value: 16 hex digits, independent of the order of keys, not of that of lists.

    Raises:
        TypeError: the value holds something that JSON does not know.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


@dataclass(frozen=True)
class Code:
    """The code that can influence an artefact.

    Attributes:
        fingerprint: hash over all modules.
        modules: module name -> hash of its meaning.
    """

    fingerprint: str
    modules: Mapping[str, str]


class _Memory:
    """What was found in sources, remembered from one process to the next.

    Reading them takes seconds, and every job of a workflow does it. The file lies where Python
    keeps its compiled code, and like that it only saves time: an entry counts for the very bytes
    that it was made from, by the very code that read them.

    Args:
        folder: the folder that holds the package.
        name: of the file, without its suffix.
        by: what reads the sources besides this module: files of code, or versions.
    """

    def __init__(self, folder: Path, name: str, *by: Path | str) -> None:
        self.path = folder / PACKAGE / "__pycache__" / f"{name}.json"
        read_by = [str(one) if isinstance(one, str) else one.read_text() for one in by]
        self.by = digest([Path(__file__).read_text(), *read_by])
        self.known = self._saved()
        self.new: dict[str, Json] = {}

    def of(self, name: str, source: bytes, find: Callable[[bytes], Json]) -> Json:
        """What was found in a source, now or before.

        Args:
            name: of a module, or of another source.
            find: finds it in the source, whose errors are its own.
        """
        made_from = hashlib.sha256(source).hexdigest()
        known = self.known.get(name)
        if known is None or known["source"] != made_from:
            known = {"source": made_from, "found": find(source)}
            self.known[name] = self.new[name] = known
        found: Json = known["found"]
        return found

    def save(self) -> None:
        """Remember what is new, if that is possible."""
        if self.new:
            text = json.dumps(self._saved() | self.new)
            with contextlib.suppress(StpError, OSError):
                write_text(self.path, f"{self._sealed(text)}\n{text}")
            self.new = {}

    def _saved(self) -> dict[str, Json]:
        """What the file holds; nothing of one that is damaged or made by other code."""
        try:
            seal, _, text = self.path.read_text().partition("\n")
        except (OSError, ValueError):
            return {}
        return dict(json.loads(text)) if seal == self._sealed(text) else {}

    def _sealed(self, text: str) -> str:
        """What the first line of the file says: a checksum of all that counts."""
        return hashlib.sha256(f"{self.by}\n{text}".encode()).hexdigest()


remembered = cache(_Memory)
_READERS = Path(canonical.__file__), Path(imports.__file__)


def _meaning(module: str, source: bytes, folder: Path) -> Meaning:
    """What a module means.

    Raises:
        SyntaxError, ValueError: its source is not Python.
    """
    said = remembered(folder, "meanings", *_READERS).of(
        module, source, lambda read: asdict(meaning(read))
    )
    defines = said["defines"]
    return Meaning(
        said["hash"],
        tuple((level, base, name) for level, base, name in said["imports"]),
        None if defines is None else tuple(defines),
    )


def not_python(path: Path | str, error: SyntaxError | ValueError) -> StpError:
    """What to say of a file of code that Python cannot read.

    Args:
        path: of the file.
        error: what Python says of it.
    """
    line = getattr(error, "lineno", None)
    return StpError(
        f"{path}{f', line {line}' if line else ''}: this is not Python "
        f"({getattr(error, 'msg', error)})",
        expected="a module that Python can import",
        remedy="correct it there",
    )


class Sources:
    """The modules of the package, each as it was when it was first asked for.

    Args:
        folder: the folder that holds the package; tests pass another one.
    """

    def __init__(self, folder: Path = SOURCE_FOLDER) -> None:
        self.folder = folder
        self._modules: dict[str, _Module | None] = {}
        self._files: dict[str, tuple[str, bool]] | None = None

    def code_of(self, roots: Iterable[str]) -> Code:
        """Fingerprint the closure of root modules, given by their names."""
        modules = self.closure(roots)
        return Code(digest(modules), modules)

    def closure(self, roots: Iterable[str]) -> dict[str, str]:
        """Map every module that the roots can reach inside the package to its hash.

        Parent packages count, because Python runs their ``__init__`` on import; one that only
        defines names counts where a name of it is asked for. A root that does not exist maps to
        ``"missing"``: a plan may name models that are still to come.

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
                above = self._module(parent)
                if parent not in parents and above is not None and not above.only_defines:
                    waiting.append(parent)
                parents.add(parent)
        remembered(self.folder, "meanings", *_READERS).save()
        return dict(sorted(hashes.items()))

    def _module(self, module: str) -> "_Module | None":
        """A module; None if there is none of this name, but a function or class."""
        if module not in self._modules:
            self._modules[module] = self._read(module)
        return self._modules[module]

    def _file(self, module: str) -> tuple[str, bool] | None:
        """A module's file; see `_module_files`."""
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
            said = _meaning(module, source, self.folder)
        except (SyntaxError, ValueError) as error:
            raise not_python(path, error) from None
        reached: dict[str, None] = {}
        for level, base, name in said.imported(module, is_package):
            if name == "*":  # whatever a package names, in whatever way
                reached |= dict.fromkeys((base, *_submodules(base, self.folder)))
            elif name and self._file(f"{base}.{name}"):
                reached[f"{base}.{name}"] = None  # and no name of the package itself
            else:
                reached[base] = None
                if not name and level == 0:  # import a.b.c: every name of a and a.b is in reach
                    reached |= dict.fromkeys(_parents(base))
        own = said.defines
        hidden = own is not None and any(self._file(f"{module}.{n}") for n in own)
        parents = tuple(_parents(module))
        return _Module(said.hash, tuple(reached), parents, own is not None and not hidden)


@dataclass(frozen=True)
class _Module:
    """A module of the package.

    Attributes:
        hash: of its meaning.
        reached: what it imports, as far as that counts whatever it is.
        parents: the packages that it lies in, whose ``__init__`` Python runs.
        only_defines: whether running it does nothing, and no name of it hides a submodule.
    """

    hash: str
    reached: tuple[str, ...]
    parents: tuple[str, ...]
    only_defines: bool


def _parents(module: str) -> list[str]:
    parts = module.split(".")[:-1]
    return [".".join(parts[: i + 1]) for i in range(len(parts))]


def _submodules(package: str, folder: Path) -> list[str]:
    """Name the modules of a package; none if the name is not that of a package."""
    names = sorted(
        name
        for path in _places(package, folder)
        for name in {file.stem for file in path.glob("*.py")} | {d.name for d in path.glob("*/")}
    )
    return [f"{package}.{name}" for name in names if name.isidentifier() and name != "__init__"]


def _module_files(folder: Path) -> dict[str, tuple[str, bool]]:
    """Map the modules of the package to their files: (path, is it a package).

    They are listed at once: a plan asks for thousands of names, of which most are functions. Those
    of the package come before modules of a user's.
    """
    found: dict[str, tuple[str, bool]] = {}
    for root in (folder / PACKAGE, *own_modules()):
        here: dict[str, tuple[str, bool]] = {}
        for place, _, names in os.walk(root, followlinks=True):
            package = ".".join((PACKAGE, *Path(place).relative_to(root).parts))
            for name in names:
                if name == "__init__.py":
                    here[package] = f"{place}/{name}", True
                elif name.endswith(".py"):
                    module = f"{package}.{name.removesuffix('.py')}"
                    here.setdefault(module, (f"{place}/{name}", False))
        found = here | found
    return found


def _places(module: str, folder: Path) -> list[Path]:
    """Where a module may lie, without its suffix: in the package, or among modules of a user's."""
    package, *inside = module.split(".")
    own = own_modules() if inside and package == PACKAGE else ()
    return [folder.joinpath(package, *inside), *(root.joinpath(*inside) for root in own)]


def definitions_of(modules: Iterable[str], folder: Path = SOURCE_FOLDER) -> dict[str, Any]:
    """Map modules to their definitions; those that do not exist are left out.

    Raises:
        SyntaxError: a module is not Python.
    """
    files, memory = _module_files(folder), remembered(folder, "definitions", *_READERS)
    found = {
        module: memory.of(module, Path(files[module][0]).read_bytes(), definitions)
        for module in modules
        if module in files
    }
    memory.save()
    return found
