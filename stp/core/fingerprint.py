"""Fingerprints: which code, recipe and inputs an artefact is made of, as 16 hex digits.

The fingerprint of an artefact is part of its path, so a change of meaning gives a new path
and everything else stays where it is. Code counts by meaning: a canonical walk over the
syntax tree, without docstrings, comments, formatting or the text of errors, over the static
import closure of the stage's root modules. Standard library only, and the same result on
every supported Python version.
"""

import ast
import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from stp.core.disk import write_text
from stp.core.errors import StpError

PACKAGE = "stp"
DIGITS = 16
SOURCE_FOLDER = Path(__file__).parents[2]
"""The folder that holds the package."""
Json = dict[str, Any]

_MODULE = re.compile(rf"{PACKAGE}(\.\w+)*")
# Fields that differ between Python versions or carry no meaning.
_IGNORED_FIELDS = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


def digest(value: Any) -> str:
    """Hash a JSON value: 16 hex digits, independent of the order of keys.

    Raises:
        TypeError: the value holds something that JSON does not know.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def _is_text(node: ast.AST) -> bool:
    """Is this a bare string statement: a docstring or a string used as a comment?"""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _is_empty_text(node: Any) -> bool:
    """Is this an empty string constant, which Python 3.12 adds to some format strings?"""
    return isinstance(node, ast.Constant) and node.value == ""


def _tokens(node: Any) -> list[str]:
    """List the canonical form of a syntax tree.

    Empty and missing fields are left out, because newer Pythons add some and drop others;
    field names keep the rest unambiguous. Text counts by its code points: which characters
    `repr` prints depends on the Python.
    """
    found: list[str] = []
    _add_tokens(node, found.append)
    return found


def _add_tokens(
    node: Any, add: Callable[[str], None], raised: bool = False, in_message: bool = False
) -> None:
    """Add the canonical form of a part of a syntax tree.

    Args:
        node: a node, a field of one, or a list of them.
        add: takes one token after the other.
        raised: is it what a raise statement raises?
        in_message: is it inside an argument of the exception? Texts do not count there; in what
            chooses the exception, as in ``raise ERRORS["disk"](...)``, they do.
    """
    if isinstance(node, list):
        add("[")
        for item in node:
            if not _is_text(item) and not isinstance(item, ast.Pass):
                _add_tokens(item, add, in_message=in_message)
        add("]")
        return
    if not isinstance(node, ast.AST):
        add(f"{type(node).__name__}:{node!a}")
        return
    if in_message and (
        isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    ):
        add("text")
        return
    if isinstance(node, ast.JoinedStr):
        node = ast.JoinedStr([value for value in node.values if not _is_empty_text(value)])
    add(f"({type(node).__name__}")
    for name in _fields(node.__class__):
        value = getattr(node, name, None)
        if value is None or (value == [] and name != "body"):
            continue
        if name == "value" and isinstance(node, ast.Constant):
            add(f"{type(value).__name__}:{value!a}")
            continue
        add(f"{name}=")
        _add_tokens(
            value,
            add,
            raised=isinstance(node, ast.Raise) and name == "exc",
            in_message=in_message or (raised and isinstance(node, ast.Call) and name != "func"),
        )
    add(")")


@cache
def _fields(kind: type[ast.AST]) -> list[str]:
    """Name the fields of a kind of node that carry meaning."""
    return sorted(set(kind._fields) - _IGNORED_FIELDS)


def source_hash(source: bytes) -> str:
    """Hash the meaning of one module's source text.

    Raises:
        SyntaxError: the source is not Python.
    """
    return meaning(source).hash


@dataclass(frozen=True)
class Meaning:
    """What a source says.

    Attributes:
        hash: of its meaning.
        imports: what may be modules of the package: (level, base, name), as in
            ``from <level dots><base> import <name>``; the name is empty where there is none.
    """

    hash: str
    imports: tuple[tuple[int, str, str], ...]

    def imported(self, module: str, is_package: bool) -> Iterator[tuple[str, str]]:
        """What a module of this source imports from the package: pairs of (module, name or '')."""
        for level, base, name in self.imports:
            parts = module.split(".")
            parts = parts[: len(parts) - level + int(is_package)] if level else []
            whole = ".".join([*parts, base] if base else parts)
            if _MODULE.fullmatch(whole):
                yield whole, name


@cache
def meaning(source: bytes) -> Meaning:
    """Read one module's source text.

    Raises:
        SyntaxError: it is not Python.
    """
    tree = ast.parse(source)
    canonical = "".join(f"{token}\0" for token in _tokens(tree))
    found: dict[tuple[int, str, str], None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {(0, alias.name, ""): None for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {(node.level, node.module or "", alias.name): None for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found[0, node.value, ""] = None  # may name a module that is imported by its name
    return Meaning(
        hashlib.sha256(canonical.encode()).hexdigest()[:DIGITS],
        tuple(what for what in found if what[0] or _MODULE.fullmatch(what[1])),
    )


@dataclass(frozen=True)
class Code:
    """The code that can influence an artefact.

    Attributes:
        fingerprint: hash over all modules, or its older equivalent.
        modules: module name -> hash of its meaning.
    """

    fingerprint: str
    modules: Mapping[str, str]


def original(value: str, equivalent: Mapping[str, str] | None) -> str:
    """Follow proven refactors back to the first of them.

    Raises:
        ValueError: they go in a circle.
    """
    seen = {value}
    while equivalent and value in equivalent:
        value = equivalent[value]
        if value in seen:
            raise ValueError(f"config/equivalent.yaml goes in a circle at {value}")
        seen.add(value)
    return value


class _Meanings:
    """The meanings of a package's sources, remembered from one process to the next.

    Reading the sources takes seconds, and every job of a workflow does it. The file lies where
    Python keeps its compiled code, and like that it only saves time: an entry counts for the very
    bytes that it was made from, by the very code of this module.

    Args:
        folder: the folder that holds the package.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / PACKAGE / "__pycache__" / "meanings.json"
        self.by = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
        self.known = self._saved()
        self.new: dict[str, Json] = {}

    def of(self, module: str, source: bytes) -> Meaning:
        """What a module means.

        Raises:
            SyntaxError: its source is not Python.
        """
        made_from = hashlib.sha256(source).hexdigest()
        known = self.known.get(module)
        if known is None or known["source"] != made_from:
            made = meaning(source)
            known = {"source": made_from, "hash": made.hash, "imports": made.imports}
            self.known[module] = self.new[module] = known
        return Meaning(known["hash"], tuple((level, b, n) for level, b, n in known["imports"]))

    def save(self) -> None:
        """Remember what is new, if that is possible."""
        if self.new:
            kept = {"by": self.by, "modules": self._saved() | self.new}
            with contextlib.suppress(StpError, OSError):
                write_text(self.path, json.dumps(kept))
            self.new = {}

    def _saved(self) -> dict[str, Json]:
        try:
            saved = json.loads(self.path.read_bytes())
            return dict(saved["modules"]) if saved["by"] == self.by else {}
        except (OSError, ValueError, KeyError, TypeError):  # none, or one that is damaged
            return {}


_meanings = cache(_Meanings)


class Sources:
    """The modules of the package, each as it was when it was first asked for.

    Args:
        folder: the folder that holds the package; tests pass another one.
    """

    def __init__(self, folder: Path = SOURCE_FOLDER) -> None:
        self.folder = folder
        self._modules: dict[str, tuple[str, tuple[str, ...]] | None] = {}

    def code_of(self, roots: Iterable[str], equivalent: Mapping[str, str] | None = None) -> Code:
        """Fingerprint the closure of some root modules.

        Args:
            roots: names of the root modules.
            equivalent: fingerprint of refactored code, or hash of one module of it -> that of the
                code it was proven to be identical to (config/equivalent.yaml).
        """
        modules = self.closure(roots)
        meant = {name: original(value, equivalent) for name, value in modules.items()}
        fingerprint = original(digest(meant), equivalent)
        return Code(fingerprint, modules)

    def closure(self, roots: Iterable[str]) -> dict[str, str]:
        """Map every module that the roots can reach inside the package to its hash.

        Parent packages count, because Python runs their ``__init__`` on import. A root that
        does not exist maps to ``"missing"``: a plan may name models that are still to come.

        Raises:
            SyntaxError: a module is not Python.
        """
        waiting = list(roots)
        hashes = {module: "missing" for module in waiting if self._module(module) is None}
        while waiting:
            module = waiting.pop()
            found = self._module(module)
            if module not in hashes and found is not None:
                hashes[module], reached = found
                waiting += reached
        _meanings(self.folder).save()
        return dict(sorted(hashes.items()))

    def _module(self, module: str) -> tuple[str, tuple[str, ...]] | None:
        """A module's hash, and what may be modules that it needs; None if it is no module, but
        a function or class."""
        if module not in self._modules:
            self._modules[module] = self._read(module)
        return self._modules[module]

    def _read(self, module: str) -> tuple[str, tuple[str, ...]] | None:
        file = _module_file(module, self.folder)
        if file is None:
            return None
        path, is_package = file
        said = _meanings(self.folder).of(module, path.read_bytes())
        parts = module.split(".")[:-1]
        reached = {".".join(parts[: i + 1]): None for i in range(len(parts))}
        for base, name in said.imported(module, is_package):
            reached[base] = None
            if name:
                reached[f"{base}.{name}"] = None
        return said.hash, tuple(reached)


def _module_file(module: str, folder: Path) -> tuple[Path, bool] | None:
    """Find a module's file: (path, is it a package), or None if there is no such module."""
    path = folder.joinpath(*module.split("."))
    if (path / "__init__.py").is_file():
        return path / "__init__.py", True
    if path.with_suffix(".py").is_file():
        return path.with_suffix(".py"), False
    return None


# What changed, for people: no part of any fingerprint


def _named(node: ast.stmt) -> str:
    """Name a statement by what it defines."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.Import | ast.ImportFrom):
        return "imports"
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    names = [
        name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)
    ]
    return ", ".join(names) or "other statements"


@cache
def definitions(source: bytes) -> Mapping[str, str]:
    """Hash what a module defines one by one, to name what a change of it touched.

    Args:
        source: text of the module.

    Returns:
        functions, classes, methods, fields (``Class.name``) and constants, each with 8 hex
        digits; ``imports`` and ``other statements`` stand for all of these.

    Raises:
        SyntaxError: the source is not Python.
    """
    parts: dict[str, list[str]] = {}
    for node in ast.parse(source).body:
        if _is_text(node):
            continue
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if not _is_text(inner) and not isinstance(inner, ast.Pass):
                    parts.setdefault(f"{node.name}.{_named(inner)}", []).extend(_tokens(inner))
            node.body = []
        parts.setdefault(_named(node), []).extend(_tokens(node))
    return {
        name: hashlib.sha256("\0".join(tokens).encode()).hexdigest()[:8]
        for name, tokens in parts.items()
    }


def definitions_of(modules: Iterable[str], folder: Path = SOURCE_FOLDER) -> dict[str, Any]:
    """Map modules to their definitions; those that do not exist are left out."""
    found = {}
    for module in modules:
        file = _module_file(module, folder)
        if file is not None:
            found[module] = dict(definitions(file[0].read_bytes()))
    return found
