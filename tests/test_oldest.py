"""The oldest releases that pyproject.toml admits pass the contract tests of the rooms that use most
of them, in an environment of their own.

Golden numbers and fingerprints are compared under constraints.txt only. The tolerances here are
those that the tests state: 1e-5 relative where a network of float32 is compared with a reference,
and 1e-9 or less for float64.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = ("data", "metrics", "models", "collect", "test_store.py", "test_receipts.py")
UNDER_CONSTRAINTS = {
    "tests/models/test_models_e3dlstm.py::test_recall_keeps_no_matrix_and_has_the_loss_and_"
    "gradients_of_the_formula": "a loss in double precision, in which nothing is trained",
    "tests/models/test_models_stochastic.py::test_every_weight_learns[savp]": "six steps against "
    "an adversary, after which the loss is 0.8 % larger",
}
"""Tests that hold for the pinned releases alone, each with the reason."""
PYTEST = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis")
REFERENCES = ("scikit-image", "properscoring", "scores", "statsmodels")


NEIGHBOURS = (
    "earth2studio==0.19.*",
    "lerobot==0.6.*",
    "apache-beam==2.77.*",
    "extremeweatherbench==1.1.*",
)
"""Packages of people who would use this one."""
pytestmark = pytest.mark.long(part="oldest")


@pytest.fixture(scope="module")
def uv() -> str:
    """The resolver."""
    found = shutil.which("uv")
    if found is None:
        pytest.skip("uv is not installed, which resolves the oldest releases: pip install uv")
    return found


def run(*words: str | Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-20_000:]}\n{done.stderr[-5_000:]}"


@pytest.mark.parametrize("neighbour", NEIGHBOURS)
def test_it_can_be_installed_beside_others(neighbour: str, uv: str, tmp_path: Path) -> None:
    """Resolved, and not installed. The releases of some need Python 3.12."""
    (tmp_path / "both.in").write_text(f"{neighbour}\n{ROOT}\n")
    run(
        *(uv, "pip", "compile", "--quiet", "--python-version", "3.12"),
        *(tmp_path / "both.in", "-o", tmp_path / "both.txt"),
    )


def test_contracts_hold_with_the_oldest_releases(uv: str, tmp_path: Path) -> None:
    python, pins = tmp_path / "bin" / "python", tmp_path / "oldest.txt"
    run(uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, tmp_path)
    run(
        *(uv, "pip", "compile", "--quiet", "--resolution", "lowest-direct"),
        *("--python", python, "pyproject.toml", "-o", pins),
    )
    install = (uv, "pip", "install", "--quiet", "--python", python)
    run(*install, "-r", pins, *PYTEST, *REFERENCES)
    run(*install, "--no-deps", "-e", ".")
    run(
        *(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not long"),
        *(f"--deselect={name}" for name in UNDER_CONSTRAINTS),
        *(f"tests/{name}" for name in TESTS),
    )
