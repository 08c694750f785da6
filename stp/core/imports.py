"""Static analysis of a module: its imports from the package, and whether running it has effects."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from stp.core.canonical import PACKAGE, hash_of, parse_effective

_MODULE = re.compile(rf"{PACKAGE}(\.\w+)*")
_HARMLESS = frozenset({"__all__", "__author__", "__version__"})


@dataclass(frozen=True)
class Meaning:
    """Result of the analysis of a module's source.

    Attributes:
        hash: hash of the syntax tree of the module.
        imports: possible imports from the package ``stp``, three parts each: level (number of
            leading dots), module behind ``from`` or ``import``, and imported name. For example,
            ``from ..core import disk`` is ``(2, "core", "disk")``, and ``import stp.core.disk`` is
            ``(0, "stp.core.disk", "")``. A string ``"stp.core.disk"`` in the module is included
            with level -1, ``(-1, "stp.core.disk", "")``, since a module with this name may be
            imported at run time.
        defines: names of the constants and functions of a module that only defines constants and
            functions, so that running it has no effect; None for all other modules.
    """

    hash: str
    imports: tuple[tuple[int, str, str], ...]
    defines: tuple[str, ...] | None

    def absolute_imports(self, module: str, is_package: bool) -> Iterator[tuple[int, str, str]]:
        """Yield the imports from the package ``stp``, with absolute names.

        Args:
            module: full name of the importing module.
            is_package: whether this module is the ``__init__`` of a package.

        Yields:
            three parts of each import: its level, which is the number of leading dots, or -1 for a
            string that may name a module; the full name of the module behind ``from`` or
            ``import``; and the name that is imported from this module, which may be empty. For
            example, ``from ..core import disk`` in ``stp.plan.cells`` gives ``(2, "stp.core",
            "disk")``.
        """
        for level, base, name in self.imports:
            parts = module.split(".")
            parts = parts[: len(parts) - level + int(is_package)] if level > 0 else []
            whole = ".".join([*parts, base] if base else parts)
            if _MODULE.fullmatch(whole):
                yield level, whole, name


@cache
def analyse_source(source: bytes) -> Meaning:
    """Analyse the source text of one module: its imports and what it defines.

    Raises:
        SyntaxError: the text is not Python.
    """
    tree = parse_effective(source)
    imports: dict[tuple[int, str, str], None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                base, _, name = alias.name.rpartition(".")
                # `import a.b as c` binds a.b alone.
                imports[(0, base, name) if base and alias.asname else (0, alias.name, "")] = None
        elif isinstance(node, ast.ImportFrom):
            imports |= {(node.level, node.module or "", alias.name): None for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            imports[-1, node.value, ""] = None
    imports.pop((-1, PACKAGE, ""), None)  # the word alone imports nothing
    of_package = tuple(key for key in imports if key[0] > 0 or _MODULE.fullmatch(key[1]))
    return Meaning(hash_of(tree.body), of_package, _defined_names(tree))


def _defined_names(tree: ast.Module) -> tuple[str, ...] | None:
    """The names of a module that only has literal constants and plain functions, else None."""
    names = []
    for node in tree.body:
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [t.id if isinstance(t, ast.Name) else "__unknown__" for t in targets]
            annotation = node.annotation if isinstance(node, ast.AnnAssign) else None
            parts = [node.value, annotation]
        elif isinstance(node, ast.FunctionDef) and not node.decorator_list:
            names.append(node.name)
            parts = [node.args, node.returns]
        elif not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            return None
        if any(isinstance(inner, ast.Call) for part in parts if part for inner in ast.walk(part)):
            return None
    special = [name for name in names if name.startswith("__") and name not in _HARMLESS]
    return None if special else tuple(names)  # such as __path__, which says where submodules are
