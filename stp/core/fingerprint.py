"""Fingerprints: which code, recipe and inputs an artefact is made of, as 16 hex digits.

The fingerprint of an artefact is part of its path, so a change of meaning gives a new path
and everything else stays where it is. Code counts by meaning: a canonical walk over the
syntax tree, without docstrings, comments, formatting, imports for types alone, or the text of
errors, assertions, logs and warnings, over the static import closure of the stage's root modules.
Standard library only, and the same result on every supported Python version.
"""

import ast
import contextlib
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from stp.core.disk import write_text
from stp.core.errors import StpError

PACKAGE = "stp"
DIGITS = 16
SOURCE_FOLDER = Path(__file__).parents[2]
"""The folder that holds the package."""
SHELL_OF_CORES = frozenset({f"{PACKAGE}.core.errors", f"{PACKAGE}.core.job"})
"""Modules that every core imports and that count nowhere: how work is handed over, and how it
fails. They compute nothing (tests/mutations/test_out_of_sight.py holds them to it)."""
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
        """TYPE_CHECKING itself is no part of what runs."""
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
            ``from <level dots><base> import <name>``. The name is empty in ``import <base>``; the
            level is -1 for a text, which may name a module that is imported by its name.
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
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
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
            known = {"source": made_from, **asdict(made)}
            self.known[module] = self.new[module] = known
        defines = known["defines"]
        return Meaning(
            known["hash"],
            tuple((level, base, name) for level, base, name in known["imports"]),
            None if defines is None else tuple(defines),
        )

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
        self._modules: dict[str, _Module | None] = {}

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

        Parent packages count, because Python runs their ``__init__`` on import; one that only
        defines names counts where a name of it is asked for. A root that does not exist maps to
        ``"missing"``: a plan may name models that are still to come.

        Raises:
            SyntaxError: a module is not Python.
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
        _meanings(self.folder).save()
        return dict(sorted(hashes.items()))

    def _module(self, module: str) -> "_Module | None":
        """A module; None if there is none of this name, but a function or class."""
        if module not in self._modules:
            self._modules[module] = self._read(module)
        return self._modules[module]

    def _read(self, module: str) -> "_Module | None":
        file = _module_file(module, self.folder)
        if file is None:
            return None
        path, is_package = file
        said = _meanings(self.folder).of(module, path.read_bytes())
        reached: dict[str, None] = {}
        for level, base, name in said.imported(module, is_package):
            if name == "*":  # whatever a package names, in whatever way
                reached |= dict.fromkeys((base, *_submodules(base, self.folder)))
            elif name and _module_file(f"{base}.{name}", self.folder):
                reached[f"{base}.{name}"] = None  # and no name of the package itself
            else:
                reached[base] = None
                if not name and level == 0:  # import a.b.c: every name of a and a.b is in reach
                    reached |= dict.fromkeys(_parents(base))
        own = said.defines
        hidden = own is not None and any(_module_file(f"{module}.{n}", self.folder) for n in own)
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
    """Name the modules of a package; none if it is no package."""
    path = folder.joinpath(*package.split("."))
    names = sorted({file.stem for file in path.glob("*.py")} | {d.name for d in path.glob("*/")})
    return [f"{package}.{name}" for name in names if name.isidentifier() and name != "__init__"]


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


def definitions_of(modules: Iterable[str], folder: Path = SOURCE_FOLDER) -> dict[str, Any]:
    """Map modules to their definitions; those that do not exist are left out."""
    found = {}
    for module in modules:
        file = _module_file(module, folder)
        if file is not None:
            found[module] = dict(definitions(file[0].read_bytes()))
    return found
