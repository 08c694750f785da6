"""Makes small stores importable, and one that all tests of a file look at."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "collect"))


@pytest.fixture(scope="module")
def database(tmp_path_factory) -> Path:
    """results.duckdb of a small store: for looking, not for damage."""
    from exported_store import make_results

    folder = tmp_path_factory.mktemp("made") / "results"
    return make_results(folder, f"cannot read {folder}/weights/alexnet.pt")
