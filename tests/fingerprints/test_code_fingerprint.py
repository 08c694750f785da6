"""The code of a fingerprint: whatever a core runs is in it, and an edit of any of it is seen."""

import ast
import json
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stp.core import canonical
from stp.core.canonical import PACKAGE
from stp.core.fingerprint import SHELL_OF_CORES, Sources
from stp.core.imports import analyse_source
from stp.core.job import Job
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.run import runner

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / PACKAGE).rglob("*.py"))
FORKS = """
import importlib, json, os, pickle, sys
import pandas, pyarrow.parquet, scipy.stats, torch, zarr
for line in sys.stdin:
    if os.fork() == 0:
        core, recipe, inputs, out, state, runtime = pickle.loads(bytes.fromhex(line))
        from stp.core.job import Job
        done = importlib.import_module(core).run(Job(recipe, inputs, out, state, runtime))
        names = sorted(name for name in sys.modules if name.startswith("stp."))
        print("RAN", json.dumps([names, done]), flush=True)
        os._exit(0)
    if os.wait()[1]:
        sys.exit("the core failed")
"""
"""Runs each core in a fork of a process that has imported libraries, but nothing of the package."""


# Every module of a real run is in the fingerprint


@pytest.fixture(scope="module")
def forks() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", FORKS]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, text=True, stdin=pipe, stdout=pipe) as process:
        yield process


def run_alone(forks: subprocess.Popen[str], job: Job, core: str) -> tuple[set[str], Any]:
    """Run a core in a process of its own: the modules that it imported, and its report."""
    assert forks.stdin is not None and forks.stdout is not None
    parts = (core, job.recipe, job.inputs, job.out, job.state, dict(job.runtime))
    print(pickle.dumps(parts).hex(), file=forks.stdin, flush=True)
    line = next((line for line in forks.stdout if line.startswith("RAN ")), "")
    assert line, "the core failed"
    modules, report = json.loads(line.removeprefix("RAN "))
    return set(modules), report


@pytest.fixture
def outside(forks: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """Let the runner run cores alone; filled with modules that no fingerprint covers."""
    uncovered: dict[str, set[str]] = {}
    sources = Sources()

    def run_core(plan: Plan, artefact: Artefact, job: Job) -> Any:
        modules, report = run_alone(forks, job, artefact.core)
        covered = set(artefact.code.modules) | SHELL_OF_CORES
        packages = {name.rpartition(".")[0] for name in sources.closure(covered)}
        packages |= {name.rpartition(".")[0] for name in packages}
        uncovered[artefact.work] = modules - covered - packages
        return report

    monkeypatch.setattr(runner, "run_core", run_core)
    return uncovered


def make(plan: Plan, dataset: str, models: set[str]) -> None:
    """Make the data of a dataset, and all artefacts of some models on it."""
    runner.fetch(plan, plan.raw(dataset))
    for artefact in plan.artefacts.values():
        recipe = artefact.recipe
        model = recipe.get("model") or recipe.get("cell", {}).get("model")
        if artefact.dataset == dataset and (artefact.stage == "prepare" or model in models):
            runner.make(plan, artefact)


SCALES: dict[str, tuple[dict[str, Any] | Path, str, set[str]]] = {
    "frames": (ROOT / "tests/workflow/tiny.yaml", "enso", {"climatology", "convlstm"}),
    "tracks": (
        {
            "scale": "few-people",
            "suite": "atlas",
            "dimensions": {
                "atlas_transfer": {
                    "models": ["constant_velocity"],
                    "cells": [{"trained_on": "atlas_zara1", "subset": "strict-relaxed"}],
                }
            },
            "datasets": {"atlas_zara1": {"release": "synthetic"}},
            "bootstrap": {"resamples": 100, "seed": 0},
        },
        "atlas_zara1",
        {"constant_velocity"},
    ),
    "opinions": (
        {
            "scale": "few-opinions",
            "suite": "pvqa",
            "dimensions": {
                "quality_measures": {
                    "models": ["mean_opinion", "video_mse"],
                    "cells": [{"trained_on": "pvqa", "subset": "published"}],
                }
            },
            "datasets": {
                "pvqa": {
                    "release": "synthetic",
                    "releases": {
                        "synthetic": {"options": {"videos": 20, "sizes": 1, "raters": 20}}
                    },
                }
            },
        },
        "pvqa",
        {"mean_opinion", "video_mse"},
    ),
}


@pytest.mark.parametrize("kind", SCALES)
def test_what_a_core_imports_is_in_its_fingerprint(
    kind: str,
    outside: dict[str, set[str]],
    tiny_enso: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if kind == "frames":
        shutil.copytree(tiny_enso, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("STP_RAW_DIR", str(tmp_path / "raw"))
    scale, dataset, models = SCALES[kind]
    make(Plan.load(scale), dataset, models)
    assert {work.partition(" ")[0] for work in outside} >= {"prepare", "predict", "score"}
    assert {work: names for work, names in outside.items() if names} == {}


# An edit of the code is seen, another form of it is not

SOME_OR_ALL = pytest.mark.parametrize(
    "sources",
    [SOURCES[::20], pytest.param(SOURCES, marks=pytest.mark.long(part="reruns"))],
    ids=["every twentieth", "all"],
)


@SOME_OR_ALL
def test_an_edit_of_any_module_is_seen_and_another_form_of_it_is_not(sources: list[Path]) -> None:
    for path in sources:
        source = path.read_bytes()
        before = analyse_source(source).hash
        assert analyse_source(source + b"\n_EDITED = 1\n").hash != before, path
        reprinted = ast.unparse(ast.parse(source))
        other_form = f'"""Other words."""\n# a comment\n{reprinted}\n'
        assert analyse_source(other_form.encode()).hash == before, path


@SOME_OR_ALL
def test_another_constant_or_operator_in_any_module_is_seen(sources: list[Path]) -> None:
    class Edit(ast.NodeTransformer):
        """Changes the first number or comparison."""

        done = False

        def visit_Raise(self, node: ast.Raise) -> ast.Raise:
            return node  # its texts do not count

        def visit_Constant(self, node: ast.Constant) -> ast.Constant:
            if self.done or type(node.value) not in (int, float):
                return node
            self.done = True
            return ast.Constant(2 * node.value + 1)

        def visit_Compare(self, node: ast.Compare) -> ast.AST:
            if self.done or not isinstance(node.ops[0], ast.Lt | ast.Gt):
                return self.generic_visit(node)
            self.done = True
            return ast.Compare(node.left, [ast.GtE(), *node.ops[1:]], node.comparators)

    edited = 0
    for path in sources:
        source, edit = path.read_bytes(), Edit()
        tree = ast.fix_missing_locations(edit.visit(ast.parse(source)))
        if edit.done:
            edited += 1
            assert analyse_source(ast.unparse(tree).encode()).hash != analyse_source(source).hash, (
                path
            )
    assert edited > len(sources) / 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1", "x = 1.0"),
        ("x = 0.0", "x = -0.0"),
        ("x = 'a'", "x = b'a'"),
        ("x = f'{y!r}'", "x = f'{y!s}'"),
        ("x = f'{y:.2f}'", "x = f'{y:.3f}'"),
        ("x = {**a, 'b': 1}", "x = {'b': 1, **a}"),
        ("f(*a, b)", "f(b, *a)"),
        ("def f(a, /, b): ...", "def f(a, b, /): ..."),
        ("raise ERRORS['disk'](path)", "raise ERRORS['memory'](path)"),
        ("raise ValueError(x)", "raise ValueError(y)"),
        ("if x:\n    pass\nelse:\n    y = 1", "if x:\n    y = 1"),
        ("import a", "import a as b"),
        ("global x", "x"),
    ],
)
def test_a_change_of_meaning_is_seen(before: str, after: str) -> None:
    assert analyse_source(before.encode()).hash != analyse_source(after.encode()).hash


def test_the_text_of_a_tree_has_no_field_that_some_pythons_add_and_no_text_of_an_error() -> None:
    source = b"""'docstring'
def f(x, *, y: int = 1) -> str:
    if x:
        pass
    raise ValueError(f"{x} is wrong", x)
v = [u"a", f"{v!r:>3}", -0.0]  # a comment
"""
    function, assigned = canonical.parse_effective(source).body
    assert canonical._dump(function) == (
        "(FunctionDef args=(arguments args=[(arg arg=str:'x')] kw_defaults=[(Constant value=int:1)]"
        " kwonlyargs=[(arg annotation=(Name id=str:'int') arg=str:'y')])"
        " body=[(If test=(Name id=str:'x')),(Raise exc=(Call args=[(Constant value=str:''),"
        "(Name id=str:'x')] func=(Name id=str:'ValueError')))] name=str:'f'"
        " returns=(Name id=str:'str'))"
    )
    assert canonical._dump(assigned) == (
        "(Assign targets=[(Name id=str:'v')] value=(List elts=[(Constant value=str:'a'),"
        "(JoinedStr values=[(FormattedValue conversion=int:114 format_spec=(JoinedStr values="
        "[(Constant value=str:'>3')]) value=(Name id=str:'v'))]),"
        "(UnaryOp op=(USub ) operand=(Constant value=float:0.0))]))"
    )
    assert list(canonical.definitions(source)) == ["f", "v"]
