"""Fixtures of the search tests: each search runs in a folder of its own."""

from pathlib import Path

import pytest
from bar_plan import SCALE, SPACE, put_data

from stp.plan.cells import Plan
from stp.search.space import Space


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """The plan; the working directory is one of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("STP_RAW_DIR", str(tmp_path / "raw"))
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    made = Plan.load(SCALE)
    put_data(made)
    return made


@pytest.fixture
def space() -> Space:
    """Rates from far too low to far too high, in a small budget."""
    return Space.of(SPACE, "space")
