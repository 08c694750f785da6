"""Edits of source code that change what it means."""

import ast
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.UAdd: ast.USub,
    ast.USub: ast.UAdd,
    ast.Invert: ast.USub,
    ast.Not: ast.USub,
    ast.LShift: ast.RShift,
    ast.MatMult: ast.Mult,
}


def append(source: str) -> str:
    """One more assignment at the end."""
    return source + "\nCHANGED = 1\n"


def places(tree: ast.AST) -> list[ast.AST]:
    """Constants and operators that `change` can change, in the order of the source.

    Not in docstrings, raise statements, and what assertions say: their texts carry no meaning.
    """
    return list(_places(tree))


def _places(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Raise) or is_text(node):
        return
    if isinstance(node, ast.Constant) and node.value not in (None, ...):
        yield node
    if isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in OPPOSITES:
        yield node
    if isinstance(node, ast.Compare):
        yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.Assert) and child is node.msg):
            yield from _places(child)


def change(node: ast.AST) -> None:
    """Change the meaning of one constant or operator, in place."""
    if isinstance(node, ast.Constant):
        node.value = _other_constant(node.value)
    elif isinstance(node, (ast.BinOp, ast.BoolOp)):
        node.op = OPPOSITES[type(node.op)]()  # type: ignore[assignment]
    elif isinstance(node, ast.Compare):
        node.ops[0] = OPPOSITES[type(node.ops[0])]()  # type: ignore[call-overload]


def _other_constant(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return value + "_"
    if isinstance(value, bytes):
        return value + b"_"
    if value is ...:
        return 0
    return value + 1 if value + 1 != value else 0.5


def change_inside(source: str) -> str | None:
    """Change one constant or operator in the body of a function, always the same one.

    Returns:
        the new source, or None if no function has any.
    """
    tree = ast.parse(source)
    bodies = [s for node in ast.walk(tree) if isinstance(node, FUNCTIONS) for s in node.body]
    found = {id(place): place for body in bodies for place in places(body)}
    if not found:
        return None
    chosen = int(hashlib.sha256(ast.dump(tree).encode()).hexdigest(), 16) % len(found)
    change(list(found.values())[chosen])
    return ast.unparse(tree)


def variants(source: str) -> Iterator[Callable[[], str | None]]:
    """Every edit of one field of one node of the syntax tree.

    A name gets another letter, a constant another value, an operator becomes its opposite, an
    entry of a list is lost or changes places with the next, what may be absent is.

    Yields:
        a function that returns the edited source, or None if that is not Python.
    """
    tree = ast.parse(source)

    def edited(node: ast.AST, name: str, value: Any) -> str | None:
        before = getattr(node, name)
        setattr(node, name, value)
        try:
            text = ast.unparse(tree)
            compile(text, "edited", "exec", ast.PyCF_ONLY_AST)
        except (AttributeError, IndexError, KeyError, SyntaxError, TypeError, ValueError):
            return None
        finally:
            setattr(node, name, before)
        return text

    for node in list(ast.walk(tree)):
        for name, value in list(ast.iter_fields(node)):
            for other in _others(value):
                yield lambda node=node, name=name, other=other: edited(node, name, other)


def _others(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from (value[:i] + value[i + 1 :] for i in range(len(value)))
        for i in range(len(value) - 1):
            yield [*value[:i], value[i + 1], value[i], *value[i + 2 :]]
    elif isinstance(value, ast.AST):
        yield None
        if type(value) in OPPOSITES:
            yield OPPOSITES[type(value)]()
    elif value is not None:
        yield _other_constant(value)


def is_text(node: ast.AST) -> bool:
    """Is this a bare string statement, such as a docstring?"""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
