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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = "stp"
DIGITS = 16
SOURCE_FOLDER = Path(__file__).parent.parent
"""The folder that holds the package; tests pass another one."""

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


def _tokens(node: Any, in_raise: bool = False) -> Iterator[str]:
    """Yield the canonical form of a syntax tree.

    Empty and missing fields are left out, because newer Pythons add some and drop others;
    field names keep the rest unambiguous.
    """
    if isinstance(node, list):
        yield "["
        for item in node:
            if not _is_text(item) and not isinstance(item, ast.Pass):
                yield from _tokens(item, in_raise)
        yield "]"
        return
    if not isinstance(node, ast.AST):
        yield f"{type(node).__name__}:{node!r}"
        return
    in_raise = in_raise or isinstance(node, ast.Raise)
    if in_raise and (
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
        if name in _IGNORED_FIELDS or value is None or value == []:
            continue
        if name == "value" and isinstance(node, ast.Constant):
            yield f"{type(value).__name__}:{value!r}"
            continue
        yield f"{name}="
        yield from _tokens(value, in_raise)
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
    return tuple(pair for pair in found if pair[0].split(".")[0] == PACKAGE)


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
        if "." in module:
            waiting.append(module.rpartition(".")[0])
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


def code_of(
    roots: Iterable[str],
    equivalent: Mapping[str, str] | None = None,
    folder: Path = SOURCE_FOLDER,
) -> Code:
    """Fingerprint the closure of some root modules.

    Args:
        roots: names of the root modules.
        equivalent: fingerprint of refactored code -> fingerprint of the code it was proven
            to be identical to (config/equivalent.yaml).
        folder: the folder that holds the package.
    """
    modules = closure(roots, folder)
    fingerprint = digest(modules)
    seen = {fingerprint}
    while equivalent and fingerprint in equivalent:
        fingerprint = equivalent[fingerprint]
        if fingerprint in seen:
            raise ValueError(f"config/equivalent.yaml goes in a circle at {fingerprint}")
        seen.add(fingerprint)
    return Code(fingerprint, modules)
