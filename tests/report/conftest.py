"""Makes small stores importable, and one that all tests of the report share."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "collect"))
sys.path.insert(0, str(Path(__file__).parents[1] / "score"))
sys.path.insert(0, str(Path(__file__).parents[1] / "render"))


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """results.duckdb of a small store; not to be changed."""
    from report_store import make_store

    return make_store(tmp_path_factory.mktemp("report"))
