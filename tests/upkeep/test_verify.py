"""`stp store verify` reads every byte, names damaged artefacts, and exits with 1."""

import json
from pathlib import Path

import pytest
from fake_store import TINY, finish, pick, small_plan
from typer.testing import CliRunner

from stp.cli import app
from stp.core import store
from stp.core.errors import StpError
from stp.plan.cells import Plan


@pytest.fixture
def plan(tmp_path, monkeypatch) -> Plan:
    """A plan with two finished artefacts, one of them of another plan as well."""
    plan = small_plan(tmp_path, monkeypatch)
    for model in ("persistence", "climatology"):
        finish(plan, pick(plan, "predict", model))
    return plan


def verify(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["store", "verify", *words, "--configfile", str(TINY)])
    return done.exit_code, done.output


def folder_of(plan: Plan, model: str) -> Path:
    return plan.store / pick(plan, "predict", model).folder


def test_a_whole_store_is_said_to_be_whole(plan):
    status, said = verify("--all")
    assert status == 0
    assert "2 verified" in said and "0 damaged" in said


def test_damage_is_named_with_what_to_delete(plan):
    damaged = folder_of(plan, "persistence")
    (damaged / "data" / "file.txt").write_text(
        (damaged / "data" / "file.txt").read_text().swapcase()
    )
    status, said = verify("--all")
    assert status == 1
    assert f"{damaged}/data/file.txt" in said
    assert f"rm -r {damaged}\n" in said
    assert f"rm -r {folder_of(plan, 'climatology')}" not in said
    assert verify("predict", "climatology")[0] == 0
    assert verify("predict", "persistence")[0] == 1
    assert verify()[0] == 1


def test_a_forged_receipt_is_damage(plan):
    forged = folder_of(plan, "climatology")
    (forged / "data" / "file.txt").write_text("a better score")
    receipt = json.loads((forged / "artefact.json").read_text())
    receipt["files"] = {name: vars(file) for name, file in store.list_files(forged).items()}
    (forged / "artefact.json").write_text(json.dumps(receipt))
    status, said = verify("--all")
    assert status == 1
    assert f"rm -r {forged}" in said


def test_receipts_without_sealed_copies_and_lost_files_are_damage(plan):
    (folder_of(plan, "climatology") / store.SEALED).unlink()
    (folder_of(plan, "persistence") / "data" / "file.txt").unlink()
    status, said = verify("--all")
    assert status == 1
    assert ".sealed.json" in said and "file.txt" in said


def test_dropped_data_and_folders_that_nothing_was_finished_in_are_no_damage(plan):
    store.drop(folder_of(plan, "persistence"), "to make room")
    (plan.store / pick(plan, "score", "persistence").folder).mkdir(parents=True)
    assert verify("--all")[0] == 0


def test_a_store_that_is_not_there_is_no_whole_one(plan, monkeypatch):
    monkeypatch.setenv("STP_STORE_DIR", str(plan.store / "elsewhere"))
    done = CliRunner().invoke(app, ["store", "verify", "--all", "--configfile", str(TINY)])
    assert done.exit_code == 1 and isinstance(done.exception, StpError)
    assert "elsewhere" in str(done.exception)
