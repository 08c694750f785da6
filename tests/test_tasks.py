"""Whatever depends on the task asks an attribute or a method of its `Task`, in stp/tasks."""

import ast
import re
from collections.abc import Iterator
from dataclasses import astuple
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from stp.inspect.descriptions import DatasetDescriber
from stp.tasks import task as tasks

ROOT = Path(__file__).parents[1]
NAMES = set(tasks.names())
TOLD_APART = re.compile(rf"[\"'](?:{'|'.join({*NAMES, 'people'})})[\"']|\bis_of_")
"""Stands in every file that tells kinds apart: only such files need to be parsed."""
SQL = re.compile(rf"\b\w+ *(?:=|!=|<>|IN\b) *\(? *'(?:{'|'.join({*NAMES, 'people'})})'")
EACH = pytest.mark.parametrize("name", sorted(NAMES))


def texts(node: ast.AST) -> set[object]:
    """The constants that an expression or a pattern is, or consists of."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return {one.value for one in node.elts if isinstance(one, ast.Constant)}
    if isinstance(node, ast.MatchValue):
        return texts(node.value)
    if isinstance(node, ast.MatchOr):
        return {text for one in node.patterns for text in texts(one)}
    return {node.value} if isinstance(node, ast.Constant) else set()


def branches(code: str) -> Iterator[str]:
    """Whatever tells kinds apart in Python or in the SQL of its strings, as text."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(NAMES & texts(side) for side in sides):
                yield ast.unparse(node)
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("is_of_"):
            yield node.name
        elif isinstance(node, ast.match_case) and NAMES & texts(node.pattern):
            yield ast.unparse(node.pattern)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from SQL.findall(node.value)


def rules(code: str) -> Iterator[str]:
    """The same in a file of rules, line by line: it is not Python alone."""
    for line in code.splitlines():
        if re.search(rf"[=!]=\s*[\"']({'|'.join(NAMES)})[\"']|\bdef is_of_", line):
            yield line.strip()


def test_nothing_outside_of_the_room_tells_kinds_apart() -> None:
    found = []
    for path in sorted((ROOT / "stp").rglob("*.py")):
        # Metrics know no kind: `frames` is what some of them average over.
        if path.parent.name not in ("tasks", "metrics"):
            code = path.read_text(encoding="utf-8")
            if TOLD_APART.search(code):
                found += [(path.name, one) for one in branches(code)]
    for path in sorted((ROOT / "workflow").rglob("*")):
        if path.suffix == ".smk" or path.name == "Snakefile":
            found += [(path.name, one) for one in rules(path.read_text(encoding="utf-8"))]
    assert found == [], "name what differs in stp/tasks/task.py, and ask that"


@EACH
def test_the_modules_that_a_task_names_exist(name: str) -> None:
    task = tasks.find(name)
    fitted = [core for fit in task.fits.values() for core in (fit.core, fit.given)]
    named = [task.models, task.sources, *astuple(task.cores), *fitted]
    assert [module for module in named if module and find_spec(module) is None] == []


@EACH
def test_what_describes_datasets_of_a_kind_has_all_functions(name: str) -> None:
    module = import_module(tasks.find(name).inspect)
    wanted = {
        name for name, one in vars(DatasetDescriber).items() if callable(one) and name[0] != "_"
    }
    assert wanted and all(callable(getattr(module, function)) for function in wanted)


@EACH
def test_what_draws_prepared_data_of_a_kind_says_which_files_it_writes(name: str) -> None:
    module = import_module(tasks.find(name).prepared_pictures)
    assert callable(module.draw_prepared) and ".png" in module.FORMATS
