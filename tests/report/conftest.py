"""Makes small stores importable, and one that all tests of the report share."""

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / name) for name in ("collect", "score", "render")]


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """results.duckdb of a small store; not to be changed."""
    from report_store import make_store

    return make_store(tmp_path_factory.mktemp("report"))
