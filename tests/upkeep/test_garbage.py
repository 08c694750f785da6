"""Only what nobody needs goes: not what a plan, another checkout or a living process has."""

import json
import shutil
import time
from pathlib import Path

import pytest
from fake_store import DAY, TINY, finish, finish_all, grow_old, hold, pick, small_plan
from typer.testing import CliRunner

from stp.cli import app
from stp.core import store
from stp.core.errors import StpError
from stp.plan import config
from stp.plan.cells import Plan
from stp.plan.checked_config import merge, read_yaml
from stp.run import runner
from stp.upkeep import garbage
from stp.upkeep.claims import claim, read_claims
from stp.upkeep.inventory import artefacts


@pytest.fixture
def plan(tmp_path, monkeypatch) -> Plan:
    return small_plan(tmp_path, monkeypatch)


@pytest.fixture
def other() -> Plan:
    """The same cells after a change of a learning rate: other trainings, forecasts and scores."""
    return Plan(config.load(merge(read_yaml(TINY), {"train": {"lr": 0.5}})))


def needs(plan: Plan) -> garbage.Needed:
    return garbage.needed_artefacts([plan], [])


def folders(found: garbage.Garbage) -> set[str]:
    return {item.folder for item in found.deletable}


def test_what_no_plan_needs_is_found_and_what_a_plan_needs_stays(plan, other):
    finish_all(plan, days_old=10)
    for folder, artefact in other.artefacts.items():
        if folder not in plan.artefacts:
            finish(other, artefact, days_old=10)
    superseded = set(other.artefacts) - set(plan.artefacts)
    # 2 datasets x 2 networks x (train, predict, score)
    assert len(superseded) == 12
    found = garbage.find(plan.store, needs(plan))
    assert folders(found) == superseded
    garbage.delete(plan.store, found.deletable, lambda item: None)
    assert set(artefacts(plan.store)) == set(plan.artefacts)
    assert not list(plan.store.rglob("*.garbage"))


def test_the_young_stay(plan):
    finish(plan, pick(plan, "train", "convlstm"), days_old=6.9)
    found = garbage.find(plan.store, {})
    assert folders(found) == set() and found.young == 1
    assert any("7 days" in line for line in garbage.lines(found, [], 7))
    found = garbage.find(plan.store, {}, older_than=6 * DAY)
    assert len(folders(found)) == 1 and found.young == 0


def test_another_checkout_keeps_what_it_claimed(plan, other, tmp_path):
    finish_all(plan, days_old=10)
    path = claim(other, tmp_path / "theirs" / "results")
    (theirs,) = read_claims(plan.store)
    assert theirs.checkout == str(tmp_path / "theirs") and theirs.scale == "tiny"
    found = garbage.find(plan.store, garbage.needed_artefacts([], [theirs]))
    assert folders(found) == set(plan.artefacts) - set(other.artefacts)
    # started again there, with our settings: the claim is replaced, not added to
    assert claim(plan, tmp_path / "theirs" / "results") == path
    assert garbage.needed_artefacts([], read_claims(plan.store)) == needs(plan)
    # a second checkout, and a second machine's checkout at the same path, are others
    claim(plan, tmp_path / "ours" / "results")
    shutil.rmtree(tmp_path / "theirs")
    claim(plan, tmp_path / "theirs" / "results")
    assert len(read_claims(plan.store)) == 3


def test_claims_count_until_they_are_older_than_said(plan, other, tmp_path, monkeypatch, capsys):
    finish_all(plan, days_old=10)
    old = str(finish(other, pick(other, "train", "convlstm"), days_old=10).relative_to(plan.store))
    now = time.time()
    monkeypatch.setattr(garbage.time, "time", lambda: now)
    path = claim(other, tmp_path / "theirs" / "results")
    path.write_text(json.dumps({**json.loads(path.read_text()), "time": now - 3 * DAY}))
    for forget_after, counts in ((None, True), (4, True), (3, True), (2, False)):
        garbage.run_gc([TINY], False, days=7, forget_after=forget_after, yes=False)
        said = capsys.readouterr().out
        assert ("needed by" in said, old in said) == (counts, not counts), forget_after


def test_an_unreadable_claim_stops_everything(plan, tmp_path):
    path = claim(plan, tmp_path / "results")
    path.write_text("{")
    with pytest.raises(StpError, match=str(path)):
        read_claims(plan.store)


def test_what_is_being_made_stays_and_so_does_what_it_may_need(plan):
    running, old = pick(plan, "train", "convlstm"), pick(plan, "prepare")
    finish(plan, old, days_old=100)
    hold(plan.store / "state" / running.folder)
    found = garbage.find(plan.store, {})
    assert folders(found) == set()
    assert found.running == [running.folder]
    # a plan that has it tells what it needs: the rest may go
    wanted = {running.folder: []}
    assert folders(garbage.find(plan.store, wanted)) == {old.folder}


def test_what_is_claimed_or_held_since_it_was_listed_stays(plan, other, tmp_path):
    """A run may begin while a large store is searched."""
    for artefact in (old := pick(plan, "prepare"), pick(plan, "train", "convlstm")):
        finish(plan, artefact, days_old=10)
    found = garbage.find(plan.store, {})
    assert len(found.deletable) == 2
    claim(plan, tmp_path / "results")
    garbage.delete(plan.store, found.deletable, lambda item: None)
    assert all(store.is_complete(plan.store / item.folder) for item in found.deletable)
    for path in (plan.store / "state" / "plans").iterdir():
        path.unlink()
    running = plan.store / "state" / pick(other, "train", "simvpv2").folder
    hold(running)  # no plan has it: it may need any of them
    garbage.delete(plan.store, found.deletable, lambda item: None)
    assert all(store.is_complete(plan.store / item.folder) for item in found.deletable)
    (running / "lease.json").unlink()
    garbage.delete(plan.store, found.deletable, lambda item: None)
    assert not (plan.store / old.folder).exists()


def test_what_is_held_just_before_it_loses_its_name_gets_it_back(plan, monkeypatch):
    artefact = pick(plan, "train", "convlstm")
    state = plan.store / "state" / artefact.folder
    state.mkdir(parents=True)
    (state / "training.pt").write_text("weights")
    grow_old(state, 10)
    found = garbage.find(plan.store, {})
    rename = Path.rename

    def late(path: Path, target: Path) -> Path:
        if path == state:
            hold(state)
        return rename(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", late)
        garbage.delete(plan.store, found.deletable, lambda item: None)
    assert (state / "training.pt").read_text() == "weights"
    assert not list(plan.store.rglob("*.garbage"))


def test_predictions_that_are_scored_since_they_were_listed_stay(plan):
    predictions, scores = pick(plan, "predict", "convlstm"), pick(plan, "score", "convlstm")
    folder = finish(plan, predictions, days_old=10)
    finish(plan, scores, days_old=10)
    found = garbage.find_predictions(plan.store, needs(plan))
    looking = plan.store / "state" / scores.folder.replace(scores.fingerprint, "0" * 16)
    hold(looking)
    garbage.delete(plan.store, found.deletable, lambda item: None)
    assert store.is_complete(folder)


def test_two_that_delete_at_once_do_not_hinder_each_other(plan, monkeypatch):
    artefact = pick(plan, "prepare")
    folder = finish(plan, artefact, days_old=10)
    found = garbage.find(plan.store, {})
    rename = Path.rename

    def taken(path: Path, target: Path) -> Path:
        if path == folder:
            shutil.rmtree(folder)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", taken)
    garbage.delete(plan.store, found.deletable, lambda item: None)
    assert not folder.exists()


def test_leftovers_of_killed_processes_go_after_a_day(plan):
    artefact = pick(plan, "train", "convlstm")
    partial = store.temporary_folder(plan.store / artefact.folder)
    (partial / "half.pt").write_text("half")
    grow_old(partial, 0.9)
    assert folders(garbage.find(plan.store, {}, older_than=0)) == set()
    grow_old(partial, 1.1)
    hold(plan.store / "state" / artefact.folder)
    assert folders(garbage.find(plan.store, {artefact.folder: []}, older_than=0)) == set()
    (plan.store / "state" / artefact.folder / "lease.json").unlink()
    found = garbage.find(plan.store, {artefact.folder: []}, older_than=0)
    assert folders(found) == {str(partial.relative_to(plan.store))}


def test_state_goes_when_its_artefact_is_finished_or_not_planned(plan):
    finished, planned, dropped = (
        pick(plan, "train", model) for model in ("convlstm", "simvpv2", "climatology")
    )
    finish(plan, finished, days_old=10)
    for artefact in (finished, planned, dropped):
        state = plan.store / "state" / artefact.folder
        state.mkdir(parents=True)
        (state / "training.pt").write_text("weights")
        grow_old(state, 10)
    found = garbage.find(plan.store, {finished.folder: [], planned.folder: []})
    assert folders(found) == {f"state/{finished.folder}", f"state/{dropped.folder}"}


def test_predictions_go_once_their_cell_is_scored_and_receipts_stay(plan):
    predictions, scores = pick(plan, "predict", "convlstm"), pick(plan, "score", "convlstm")
    folder = finish(plan, predictions, days_old=10)
    wanted = needs(plan)
    assert folders(garbage.find_predictions(plan.store, wanted)) == set()
    finish(plan, scores, days_old=10)
    # another plan needs a second family of scores of this cell, and has not got it yet
    second = "perceptual" + scores.folder.removeprefix("scores")
    assert (
        folders(garbage.find_predictions(plan.store, wanted | {second: [predictions.folder]}))
        == set()
    )
    # so does a network that looks at them, for another plan
    cell = predictions.folder.removeprefix("predictions/").rpartition("/")[0]
    looking = plan.store / "state" / "features" / "predictions" / cell / "a" / "b" / ("0" * 16)
    hold(looking)
    assert folders(garbage.find_predictions(plan.store, wanted)) == set()
    (looking / "lease.json").unlink()
    found = garbage.find_predictions(plan.store, wanted)
    assert folders(found) == {predictions.folder}
    assert found.deletable[0].bytes == len(predictions.label)

    garbage.delete(plan.store, found.deletable, lambda item: None)
    assert sorted(path.name for path in folder.iterdir()) == [
        ".sealed.json", "artefact.json", "dropped.json",
    ]  # fmt: skip
    assert not store.is_complete(folder) and not store.adopt(folder)
    assert folders(garbage.find_predictions(plan.store, wanted)) == set()


def test_dropped_data_that_are_needed_again_are_called_back_with_their_inputs(plan):
    predictions, model = pick(plan, "predict", "convlstm"), pick(plan, "train", "convlstm")
    for artefact in (predictions, model, pick(plan, "prepare")):
        finish(plan, artefact)
    store.drop(plan.store / predictions.folder, "to make room")
    store.drop(plan.store / model.folder, "to make room")
    store.call_back(plan.store, predictions.folder)
    # Snakemake makes again what is declared and missing; the data of the dataset are there
    assert not (plan.store / predictions.receipt).exists()
    assert not (plan.store / model.receipt).exists()
    assert (plan.store / pick(plan, "prepare").receipt).exists()
    folder = finish(plan, predictions)
    assert store.is_complete(folder)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_a_score_that_needs_dropped_predictions_says_what_happens_next(plan):
    for artefact in (pick(plan, "prepare"), pick(plan, "predict", "persistence")):
        folder = finish(plan, artefact)
    store.drop(folder, "to make room")
    with pytest.raises(StpError, match="snakemake"):
        runner.make(plan, pick(plan, "score", "persistence"))
    assert not (folder / "artefact.json").exists()


def test_the_verb_lists_and_deletes_only_with_yes(plan, other):
    finish_all(plan, days_old=10)
    old = finish(other, pick(other, "train", "convlstm"), days_old=10)
    given = ["store", "gc", "--configfile", str(TINY)]
    listed = CliRunner().invoke(app, given)
    assert listed.exit_code == 0, listed.exception
    assert str(old.relative_to(plan.store)) in listed.stdout
    assert old.exists()
    done = CliRunner().invoke(app, [*given, "--yes"])
    assert f"deleted {old.relative_to(plan.store)}" in done.stdout
    assert not old.exists() and set(artefacts(plan.store)) == set(plan.artefacts)


def test_scale_files_that_name_several_stores_are_refused(tmp_path, monkeypatch):
    paths = []
    for name in ("a", "b"):
        scale = merge(read_yaml(TINY), {"paths": {"store": str(tmp_path / name)}})
        paths.append(tmp_path / f"{name}.yaml")
        paths[-1].write_text(json.dumps(scale))
    given = [word for path in paths for word in ("--configfile", str(path))]
    monkeypatch.setenv("STP_STORE_DIR", "")
    done = CliRunner().invoke(app, ["store", "gc", *given])
    assert isinstance(done.exception, StpError)
    assert all(str(tmp_path / name) in str(done.exception) for name in ("a", "b"))


def test_a_store_that_is_not_there_is_not_searched(plan, monkeypatch):
    monkeypatch.setenv("STP_STORE_DIR", str(plan.store / "elsewhere"))
    with pytest.raises(StpError, match="elsewhere"):
        garbage.run_gc([TINY], False, days=7, forget_after=None, yes=False)
