"""Hashes of a module's source that ignore everything without an effect on its results.

They ignore docstrings, comments, formatting, imports under ``TYPE_CHECKING`` and the texts of
raised errors. The module uses the standard library only; the hashes are the same on every supported
Python.
"""

import ast
import hashlib

PACKAGE = "stp"
DIGITS = 16
_IGNORED_FIELDS = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
"""Fields that differ between Python versions or carry no meaning."""


class _WithoutTexts(ast.NodeTransformer):
    """Replaces every string in an expression by an empty one."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Constant:
        return ast.Constant("")


class _Effective(ast.NodeTransformer):
    """Removes statements without an effect."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else self.generic_visit(node)

    def visit_Pass(self, node: ast.Pass) -> None:
        return None

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt] | None:
        self.generic_visit(node)
        for_types = ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        return (node.orelse or None) if for_types else node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        if node.module == "typing":
            node.names = [alias for alias in node.names if alias.name != "TYPE_CHECKING"]
        return node if node.names else None

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if isinstance(node.exc, ast.Call):  # an expression that chooses the class stays
            node.exc.args = [_WithoutTexts().visit(argument) for argument in node.exc.args]
            node.exc.keywords = [_WithoutTexts().visit(keyword) for keyword in node.exc.keywords]
        return self.generic_visit(node)


def parse_effective(source: bytes) -> ast.Module:
    """Parse a module into a syntax tree, and remove what has no effect on results.

    These are docstrings, imports under ``TYPE_CHECKING``, and the texts of raised errors.

    Args:
        source: source text of the module.

    Raises:
        SyntaxError: the source is not Python.
    """
    tree: ast.Module = _Effective().visit(ast.parse(source))
    return tree


def _dump(node: object) -> str:
    """A syntax tree as text, without empty fields, some of which newer Pythons add."""
    if isinstance(node, list):
        return f"[{','.join(map(_dump, node))}]"
    if not isinstance(node, ast.AST):
        return f"{type(node).__name__}:{node!a}"
    if isinstance(node, ast.JoinedStr):  # Python 3.12 adds empty texts to some
        node = ast.JoinedStr([part for part in node.values if getattr(part, "value", 0) != ""])
    fields = [
        (name, getattr(node, name, None)) for name in sorted({*node._fields} - _IGNORED_FIELDS)
    ]
    texts = (
        f"{name}={_dump(value)}" for name, value in fields if value is not None and value != []
    )
    return f"({type(node).__name__} {' '.join(texts)})"


def hash_of(trees: list[ast.stmt], digits: int = DIGITS) -> str:
    """Hash the syntax trees of some statements of a module.

    Args:
        trees: syntax trees of the statements, hashed together.
        digits: length of the hash, in hexadecimal digits.
    """
    return hashlib.sha256(_dump(trees).encode()).hexdigest()[:digits]


def definitions(source: bytes) -> dict[str, str]:
    """Hash each definition of a module, so that `stp why` can name the changed ones.

    Returns:
        hash of each definition (8 hexadecimal digits), by the name of the definition. Methods and
        fields are named ``Class.name``. All imports share the entry ``imports``; all other
        statements outside of classes share ``other statements``.

    Raises:
        SyntaxError: the source is not Python.
    """
    parts: dict[str, list[ast.stmt]] = {}
    for node in parse_effective(source).body:
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                parts.setdefault(f"{node.name}.{_statement_name(inner)}", []).append(inner)
            node.body = []
        parts.setdefault(_statement_name(node), []).append(node)
    return {name: hash_of(trees, 8) for name, trees in parts.items()}


def _statement_name(node: ast.stmt) -> str:
    """Name a statement by what it defines."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.Import | ast.ImportFrom):
        return "imports"
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    names = [part.id for t in targets if t for part in ast.walk(t) if isinstance(part, ast.Name)]
    return ", ".join(names) or "other statements"
