"""The meaning of a module's source: a canonical form of its syntax tree, and what it imports.

No part of it are docstrings, comments, formatting, imports for types alone, and the texts of
errors, assertions, logs and warnings. Standard library only, and the same result on every
supported Python version.
"""

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

PACKAGE = "stp"
DIGITS = 16

_MODULE = re.compile(rf"{PACKAGE}(\.\w+)*")
# Fields that differ between Python versions or carry no meaning.
_IGNORED_FIELDS = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


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


def _tokens(node: Any, silent: Collection[str] = ()) -> list[str]:
    """List the canonical form of a syntax tree.

    Empty and missing fields are left out, because newer Pythons add some and drop others;
    field names keep the rest unambiguous. Text counts by its code points: which characters
    `repr` prints depends on the Python.

    Args:
        node: the tree.
        silent: functions whose texts do not count, as `_loggers` finds them.
    """
    found: list[str] = []
    _add_tokens(node, found.append, silent)
    return found


def _add_tokens(
    node: Any,
    add: Callable[[str], None],
    silent: Collection[str],
    raised: bool = False,
    in_message: bool = False,
) -> None:
    """Add the canonical form of a part of a syntax tree.

    Args:
        node: a node, a field of one, or a list of them.
        add: takes one token after the other.
        silent: functions whose texts do not count.
        raised: is it what a raise statement raises?
        in_message: is it inside an argument of the exception, or what an assertion says? Texts do
            not count there; in what chooses the exception, as in ``raise ERRORS["disk"](...)``,
            they do.
    """
    if isinstance(node, list):
        add("[")
        for item in node:
            if not _is_text(item) and not isinstance(item, ast.Pass):
                _add_tokens(item, add, silent, in_message=in_message)
        add("]")
        return
    if not isinstance(node, ast.AST):
        add(f"{type(node).__name__}:{node!a}")
        return
    if in_message and _is_words(node):
        add("text")
        return
    if isinstance(node, ast.Expr) and _is_logged(node.value, silent):
        node = ast.Expr(_without_words(node.value))
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
            silent,
            raised=isinstance(node, ast.Raise) and name == "exc",
            in_message=in_message
            or (raised and isinstance(node, ast.Call) and name != "func")
            or (isinstance(node, ast.Assert) and name == "msg"),
        )
    add(")")


def _is_words(node: Any) -> bool:
    """Is this a text, with or without values in it?"""
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


# What is logged or warned of: said while the program runs, and evaluated whether or not it is said

_LOGGING = ("critical", "debug", "error", "exception", "info", "log", "warning")


def _loggers(tree: ast.AST) -> frozenset[str]:
    """Name the functions of a module that only say something, such as ``warnings.warn``.

    Names count that are bound once, so that nothing else can be meant by them: the modules
    ``logging`` and ``warnings``, and what ``logging.getLogger`` returns.
    """
    bound = Counter(_bound(tree))
    imported = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name in ("logging", "warnings") and bound[alias.asname or alias.name] == 1
    }
    loggers = [name for name, module in imported.items() if module == "logging"]
    for node in getattr(tree, "body", []):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made_by, target = ast.unparse(node.value.func), node.targets[0]
            if made_by in {f"{name}.getLogger" for name in loggers}:
                loggers += [target.id] if isinstance(target, ast.Name) else []
    found = {f"{name}.{said}" for name in loggers if bound[name] == 1 for said in _LOGGING}
    return frozenset(
        found | {f"{name}.warn" for name, module in imported.items() if module == "warnings"}
    )


def _bound(tree: ast.AST) -> Iterator[str]:
    """Every name that something in a tree gives a meaning to, as often as it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Global | ast.Nonlocal):
            yield from node.names
        elif isinstance(node, ast.MatchMapping):
            yield node.rest or ""
        else:  # functions, classes, caught exceptions, patterns
            yield getattr(node, "name", None) or ""


def _is_logged(node: ast.AST, silent: Collection[str]) -> bool:
    return (
        bool(silent)
        and isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and f"{node.func.value.id}.{node.func.attr}" in silent
    )


def _without_words(call: Any) -> ast.Call:
    """What a call that says something evaluates: without texts, with the values in them."""
    arguments: list[ast.expr] = []
    for argument in call.args:
        if isinstance(argument, ast.JoinedStr):
            parts = [part for part in argument.values if isinstance(part, ast.FormattedValue)]
            arguments.append(ast.Tuple([part.value for part in parts], ast.Load()))
        elif not _is_words(argument):
            arguments.append(argument)
    return ast.Call(call.func, arguments, call.keywords)


# Imports for types alone: Python never runs what stands below ``if TYPE_CHECKING``


class _WithoutTypes(ast.NodeTransformer):
    """Leaves out what stands below ``if TYPE_CHECKING:``, where that is what typing means by it."""

    def __init__(self, tree: ast.AST) -> None:
        bound = Counter(_bound(tree))
        named: dict[str, ast.Import | ast.ImportFrom] = {
            "TYPE_CHECKING": ast.ImportFrom("typing", [ast.alias("TYPE_CHECKING")], 0),
            "typing": ast.Import([ast.alias("typing")]),
        }
        self.known = {
            name for name, line in named.items() if bound[name] == 1 and _has_line(tree, line)
        }

    def visit_If(self, node: ast.If) -> Any:
        """Keep what runs."""
        self.generic_visit(node)
        test = ast.unparse(node.test)
        name = {"TYPE_CHECKING": "TYPE_CHECKING", "typing.TYPE_CHECKING": "typing"}.get(test)
        return (node.orelse or None) if name in self.known else node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        """The import of TYPE_CHECKING itself has no effect at run time."""
        if node.module == "typing" and "TYPE_CHECKING" in self.known:
            node.names = [alias for alias in node.names if alias.name != "TYPE_CHECKING"]
        return node if node.names else None


def _has_line(tree: ast.AST, line: ast.Import | ast.ImportFrom) -> bool:
    """Does a module import this name, at its top?"""
    return any(
        type(node) is type(line)
        and getattr(node, "module", None) == getattr(line, "module", None)
        and any(ast.dump(alias) == ast.dump(line.names[0]) for alias in node.names)
        for node in getattr(tree, "body", [])
    )


def _parsed(source: bytes) -> ast.Module:
    """What of a module runs.

    Raises:
        SyntaxError: the source is not Python.
    """
    tree = ast.parse(source)
    if b"TYPE_CHECKING" in source:
        tree = _WithoutTypes(tree).visit(tree)
    return tree


@cache
def _fields(kind: type[ast.AST]) -> list[str]:
    """Name the fields of a kind of node that carry meaning."""
    return sorted(set(kind._fields) - _IGNORED_FIELDS)


@dataclass(frozen=True)
class Meaning:
    """What a source says.

    Attributes:
        hash: of its meaning.
        imports: what may be modules of the package: (level, base, name), as in
            ``from <level dots><base> import <name>``. The name is empty in ``import <base>``; the
            level is -1 for a text, which may name a module that is imported by its name; the name
            of the package itself does not count.
        defines: the names that it defines if it does nothing else, so that running it has no
            effect; None if it may have one.
    """

    hash: str
    imports: tuple[tuple[int, str, str], ...]
    defines: tuple[str, ...] | None

    def imported(self, module: str, is_package: bool) -> Iterator[tuple[int, str, str]]:
        """What a module of this source imports from the package, without relative names."""
        for level, base, name in self.imports:
            parts = module.split(".")
            parts = parts[: len(parts) - level + int(is_package)] if level > 0 else []
            whole = ".".join([*parts, base] if base else parts)
            if _MODULE.fullmatch(whole):
                yield level, whole, name


@cache
def meaning(source: bytes) -> Meaning:
    """Read one module's source text.

    Raises:
        SyntaxError: it is not Python.
    """
    tree = _parsed(source)
    canonical = "".join(f"{token}\0" for token in _tokens(tree, _loggers(tree)))
    found: dict[tuple[int, str, str], None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                base, _, name = alias.name.rpartition(".")
                # With another name for it, nothing else is within reach.
                found[(0, base, name) if base and alias.asname else (0, alias.name, "")] = None
        elif isinstance(node, ast.ImportFrom):
            found |= {(node.level, node.module or "", alias.name): None for alias in node.names}
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value != PACKAGE  # by which nobody imports a part
        ):
            found[-1, node.value, ""] = None
    return Meaning(
        hashlib.sha256(canonical.encode()).hexdigest()[:DIGITS],
        tuple(what for what in found if what[0] > 0 or _MODULE.fullmatch(what[1])),
        _defined(tree),
    )


def _defined(tree: ast.Module) -> tuple[str, ...] | None:
    """Name what a module defines if it does nothing else: constants and plain functions."""
    names: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            values = [node.value] if node.value is not None else []
            if not all(isinstance(target, ast.Name) for target in targets):
                return None
            names += [target.id for target in targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.FunctionDef) and not node.decorator_list:
            arguments = node.args
            values = [*arguments.defaults, *filter(None, arguments.kw_defaults)]
            names.append(node.name)
        elif _is_text(node) or isinstance(node, ast.Pass) or _is_future(node):
            continue
        else:
            return None
        annotations = [one for one in ast.walk(node) if isinstance(one, ast.arg | ast.AnnAssign)]
        types = [one.annotation for one in annotations] + [getattr(node, "returns", None)]
        if not all(map(_is_literal, values)) or any(
            isinstance(part, ast.Call) for one in filter(None, types) for part in ast.walk(one)
        ):
            return None
    # Such as __path__, which says where submodules are.
    special = [name for name in names if name.startswith("__") and name not in _HARMLESS]
    return None if special else tuple(names)


_HARMLESS = frozenset({"__all__", "__author__", "__version__"})


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


# What changed, in readable form: not part of any fingerprint


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


def definitions(source: bytes) -> dict[str, str]:
    """Hash each definition of a module, so that a changed one can be named.

    Args:
        source: text of the module.

    Returns:
        functions, classes, methods, fields (``Class.name``) and constants, each with 8 hex
        digits; ``imports`` and ``other statements`` stand for all of these.

    Raises:
        SyntaxError: the source is not Python.
    """
    parts: dict[str, list[str]] = {}
    tree = _parsed(source)
    silent = _loggers(tree)
    for node in tree.body:
        if _is_text(node):
            continue
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if not _is_text(inner) and not isinstance(inner, ast.Pass):
                    name = f"{node.name}.{_named(inner)}"
                    parts.setdefault(name, []).extend(_tokens(inner, silent))
            node.body = []
        parts.setdefault(_named(node), []).extend(_tokens(node, silent))
    return {
        name: hashlib.sha256("\0".join(tokens).encode()).hexdigest()[:8]
        for name, tokens in parts.items()
    }
