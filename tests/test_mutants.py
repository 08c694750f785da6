"""The tool that changes the code, on a package of one module and a test of half of it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MODULE = """\
def half(x):
    return x / 2


def untested(x):
    return x - 1
"""
TEST = """\
from stp.metrics import half


def test_half():
    assert half.half(6) == 3
"""


def test_a_change_is_noticed_where_a_test_looks(tmp_path):
    for name in ("cosmic_ray", "pytest_cov"):
        pytest.importorskip(name, reason="tests/mutants.py: `make mutants` installs what it needs")
    files = {
        "stp/__init__.py": "",
        "stp/metrics/__init__.py": "",
        "stp/metrics/half.py": MODULE,
        "tests/test_half.py": TEST,
        "tests/mutants_alike.yaml": "[]",
        ".gitignore": "results/\n",
        "pytest.ini": "[pytest]\npythonpath = .\nmarkers =\n    long\n    slow\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in ("mutants.py", "mutant_sample.py"):
        shutil.copy(HERE / name, tmp_path / "tests")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    command = [sys.executable, "tests/mutants.py", "--room", "metrics", "--workers", "1"]

    def run(*words: str) -> str:
        done = subprocess.run([*command, *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    said = run()
    lines = (tmp_path / "results" / "mutants" / "results.jsonl").read_text().splitlines()
    results = {one["name"]: one for one in map(json.loads, lines)}.values()
    assert {(one["old"], one["by"]) for one in results} == {
        ("return x / 2", "tests/test_half.py::test_half"),
        ("return x - 1", ""),
    }
    survivors = [one for one in results if one["outcome"] == "survived"]
    noticed, (_, *others) = len(results) - len(survivors), survivors
    for one in survivors:
        assert f"survived: stp/metrics/half.py:6\n- return x - 1\n+ {one['new']}\n" in said
    assert f"| all | {len(results)} | 0 | {noticed} |" in said
    # Survivors meet a new test; one is said to alter nothing, which it does only if it survives.
    for name, text in {
        "test_half.py": TEST.replace("== 3", "== 3 and half.untested(3) == 2"),
        "mutants_alike.yaml": json.dumps([{"file": "stp/metrics/half.py", **survivors[0]}]),
    }.items():
        (tmp_path / "tests" / name).write_text(text)
    said = run("--again")
    assert said.startswith(f"0 changes to try\n{len(others)} changes to try\n")
    assert f"| all | {len(results)} | 1 | {noticed + len(others)} | 100% |" in said
