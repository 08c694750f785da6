"""Rewrites of source code that leave its meaning: another form, other words."""

import ast
import io
import tokenize
from collections.abc import Iterator, Set

from edits import is_text

DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
COMPUTED = (ast.BinOp, ast.Call, ast.Compare, ast.IfExp, ast.Lambda)
Span = tuple[int, int]
"""Offsets in the encoded source: first byte, and after the last one."""


def comment(source: str) -> str:
    """A comment after every statement, and a blank line with another one before the next."""
    lines = source.splitlines(keepends=True)
    ends = {
        token.end[0]
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.NEWLINE
    }
    for end in sorted(ends, reverse=True):
        lines[end - 1] = lines[end - 1].rstrip("\n") + "  # why\n\n  # and another\n"
    return "".join(["# first\n", *lines])


def reprint(source: str) -> str:
    """Everything printed anew, without any formatting, and every docstring replaced."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED):
            if node.body and is_text(node.body[0]):
                del node.body[0]
            node.body.insert(0, ast.Expr(ast.Constant("Other words.")))
    return ast.unparse(ast.fix_missing_locations(tree))


def reword(source: str) -> str:
    """Other texts in every exception that is raised with one, and in every assertion."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        values: list[ast.expr] = []
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            values = [*node.exc.args, *(keyword.value for keyword in node.exc.keywords)]
        elif isinstance(node, ast.Assert) and node.msg is not None:
            values = [node.msg]
        for value in values:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                value.value = "Other words, " + value.value
            elif isinstance(value, ast.JoinedStr):
                value.values.insert(0, ast.Constant("Other words, "))
    return ast.unparse(tree)


def expressions(source: str) -> list[Span]:
    """Where the expressions are that may stand in parentheses: offsets in the encoded source."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = set()
    for node in _expressions(ast.parse(source)):
        assert node.end_lineno is not None and node.end_col_offset is not None
        end = starts[node.end_lineno - 1] + node.end_col_offset
        found.add((starts[node.lineno - 1] + node.col_offset, end))
    return sorted(found)


def _expressions(node: ast.AST) -> Iterator[ast.expr]:
    # Python 3.11 does not know where the parts of an f-string are; patterns have a grammar of
    # their own.
    if isinstance(node, (ast.JoinedStr, ast.pattern)):
        return
    alone = not isinstance(node, (ast.Starred, ast.Slice)) and not any(
        isinstance(part, (ast.Starred, ast.Slice)) for part in getattr(node, "elts", ())
    )
    loaded = alone and isinstance(getattr(node, "ctx", None), ast.Load)
    if isinstance(node, ast.expr) and (loaded or isinstance(node, COMPUTED)):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _expressions(child)


def parenthesise(source: str, span: Span) -> str:
    """Put one expression into parentheses."""
    text, (start, end) = source.encode(), span
    return (text[:start] + b"(" + text[start:end] + b")" + text[end:]).decode()


def respell(source: str, chosen: Set[int]) -> str:
    """Write numbers and strings in another way, and break lines after commas in brackets.

    Args:
        source: of a module.
        chosen: numbers of the places to edit, of all that there are.
    """
    lines = source.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    edits = []
    depth = in_text = 0
    for token in tokens:
        in_text += (token.type == getattr(tokenize, "FSTRING_START", -1)) - (
            token.type == getattr(tokenize, "FSTRING_END", -1)
        )
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        if not in_text and (new := _spelled(token, depth)) is not None:
            edits.append((token, new))
    for i, (token, new) in reversed(list(enumerate(edits))):
        if i in chosen:
            line = lines[token.start[0] - 1]
            lines[token.start[0] - 1] = line[: token.start[1]] + new + line[token.end[1] :]
    return "".join(lines)


def _spelled(token: tokenize.TokenInfo, depth: int) -> str | None:
    text = token.string
    if token.type == tokenize.NUMBER and text.isdigit():
        return hex(int(text))
    if token.type == tokenize.STRING and text[0] in "'\"" and text[:3] not in ("'''", '"""'):
        other = {"'": '"', '"': "'"}[text[0]]
        return None if other in text or "\\" in text else other + text[1:-1] + other
    if token.type == tokenize.OP and text == "," and depth:
        return ",  # why\n\n     "
    return None
