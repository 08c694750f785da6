"""What counts as a change of code: exhaustively on a sample, and by random edits of real modules.

A change of meaning that is not seen is the worst error of the whole system: old results would
pass for new ones. So everything is compared with `meaning`, a second opinion: Python's own dump
of the syntax tree, without docstrings, `pass` and the texts of raised exceptions and assertions.
"""

import ast

import edits
import pytest
import rewrites
from hypothesis import given, settings
from hypothesis import strategies as st
from reach import ROOT

from stp.core import canonical
from stp.core.fingerprint import digest

SOURCES = [path.read_text() for path in sorted((ROOT / "stp").rglob("*.py"))]
few = settings(max_examples=60, deadline=None, derandomize=True, database=None)

EVERYTHING = """
from __future__ import annotations
import os.path as p, sys
from . import sibling
from ..above import one as two, three

@first
@second(1)
class Thing(Base, other, metaclass=Meta):
    rate: float = 1e-3
    size: int
    total = -0.0

    @property
    def name(self, /, a, b=2, *rest, c, d=None, **more) -> str:
        global counter
        counter += 1
        x = y = [*a, 1, *b]
        del x[0], y[1:2, ::3]
        assert a < b <= c, f"{a!r:>{b}} and {c=}"
        return {"a": 1, **more, 'b': {2, 3}}

async def wait(items, q=...):
    def inner():
        nonlocal q
        q = yield
        yield from items
    async with open(1) as (f, g), h:
        pass
    async for i in items:
        await i
    else:
        return [j async for j in items if j if not q]

def control(x: "int", *, key=lambda v, w=1: v + w):
    for i, j in x:
        if i and j or not key:
            continue
        elif (k := i) is not None:
            break
    else:
        i -= 1
    while x > 0 and x != 3:
        x = x // 2 % 3 ** -1
    try:
        f(x, 1, *j, k=2, l=3, **m)
    except (KeyError, ValueError) as error:
        raise TypeError("text", 4, x) from error
    except OSError:
        raise
    else:
        y = x if i else j
    finally:
        z = {a: b for a, b in c for d in e}
    try:
        g
    except* ValueError:
        pass
    match x:
        case {"a": [1, *_], **rest} | None:
            return b"raw", 1j, True
        case Point(0, y=1) as point if point:
            return x @ y, x[..., None], ~x << 2
        case -1 | sys.maxsize:
            "a comment"
        case [first, *others]:
            return (n for n in others), "é\\n", 10 ** 100
    return not x
"""


def meaning(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                kept = [s for s in statements if not isinstance(s, ast.Pass)]
                setattr(node, name, [s for s in kept if not edits.is_text(s)])
        if isinstance(node, ast.Assert) and node.msg is not None:
            node.msg = Silence().visit(node.msg)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            messages = [*node.exc.args, *node.exc.keywords]
            for message in messages:
                Silence().visit(message)
            node.exc.args = [Silence().visit(argument) for argument in node.exc.args]
    return ast.dump(tree)


class Silence(ast.NodeTransformer):
    """Replace all texts by the same one."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return ast.Constant("text")

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant("text") if isinstance(node.value, str) else node


def seen(source: str) -> str:
    return canonical.meaning(source.encode()).hash


# Changes of meaning


@pytest.mark.long(part="reruns")
def test_each_single_edit_of_a_sample_of_everything_is_seen():
    """Over 400 edits; no two of them, and none and the original, may be confused."""
    texts = [EVERYTHING, *filter(None, (edit() for edit in edits.variants(EVERYTHING)))]
    meanings: dict[str, str] = {}
    for text in texts:
        other = meanings.setdefault(seen(text), meaning(text))
        assert other == meaning(text), text
    assert len(set(map(meaning, texts))) > 400


@few
@given(st.data())
def test_random_edits_of_real_modules_are_seen(data: st.DataObject):
    source = data.draw(st.sampled_from(SOURCES))
    possible = list(edits.variants(source))
    for edit in data.draw(st.lists(st.sampled_from(possible), min_size=1, max_size=4)):
        text = edit()
        if text is not None and meaning(text) != meaning(source):
            assert seen(text) != seen(source), text


CONSTANTS = st.one_of(
    st.integers(), st.floats(allow_nan=False), st.complex_numbers(allow_infinity=False,
    allow_nan=False), st.text(), st.binary(), st.booleans(),
    st.sampled_from([None, ..., 0, 0.0, -0.0, 1, 1.0, True, 10**40, "", b"", "1", b"1", 1j]),
)  # fmt: skip


def written(value: object) -> str:
    """Source code of a constant; an infinity is written 1e999."""
    if isinstance(value, float):
        return repr(value).replace("inf", "1e999")
    return "..." if value is ... else repr(value)


@few
@given(CONSTANTS, CONSTANTS)
def test_constants_are_the_same_only_if_type_and_value_are(a: object, b: object):
    one, other = f"x = {written(a)}", f"x = {written(b)}"
    assert (seen(one) == seen(other)) == (meaning(one) == meaning(other))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = -0.0", "x = 0.0"),
        ("x = 1", "x = True"),
        ("x = 1e999", "x = -1e999"),
        ("x = ['a' 'b']", "x = ['a', 'b']"),
        (r"x = '\ud800'", r"x = '\ud801'"),
        ("x = '\u00e9'", "x = 'e\u0301'"),
        ("f(a=1, b=2)", "f(b=2, a=1)"),
        ("f(*a, b)", "f(b, *a)"),
        ("x = {**a, 'b': 1}", "x = {'b': 1, **a}"),
        ("def f(*, a): g()", "def f(*, a=None): g()"),
        ("def f(a, /): g()", "def f(a): g()"),
        ("def f():\n    global x\n    x = 1", "def f():\n    x = 1"),
        ("x: int = 1", "x = 1"),
        ("x: 'int' = 1", "x: 'str' = 1"),
        ("f'{x=}'.y", "f'{x}'.y"),
        ("f'{x!r}'.y", "f'{x!s}'.y"),
        ("y = f'{x:.2f}'", "y = f'{x:.3f}'"),
        ("assert x, 'a'", "assert y, 'a'"),
        ("assert x", "assert x, 'a'"),
        ("assert x, f(1)", "assert x, f(2)"),
        ("f'{g()}'", "'g()'"),
        ("@a\n@b\ndef f(): g()", "@b\n@a\ndef f(): g()"),
        ("class A:\n    x = 1", "class A:\n    x = 2"),
        ("def f():\n    def g():\n        return 1", "def f():\n    def g():\n        return 2"),
        ("try:\n    a\nexcept E:\n    pass", "try:\n    a\nexcept E:\n    raise"),
        ("match x:\n    case None: f()", "match x:\n    case True: f()"),
        ("match x:\n    case a.b: f()", "match x:\n    case b: f()"),
        ("if (y := x): f()", "if (z := x): f()"),
        ("a < b < c", "(a < b) < c"),
        ("raise E('text', 1)", "raise E('text', 2)"),
        ("raise E(f'{x}', y)", "raise E(f'{x}', z)"),
        ("raise A('text')", "raise B('text')"),
        ("# coding: latin-1\nx = '\u00e9'", "# coding: utf-8\nx = '\u00e9'"),
        ("from __future__ import annotations", "import annotations"),
    ],
)
def test_a_changed_meaning_is_seen(before: str, after: str):
    assert seen(before) != seen(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("raise ERRORS['a']('text')", "raise ERRORS['b']('text')"),
        ("raise A(1) if x == 'a' else B(1)", "raise A(1) if x == 'b' else B(1)"),
        ("raise getattr(module, 'A')('text')", "raise getattr(module, 'B')('text')"),
        ("raise A('text') from causes['a']", "raise A('text') from causes['b']"),
    ],
)
def test_what_chooses_the_exception_is_seen(before: str, after: str):
    assert seen(before) != seen(after)


LOGS = "import logging, warnings\nLOG = logging.getLogger(__name__)\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("LOG.info('one')", "LOG.info('other')"),
        ("LOG.warning('one %s', x)", "LOG.warning('other %s', x)"),
        ("logging.error(f'one {x}')", "logging.error(f'{x} other')"),
        ("def f():\n    LOG.debug('one')", "def f():\n    LOG.debug('other')"),
        ("warnings.warn('one', UserWarning)", "warnings.warn('other', UserWarning)"),
        ("assert x, 'one'", "assert x, 'other'"),
        ("assert x, f'one {y}'", "assert x, f'other {z}'"),
    ],
)
def test_words_of_logs_warnings_and_assertions_are_not_seen(before: str, after: str):
    assert seen(LOGS + before) == seen(LOGS + after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("LOG.info('one', x)", "LOG.info('one', y)"),
        ("LOG.info(f'{f()}')", "LOG.info('')"),  # it is called
        ("LOG.info(f('one'))", "LOG.info(f('other'))"),
        ("LOG.info('one')", "LOG.debug('one')"),
        ("LOG.info('one')", ""),
        ("x = LOG.info('one')", "x = LOG.info('other')"),
        ("LOG.addFilter('one')", "LOG.addFilter('other')"),
        ("warnings.warn('one', UserWarning)", "warnings.warn('one', RuntimeWarning)"),
        ("warnings.filterwarnings('error', 'one')", "warnings.filterwarnings('error', 'other')"),
        ("log.info('one')", "log.info('other')"),  # whatever that is
        ("LOG = []\nLOG.info('one')", "LOG = []\nLOG.info('other')"),
        ("def f(LOG):\n    LOG.info('one')", "def f(LOG):\n    LOG.info('other')"),
        ("self.LOG.info('one')", "self.LOG.info('other')"),
        ("class LOG: ...\nLOG.info('one')", "class LOG: ...\nLOG.info('other')"),
        (
            "import model as logging\nlogging.info('a')",
            "import model as logging\nlogging.info('b')",
        ),
    ],
)
def test_what_logs_evaluate_and_what_may_be_no_log_is_seen(before: str, after: str):
    assert seen(LOGS + before) != seen(LOGS + after)


TYPES = "from typing import TYPE_CHECKING, Any\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (TYPES + "if TYPE_CHECKING:\n    from a import B\nx = 1", TYPES + "x = 1"),
        (TYPES + "if TYPE_CHECKING:\n    from a import B\nelse:\n    x = 1", TYPES + "x = 1"),
        (TYPES + "x = 1", "from typing import Any\nx = 1"),
        ("from typing import TYPE_CHECKING\nx = 1", "x = 1"),
        ("import typing\nif typing.TYPE_CHECKING:\n    import a", "import typing"),
    ],
)
def test_imports_for_types_alone_are_not_seen(before: str, after: str):
    assert seen(before) == seen(after)


@pytest.mark.parametrize(
    "source",
    [
        "from other import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a import B",
        TYPES + "TYPE_CHECKING = True\nif TYPE_CHECKING:\n    from a import B",
        TYPES + "if TYPE_CHECKING or x:\n    from a import B",
        TYPES + "if not TYPE_CHECKING:\n    from a import B",
        "import other as typing\nif typing.TYPE_CHECKING:\n    from a import B",
        "if TYPE_CHECKING:\n    from a import B",
    ],
)
def test_what_only_looks_like_imports_for_types_is_seen(source: str):
    assert seen(source) != seen(source.replace("import B", "import C"))


# Another form of the same meaning


@few
@given(st.data())
def test_random_edits_of_form_are_not_seen(data: st.DataObject):
    source = text = data.draw(st.sampled_from(SOURCES))
    for form in data.draw(st.lists(st.sampled_from(["comment", "reprint", "reword", "respell"]))):
        if form == "respell":
            chosen = data.draw(st.sets(st.integers(0, 300)))
            text = rewrites.respell(text, chosen)
        else:
            text = getattr(rewrites, form)(text)
    for _ in range(data.draw(st.integers(0, 5))):
        if spans := rewrites.expressions(text):
            text = rewrites.parenthesise(text, data.draw(st.sampled_from(spans)))
    if data.draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    if data.draw(st.booleans()):
        text = "\ufeff" + text
    assert meaning(text.lstrip("\ufeff")) == meaning(source), "the edit is wrong"
    assert seen(text) == seen(source)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 'a' 'b'", 'x = "ab"'),
        ("x = 1000", "x = 1_000"),
        ("x = 0.5", "x = 5e-1"),
        ("x = (1)", "x = 1"),
        ("x = u'a'", "x = 'a'"),
        ("x = 1  # type: int", "x = 1"),
        ("def f(): pass", 'def f(): "text"'),
        ("def f():\n    'text'\n    return 1", "def f():\n\treturn 1"),
        ("class A:\n    x = 1\n    'text'", "class A:\n    x = 1"),
        ("x = f(a, b)", "x = f(\n    a,\n    b,\n)"),
        ("x = f'a{b}'", 'x = f"a" f"{b}"'),
        ("a; b", "a\nb"),
        ("raise E('one')", "raise E(f'other {x}')"),
        ("", "'text'"),
    ],
)
def test_another_form_is_not_seen(before: str, after: str):
    assert seen(before) == seen(after)


# Recipes

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def exact(value: object) -> object:
    """A value with its types, so that 1, 1.0 and True differ; the order of keys is lost."""
    if isinstance(value, dict):
        return dict, frozenset((key, exact(inner)) for key, inner in value.items())
    if isinstance(value, list):
        return list, tuple(map(exact, value))
    return type(value), repr(value)


@few
@given(JSON, JSON)
def test_recipes_are_the_same_only_if_all_keys_types_and_values_are(a: object, b: object):
    assert (digest(a) == digest(b)) == (exact(a) == exact(b))
    assert digest([a, b]) != digest([[a], b])


def test_definitions_are_called_by_their_names():
    source = b"""
import os
A = B = 1
x: int = 2
(p, q) = A, B
x += 1
print(3)
class Kind:
    width = 1
    pass
def helper(): pass
"""
    names = ["imports", "A, B", "x", "p, q", "other statements", "Kind.width", "Kind", "helper"]
    assert list(canonical.definitions(source)) == names
