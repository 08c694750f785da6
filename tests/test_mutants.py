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
ALIKE = """\
- {file: stp/metrics/half.py, old: return x / 2, new: return x / 1, reason: unused}
"""


def test_a_change_is_noticed_where_a_test_looks(tmp_path):
    for name in ("cosmic_ray", "pytest_cov"):
        pytest.importorskip(name, reason="tests/mutants.py: `make mutants` installs what it needs")
    files = {
        "stp/__init__.py": "",
        "stp/metrics/__init__.py": "",
        "stp/metrics/half.py": MODULE,
        "tests/test_half.py": TEST,
        "tests/mutants_alike.yaml": ALIKE,
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
    results = [json.loads(line) for line in lines]
    outcomes = {(one["old"], one["outcome"]) for one in results}
    assert outcomes == {("return x / 2", "noticed"), ("return x - 1", "survived")}
    assert {one["by"] for one in results} == {"tests/test_half.py::test_half", ""}
    assert "survived: stp/metrics/half.py:6\n- return x - 1\n+ " in said
    # What is known is not tried again, but for what survived, when it is asked for.
    assert f"{len(results)} changes, 0 to try" in run()
    test = TEST + "    assert half.untested(3) == 2\n"
    (tmp_path / "tests" / "test_half.py").write_text(test)
    assert "| 0 | " in run() and f"| {len(results)} | 100% |" in run("--again")
