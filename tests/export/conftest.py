"""Makes small stores importable, and one that all tests of a file look at."""

from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def database(tmp_path_factory) -> Path:
    """results.duckdb of a small store: for looking, not for damage."""
    from exported_store import make_results

    folder = tmp_path_factory.mktemp("made") / "results"
    return make_results(folder, f"cannot read {folder}/weights/alexnet.pt")
