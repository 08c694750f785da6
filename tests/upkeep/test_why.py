"""Why something would be made again, in words; and declaring that it need not be."""

import json
import os
import shutil
from pathlib import Path

import pytest
from fake_store import TINY, finish, finish_all, hold, pick, small_plan, tried
from package_copy import copy_package

from stp.core import store
from stp.core.canonical import definitions
from stp.core.disk import write_text
from stp.core.errors import StpError
from stp.core.provenance import versions
from stp.plan import config, manifests
from stp.plan.accepted import entry_path
from stp.plan.cells import Plan
from stp.plan.checked_config import merge, read_yaml
from stp.run import runner
from stp.run.status import artefact_states
from stp.upkeep.accept import accept, undo
from stp.upkeep.differences import OlderArtefacts, changed_names
from stp.upkeep.why import explain, explain_missing, select_artefacts
from stp.upkeep.why_text import lines_of_groups, lines_of_one, print_reasons

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A folder with a store in which all artefacts are finished."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        finish_all(small_plan(folder, patch))
    return folder


@pytest.fixture
def plan(finished, tmp_path, monkeypatch) -> Plan:
    """A tiny plan whose artefacts are all there."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return small_plan(tmp_path, monkeypatch)


@pytest.fixture
def copy(tmp_path) -> Path:
    """A copy of the package, to edit."""
    (tmp_path / "copy").mkdir()
    copy_package(tmp_path / "copy")
    return tmp_path / "copy"


def edited(copy: Path, module: str, old: str, new: str) -> Plan:
    """The tiny plan of an edited copy."""
    path = copy.joinpath(*module.split(".")).with_suffix(".py")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return Plan(config.load(TINY), copy)


def changed(**keys) -> Plan:
    """The tiny plan with other settings."""
    return Plan(config.load(merge(read_yaml(TINY), keys)))


def reasons(plan: Plan, stage: str, model: str = "", dataset: str = "enso") -> list[str]:
    artefact = pick(plan, stage, model, dataset)
    return explain(
        plan, artefact, OlderArtefacts(plan), artefact_states(plan)[artefact.folder]
    ).because


def test_nothing_to_explain_where_all_is_there(plan):
    assert explain_missing(plan) == []
    assert len(list(lines_of_groups([]))) == 1


def packages(plan: Plan, stage: str, **other: str) -> None:
    """Let an artefact have been made with other versions than those of now."""
    folder = plan.store / pick(plan, stage, "simvpv2").folder
    receipt = json.loads((folder / "artefact.json").read_text())
    receipt["provenance"]["packages"] = {**versions(), **other}
    for name in ("artefact.json", ".sealed.json"):
        (folder / name).write_text(json.dumps(receipt))


def test_other_versions_of_packages_are_named(plan, copy):
    packages(plan, "train", torch="2.12.0", numpy="2.3.1")
    (_, told) = reasons(plan, "train", "simvpv2")
    here = versions()
    assert "torch 2.12.0, numpy 2.3.1" in told
    assert f"torch {here['torch']}, numpy {here['numpy']}" in told
    packages(plan, "predict")
    assert len(reasons(plan, "predict", "simvpv2")) == 1
    now = edited(copy, "stp.models.simvpv2", "def forward(self, x", "def forward(self, y_, x")
    artefact = pick(now, "train", "simvpv2")
    lines = list(
        lines_of_one(
            explain(now, artefact, OlderArtefacts(now), artefact_states(now)[artefact.folder])
        )
    )
    assert any(told in line for line in lines)


def test_versions_count_where_the_scale_file_says_so(plan):
    """All that is made with another one is made again, and why says that."""
    counted = changed(versions=["torch", "numpy"])
    assert not {*counted.artefacts} & {*plan.artefacts}
    recipe = pick(counted, "train", "simvpv2").recipe
    assert recipe["versions"] == {name: versions()[name] for name in ("torch", "numpy")}
    assert pick(plan, "train", "simvpv2").recipe == {
        key: value for key, value in recipe.items() if key != "versions"
    }
    why = reasons(counted, "train", "simvpv2")
    here = versions()["torch"]
    assert f"train recipe of simvpv2: versions.torch: unset -> {here}" in why
    with pytest.raises(StpError, match="'torhc'"):
        changed(versions=["torhc"])


def test_a_changed_function_is_named_with_its_module(plan, copy):
    now = edited(copy, "stp.models.simvpv2", "def forward(self, x", "def forward(self, y_, x")
    (why,) = reasons(now, "train", "simvpv2")
    assert "stp.models.simvpv2" in why and ".forward" in why
    # the forecast has the same root, once, although model and forecast both import the module
    assert reasons(now, "predict", "simvpv2") == [why]
    assert reasons(now, "score", "simvpv2") == [why]
    assert {reason.artefact.work for reason in explain_missing(now)} == {
        "train simvpv2", "predict simvpv2", "score simvpv2",
    }  # fmt: skip


def test_a_changed_setting_is_named_with_its_values(plan):
    now = changed(models={"convlstm": {"train": {"lr": 0.002}}})
    why = "train recipe of convlstm: train.lr: 0.001 -> 0.002"
    assert reasons(now, "train", "convlstm") == [why]
    assert reasons(now, "score", "convlstm") == [why]
    now = changed(predict={"precision": "float32"})
    assert "predict recipe of convlstm: predict.precision: unset -> float32" in reasons(
        now, "predict", "convlstm"
    )


def test_a_change_of_the_data_is_told_at_everything_that_is_made_of_them(plan):
    now = changed(datasets={"enso": {"prepare": {"stride": {"test": 12}}}})
    why = "prepare recipe of enso: options.stride.test: 24 -> 12"
    for stage, model in (("prepare", ""), ("train", "simvpv2"), ("score", "persistence")):
        assert reasons(now, stage, model) == [why]
    artefact = pick(now, "train", "simvpv2")
    lines = list(
        lines_of_one(
            explain(now, artefact, OlderArtefacts(now), artefact_states(now)[artefact.folder])
        )
    )
    assert "simvpv2 on enso" in lines[0] and any(why in line for line in lines)


def test_raw_files_that_are_declared_otherwise_are_told(plan, copy):
    now = edited(copy, "stp.datasets.enso.generator", "def ", "CHANGED = 1\n\n\ndef ")
    (why,) = reasons(now, "prepare")
    assert "enso" in why and "synthetic-" in why
    releases = {"official": {"files": [{"path": "enso/a.nc", "bytes": 1}]}}
    before = changed(datasets={"enso": {"release": "official", "releases": releases}})
    finish(before, pick(before, "prepare"))
    releases = {"official": {"files": [{"path": "enso/b.nc"}]}}
    now = changed(datasets={"enso": {"release": "official", "releases": releases}})
    assert any("config/datasets/enso.yaml" in why for why in reasons(now, "prepare"))


def test_the_nearest_of_several_older_ones_is_compared(plan):
    for lr in (0.1, 0.3):  # two keys away
        far = changed(train={"lr": lr, "batch_size": 2})
        finish(far, pick(far, "train", "convlstm"))
    now = changed(train={"lr": 0.2})
    assert reasons(now, "train", "convlstm") == ["train recipe of convlstm: train.lr: 0.001 -> 0.2"]


def test_metrics_that_come_and_go_are_named(plan, copy):
    artefact = pick(plan, "score", "convlstm", "moving_mnist")
    (first, _), *others = artefact.recipe["conventions"].items()
    recipe = {**artefact.recipe, "conventions": {**dict(others), "new.one": {}}}
    shutil.rmtree(plan.store / artefact.folder)
    older = artefact.folder[:-16] + "0" * 16
    finish(plan, artefact, recipe=recipe)
    (plan.store / artefact.folder).rename(plan.store / older)
    (why,) = reasons(plan, "score", "convlstm", "moving_mnist")
    assert "conventions" in why and "new.one" in why and first in why


def test_what_was_never_made_or_failed_or_runs(plan):
    never, failed, runs = (
        pick(plan, "train", model) for model in ("convlstm", "simvpv2", "climatology")
    )
    for artefact in (never, failed, runs):
        shutil.rmtree(plan.store / artefact.folder)
    state = runner.state_folder(plan, failed.folder)
    tried(state, "out of memory", "Slurm says OUT_OF_MEMORY")
    write_text(state / "failure.json", '{"error": "no such file", "log": "results/logs/x.log"}')
    write_text(state / "training.pt", "")
    hold(runner.state_folder(plan, runs.folder), slurm_job="42")
    (similar,) = reasons(plan, "train", "convlstm")
    error, log, same, attempt, _ = reasons(plan, "train", "simvpv2")
    assert "no such file" in error and "results/logs/x.log" in log and same == similar
    assert "1" in attempt and "OUT_OF_MEMORY" in attempt
    reason = explain(plan, runs, OlderArtefacts(plan), artefact_states(plan)[runs.folder])
    assert os.uname().nodename in reason.verdict and "42" in reason.verdict


def test_what_is_there_but_not_as_it_should_be(plan):
    artefact = pick(plan, "prepare")
    folder = plan.store / artefact.folder

    def verdict() -> str:
        reason = explain(
            plan, artefact, OlderArtefacts(plan), artefact_states(plan)[artefact.folder]
        )
        return f"{reason.verdict}: {reason.because[0]}"

    assert verdict().startswith("is done: made 20") and verdict().endswith("in 1:01 min on node7")
    receipt = folder / "artefact.json"
    content = json.loads(receipt.read_text())
    content["provenance"] |= {"host": None, "seconds": None}
    receipt.write_text(json.dumps(content))
    assert verdict().endswith("in 0 s on ?")
    receipt.unlink()
    assert verdict().startswith("would be adopted: its receipt was deleted")
    (folder / "data" / "file.txt").write_text("")
    assert verdict().startswith("is damaged: 1 of 1 files") and "data/file.txt" in verdict()
    store.drop(folder, "room")
    assert verdict().startswith("is made again only if a score needs it")


def test_reasons_are_told_apart_by_an_empty_line(plan, capsys):
    print_reasons(plan, ["convlstm"])
    said = capsys.readouterr().out.splitlines()
    assert said[0] and "" in said


def test_artefacts_with_the_same_reasons_are_told_together(plan):
    now = changed(models={"convlstm": {"train": {"lr": 0.002}}})
    lines = list(lines_of_groups(explain_missing(now)))
    assert "6" in lines[0] and "train.lr: 0.001 -> 0.002" in lines[1]
    assert any("train" in line and "convlstm on enso, seed 0" in line for line in lines[2:])


def test_words_choose_artefacts_and_wrong_words_are_told(plan):
    assert {a.stage for a in select_artefacts(plan, ["simvpv2", "enso"])} == {
        "train",
        "predict",
        "score",
    }
    (one,) = select_artefacts(plan, ["train", "simvpv2", "enso"])
    assert select_artefacts(plan, [str(plan.store / one.receipt)]) == [one]
    with pytest.raises(StpError, match="simvpv2"):
        select_artefacts(plan, ["simvp2", "enso"])


# Artefacts of older code that are declared current


def test_what_differs_in_its_code_alone_can_be_accepted_and_taken_back(plan, copy):
    """An edit of a model: its trainings and forecasts are accepted, and scores follow."""
    now = edited(copy, "stp.models.convlstm", "class ", "CHANGED = 1\n\n\nclass ")
    before = {reason.artefact.folder for reason in explain_missing(now)}

    def again() -> Plan:
        return Plan(config.load(TINY), copy)

    entries = accept(again, ["convlstm"], "a constant that nothing reads")
    assert {entry.stage for entry in entries} == {"train", "predict"}
    assert {entry.reason for entry in entries} == {"a constant that nothing reads"}
    assert explain_missing(again()) == []
    train = pick(again(), "train", "convlstm")
    assert train.folder == pick(plan, "train", "convlstm").folder
    told = " ".join(reasons(again(), "train", "convlstm"))
    assert "a constant that nothing reads" in told
    cells = {cell.key.model: cell for cell in manifests.manifest(again(), "short_term").cells}
    assert "a constant that nothing reads" in (cells["convlstm"].accepted or "")
    assert cells["persistence"].accepted is None

    taken_back = undo(again(), ["convlstm"])
    assert {entry.new for entry in taken_back} == {entry.new for entry in entries}
    assert {reason.artefact.folder for reason in explain_missing(again())} == before
    with pytest.raises(StpError, match="convlstm"):
        undo(again(), ["convlstm"])


def test_what_differs_in_more_than_its_code_is_not_accepted(plan, copy):
    edited(copy, "stp.models.convlstm", "class ", "CHANGED = 1\n\n\nclass ")
    scale = merge(read_yaml(TINY), {"train": {"lr": 0.1}})
    with pytest.raises(StpError, match=r"train recipe of convlstm: train\.lr"):
        accept(lambda: Plan(config.load(scale), copy), ["convlstm"], "faster")
    with pytest.raises(StpError, match="reason"):
        accept(lambda: Plan(config.load(TINY), copy), ["convlstm"], " ")


def test_an_entry_counts_while_the_older_artefact_is_there(plan, copy):
    edited(copy, "stp.models.convlstm", "class ", "CHANGED = 1\n\n\nclass ")
    accept(lambda: Plan(config.load(TINY), copy), ["train", "convlstm", "enso"], "no change")
    older = pick(plan, "train", "convlstm")
    shutil.rmtree(plan.store / older.folder)
    assert pick(Plan(config.load(TINY), copy), "train", "convlstm").folder != older.folder


def test_a_file_that_is_no_entry_is_refused(plan):
    path = entry_path(plan.store, "0" * 16)
    write_text(path, "{}")
    with pytest.raises(StpError, match=str(path)):
        Plan(config.load(TINY))


def test_definitions_name_what_an_edit_touches():
    before = definitions(b'''
import os
LIMIT = 1
class Model(Base):
    """A model."""
    width: int = 3
    def forward(self, x):
        return x  # the identity
def helper(): pass
''')
    after = definitions(b'''
import os
LIMIT = 2
class Model(Base):
    """The model."""
    width: int = 4
    def forward(self, x):
        return (x)
def other(): pass
''')
    assert changed_names(before, after) == ["LIMIT", "Model.width", "helper (removed)",
                                            "other (new)"]  # fmt: skip
    assert changed_names(before, before) == ["the order of its definitions"]
