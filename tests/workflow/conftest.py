"""What several modules begin with is made once."""

import fcntl
from pathlib import Path

import pytest
from checkout import TABLE, Checkout


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Checkout:
    """A checkout whose table was made at the tiny scale, for all workers; begin with a copy."""
    base = tmp_path_factory.getbasetemp()
    folder: Path = (base if worker_id == "master" else base.parent) / "tiny"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = Checkout(folder / "checkout", folder / "shared")
        if not folder.exists():
            Checkout.create(made.folder, made.shared)
            made.make_table()
        assert (made.folder / TABLE).is_file(), "another worker could not make it"
    return made
