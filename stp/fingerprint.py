"""Fingerprints: which code, recipe and inputs an artefact is made of, as 16 hex digits.

The fingerprint of an artefact is part of its path, so a change of meaning gives a new path
and everything else stays where it is. Code counts by meaning: a canonical walk over the
syntax tree, without docstrings, comments, formatting or the text of errors, over the static
import closure of the stage's root modules. Standard library only, and the same result on
every supported Python version.
"""

import ast
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = "stp"
DIGITS = 16
SOURCE_FOLDER = Path(__file__).parent.parent
"""The folder that holds the package; tests pass another one."""

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


def _tokens(node: Any, raised: bool = False, in_message: bool = False) -> Iterator[str]:
    """Yield the canonical form of a syntax tree.

    Empty and missing fields are left out, because newer Pythons add some and drop others;
    field names keep the rest unambiguous. Text counts by its code points: which characters
    `repr` prints depends on the Python.

    Args:
        node: a node, a field of one, or a list of them.
        raised: is it what a raise statement raises?
        in_message: is it inside an argument of the exception? Texts do not count there; in what
            chooses the exception, as in ``raise ERRORS["disk"](...)``, they do.
    """
    if isinstance(node, list):
        yield "["
        for item in node:
            if not _is_text(item) and not isinstance(item, ast.Pass):
                yield from _tokens(item, in_message=in_message)
        yield "]"
        return
    if not isinstance(node, ast.AST):
        yield f"{type(node).__name__}:{node!a}"
        return
    if in_message and (
        isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    ):
        yield "text"
        return
    if isinstance(node, ast.JoinedStr):
        node = ast.JoinedStr([value for value in node.values if not _is_empty_text(value)])
    yield f"({type(node).__name__}"
    for name in sorted(node._fields):
        value = getattr(node, name, None)
        if name in _IGNORED_FIELDS or value is None or (value == [] and name != "body"):
            continue
        if name == "value" and isinstance(node, ast.Constant):
            yield f"{type(value).__name__}:{value!a}"
            continue
        yield f"{name}="
        yield from _tokens(
            value,
            raised=isinstance(node, ast.Raise) and name == "exc",
            in_message=in_message or (raised and isinstance(node, ast.Call) and name != "func"),
        )
    yield ")"


@cache
def source_hash(source: bytes) -> str:
    """Hash the meaning of one module's source text.

    Raises:
        SyntaxError: the source is not Python.
    """
    canonical = hashlib.sha256()
    for token in _tokens(ast.parse(source)):
        canonical.update(token.encode())
        canonical.update(b"\0")
    return canonical.hexdigest()[:DIGITS]


@cache
def _imported(source: bytes, module: str, is_package: bool) -> tuple[tuple[str, str], ...]:
    """List what a module imports from the package: pairs of (module, name or '')."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".")
                parts = parts[: len(parts) - node.level + int(is_package)]
                base = ".".join([*parts, *([node.module] if node.module else [])])
            found += [(base, alias.name) for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append((node.value, ""))  # may name a module that is imported by its name
    return tuple(pair for pair in found if _MODULE.fullmatch(pair[0]))


def _module_file(module: str, folder: Path) -> tuple[Path, bool] | None:
    """Find a module's file: (path, is it a package), or None if there is no such module."""
    path = folder.joinpath(*module.split("."))
    if (path / "__init__.py").is_file():
        return path / "__init__.py", True
    if path.with_suffix(".py").is_file():
        return path.with_suffix(".py"), False
    return None


def closure(roots: Iterable[str], folder: Path = SOURCE_FOLDER) -> dict[str, str]:
    """Map every module that the roots can reach inside the package to its hash.

    Parent packages count, because Python runs their ``__init__`` on import. A root that
    does not exist maps to ``"missing"``: a plan may name models that are still to come.

    Raises:
        SyntaxError: a module is not Python.
    """
    hashes: dict[str, str] = {}
    waiting = list(roots)
    for module in waiting:
        if _module_file(module, folder) is None:
            hashes[module] = "missing"
    while waiting:
        module = waiting.pop()
        if module in hashes:
            continue
        found = _module_file(module, folder)
        if found is None:  # a function or class, not a module
            continue
        path, is_package = found
        source = path.read_bytes()
        hashes[module] = source_hash(source)
        parents = module.split(".")[:-1]  # one without an __init__ may be among them
        waiting += [".".join(parents[: i + 1]) for i in range(len(parents))]
        for base, name in _imported(source, module, is_package):
            waiting.append(base)
            if name:
                waiting.append(f"{base}.{name}")
    return dict(sorted(hashes.items()))


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


def code_of(
    roots: Iterable[str],
    equivalent: Mapping[str, str] | None = None,
    folder: Path = SOURCE_FOLDER,
) -> Code:
    """Fingerprint the closure of some root modules.

    Args:
        roots: names of the root modules.
        equivalent: fingerprint of refactored code, or hash of one module of it -> that of the
            code it was proven to be identical to (config/equivalent.yaml).
        folder: the folder that holds the package.
    """
    modules = closure(roots, folder)
    meant = {name: original(value, equivalent) for name, value in modules.items()}
    fingerprint = original(digest(meant), equivalent)
    return Code(fingerprint, modules)


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
