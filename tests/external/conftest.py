"""A world that all tests of models elsewhere share; nobody changes what is prepared in it."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from elsewhere import ROOT, World, dots, field


def others(folder, names):
    """Entries that no test here needs, of two hundred that each plan would read."""
    room = Path(folder).name
    kept = {"models": {"persistence.yaml", "convlstm.yaml"}, "datasets": set()}
    return set(names) - kept[room] if room in kept else set()


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """Both datasets prepared, and their windows exported as windows-<name>."""
    folder = tmp_path_factory.mktemp("elsewhere")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STP_STORE_DIR", str(folder / "store"))
        patch.setenv("STP_RAW_DIR", str(folder / "raw"))
        (folder / "raw").mkdir()
        np.save(folder / "raw" / "dots.npy", dots())
        field().to_netcdf(folder / "raw" / "field.nc")
        shutil.copytree(ROOT / "config", folder / "config", ignore=others)
        world = World(folder)
        world.prepare(world.plan(), "dots", "field")
        for name in ("dots", "field"):
            world.export(name, folder / f"windows-{name}", kind="npz", with_truth=True)
    return world


@pytest.fixture
def world(prepared, monkeypatch):
    """The same, without what other tests imported."""
    monkeypatch.setenv("STP_STORE_DIR", str(prepared.folder / "store"))
    monkeypatch.setenv("STP_RAW_DIR", str(prepared.folder / "raw"))
    yield prepared
    shutil.rmtree(prepared.folder / "raw" / "external", ignore_errors=True)
    (prepared.facts / "models" / "theirs.yaml").unlink(missing_ok=True)
