"""Why something would be made again, in words; and the proof that it need not be."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch
import yaml
import zarr
from fake_store import TINY, finish, finish_all, hold, pick, small_plan, tried

from stp.core import store
from stp.core.canonical import definitions
from stp.core.disk import write_text
from stp.core.errors import StpError
from stp.core.job import Job, silent
from stp.core.provenance import versions
from stp.plan import config
from stp.plan.cells import Plan
from stp.plan.strict import merge, read_yaml
from stp.run import runner
from stp.run.status import artefact_states
from stp.upkeep import prove as proof
from stp.upkeep.differences import Past, changed_names
from stp.upkeep.same import compare
from stp.upkeep.why import chosen, equivalents, explain, undone
from stp.upkeep.why_text import entry, lines_of_groups, lines_of_one, suggestion, tell

ROOT = Path(__file__).parents[2]


@pytest.fixture
def plan(tmp_path, monkeypatch) -> Plan:
    """A tiny plan whose artefacts are all there."""
    plan = small_plan(tmp_path, monkeypatch)
    finish_all(plan)
    return plan


@pytest.fixture
def copy(tmp_path) -> Path:
    """A copy of the package, to edit."""
    shutil.copytree(ROOT / "stp", tmp_path / "copy" / "stp")
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
    return explain(plan, artefact, Past(plan), artefact_states(plan)[artefact.folder]).because


def test_nothing_to_explain_where_all_is_there(plan):
    assert undone(plan) == []
    assert list(lines_of_groups([])) == [
        "nothing would be made: every artefact of the plan is there"
    ]


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
    assert told == (
        f"made with torch 2.12.0, numpy 2.3.1 (here: torch {here['torch']}, numpy {here['numpy']})"
    )
    packages(plan, "predict")
    assert len(reasons(plan, "predict", "simvpv2")) == 1
    now = edited(copy, "stp.models.simvpv2", "def forward(self, x", "def forward(self, y_, x")
    artefact = pick(now, "train", "simvpv2")
    lines = list(
        lines_of_one(explain(now, artefact, Past(now), artefact_states(now)[artefact.folder]))
    )
    assert f"  - it was {told}; versions count only where the scale file says so" in lines


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
    with pytest.raises(StpError, match=r"no installed package 'torhc'(.|\n)*versions"):
        changed(versions=["torhc"])


def test_a_changed_function_is_named_with_its_module(plan, copy):
    now = edited(copy, "stp.models.simvpv2", "def forward(self, x", "def forward(self, y_, x")
    (why,) = reasons(now, "train", "simvpv2")
    assert why.startswith("module stp.models.simvpv2 changed: ") and ".forward" in why
    # the forecast has the same root, once, although model and forecast both import the module
    assert reasons(now, "predict", "simvpv2") == [why]
    assert reasons(now, "score", "simvpv2") == [why]
    assert {reason.artefact.work for reason in undone(now)} == {
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
        lines_of_one(explain(now, artefact, Past(now), artefact_states(now)[artefact.folder]))
    )
    assert lines[0] == "train of simvpv2 on enso, seed 0: would be made"
    assert f"  - its data changed: {why}" in lines


def test_raw_files_that_are_declared_otherwise_are_told(plan, copy):
    now = edited(copy, "stp.fetch.generators.enso", "def ", "CHANGED = 1\n\n\ndef ")
    (why,) = reasons(now, "prepare")
    assert why.startswith("the raw files of enso changed: synthetic-")
    releases = {"official": {"files": [{"path": "enso/a.nc", "bytes": 1}]}}
    before = changed(datasets={"enso": {"release": "official", "releases": releases}})
    finish(before, pick(before, "prepare"))
    releases = {"official": {"files": [{"path": "enso/b.nc"}]}}
    now = changed(datasets={"enso": {"release": "official", "releases": releases}})
    assert any("other paths are declared" in w for w in reasons(now, "prepare"))


def test_the_nearest_of_several_older_ones_is_compared(plan):
    for lr in (0.1, 0.3):  # two keys away
        far = changed(train={"lr": lr, "batch_size": 2})
        finish(far, pick(far, "train", "convlstm"))
    now = changed(train={"lr": 0.2})
    assert reasons(now, "train", "convlstm") == ["train recipe of convlstm: train.lr: 0.001 -> 0.2"]


def test_metrics_that_come_and_go_are_named(plan, copy):
    artefact = pick(plan, "score", "convlstm", "moving_mnist")
    recipe = {**artefact.recipe, "conventions": [*artefact.recipe["conventions"][1:], "new.one"]}
    shutil.rmtree(plan.store / artefact.folder)
    older = artefact.folder[:-16] + "0" * 16
    finish(plan, artefact, recipe=recipe)
    (plan.store / artefact.folder).rename(plan.store / older)
    (why,) = reasons(plan, "score", "convlstm", "moving_mnist")
    first = artefact.recipe["conventions"][0]
    assert why == f"score recipe of convlstm: conventions: now without new.one and with {first}"


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
    assert reasons(plan, "train", "convlstm") == ["nothing like it was ever made"]
    assert reasons(plan, "train", "simvpv2") == [
        "it failed: no such file",
        "log: results/logs/x.log",
        "nothing like it was ever made",
        "attempt 1: out of memory (Slurm says OUT_OF_MEMORY)",
        "goes on from its checkpoint",
    ]
    reason = explain(plan, runs, Past(plan), artefact_states(plan)[runs.folder])
    assert reason.verdict == f"is being made on {os.uname().nodename}, Slurm job 42"


def test_what_is_there_but_not_as_it_should_be(plan):
    artefact = pick(plan, "prepare")
    folder = plan.store / artefact.folder

    def verdict() -> str:
        reason = explain(plan, artefact, Past(plan), artefact_states(plan)[artefact.folder])
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
    assert verdict() == "is damaged: 1 of 1 files are missing or cut short: data/file.txt"
    store.drop(folder, "room")
    assert verdict().startswith("is made again only where a score needs it")


def test_reasons_are_told_apart_by_an_empty_line(plan, capsys):
    assert tell(plan, ["convlstm"], None)
    said = capsys.readouterr().out.splitlines()
    assert said[0] and "" in said


def test_artefacts_with_the_same_reasons_are_told_together(plan):
    now = changed(models={"convlstm": {"train": {"lr": 0.002}}})
    lines = list(lines_of_groups(undone(now)))
    assert lines[:2] == [
        "6 artefacts: would be made",
        "  - train recipe of convlstm: train.lr: 0.001 -> 0.002",
    ]
    assert "      train    convlstm on enso, seed 0" in lines


def test_words_choose_artefacts_and_wrong_words_are_told(plan):
    assert {a.stage for a in chosen(plan, ["simvpv2", "enso"])} == {"train", "predict", "score"}
    (one,) = chosen(plan, ["train", "simvpv2", "enso"])
    assert chosen(plan, [str(plan.store / one.receipt)]) == [one]
    with pytest.raises(StpError, match=r"did you mean simvpv2\?"):
        chosen(plan, ["simvp2", "enso"])


# Proven refactors


def test_only_where_nothing_but_code_changed_an_equivalent_is_suggested(plan, copy):
    now = edited(copy, "stp.models.convlstm", "class ", "CHANGED = 1\n\n\nclass ")
    (train, predict) = (pick(now, stage, "convlstm") for stage in ("train", "predict"))
    found = equivalents(undone(now))
    # the score's own code did not change: it follows from the other two
    before = {stage: pick(plan, stage, "convlstm") for stage in ("train", "predict")}
    assert set(found) == {
        (before["train"].code.fingerprint, train.code.fingerprint),
        (before["predict"].code.fingerprint, predict.code.fingerprint),
        *(pair for pair in found if found[pair].artefact.dataset == "moving_mnist"),
    }
    text = "\n".join(suggestion(undone(now)))
    entries = yaml.safe_load("\n".join(line for line in text.splitlines() if line[:1] in "- "))
    accepted = {entry["new"]: entry["old"] for entry in entries}
    again = Plan(now.config.model_copy(update={"equivalent": accepted}), copy)
    assert undone(again) == []
    other = merge(read_yaml(TINY), {"train": {"lr": 0.1}})
    assert equivalents(undone(Plan(config.load(other), copy))) == {}


def test_an_entry_is_yaml_whatever_is_written_into_it():
    text = entry("0123456789012345", "12e4567890123456", "a: b #1", {"said": 'a "x"'})
    (found,) = yaml.safe_load(text)
    seal = found["evidence"].pop("seal")
    assert len(seal) == 16
    assert found == {
        "old": "0123456789012345",
        "new": "12e4567890123456",
        "reason": "a: b #1",
        "evidence": {"said": 'a "x"'},
    }


@pytest.fixture
def made(tmp_path, monkeypatch) -> Plan:
    """A tiny plan with really prepared data and really made forecasts of climatology."""
    plan = small_plan(tmp_path, monkeypatch)
    runner.fetch(plan, plan.raw("enso"))
    runner.make(plan, pick(plan, "prepare"))
    for stage in ("train", "predict"):
        runner.make(plan, pick(plan, stage, "climatology"))
    return plan


def prove(copy: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `stp why ... --prove` with the code of a copy."""
    return subprocess.run(
        [Path(sys.executable).parent / "stp", "why", *words, "--prove", "--configfile", TINY],
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
    )


@pytest.mark.long(part="reruns")
def test_a_refactor_is_proven_by_making_a_sample_again(made, copy):
    shutil.copytree(ROOT / "config", copy / "config")
    edited(copy, "stp.models.climatology", "class Model", "UNUSED = 1\n\n\nclass Model")
    done = prove(copy, "climatology", "enso")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "model.pt: identical bytes" in done.stdout
    assert "predictions.zarr: identical bytes" in done.stdout
    text = done.stdout[done.stdout.index("- old:") :]
    write_text(copy / "config" / "equivalent.yaml", text)
    now = Plan(config.load(TINY, copy / "config"), copy)
    for stage in ("train", "predict"):
        assert (made.store / pick(now, stage, "climatology").receipt).exists()
    assert not list((made.store / "state").glob(".prove.*"))


@pytest.mark.parametrize("forged", ["by hand", "other code", "other digest", "no files"])
def test_an_entry_without_evidence_of_a_machine_is_refused(tmp_path, forged):
    folder = tmp_path / "config"
    shutil.copytree(ROOT / "config", folder)
    files = {"model.pt": {"how": "bytes", "old": "a" * 64, "new": "a" * 64}}
    evidence = {"sample": "train of convlstm on enso, seed 0", "commit": "4b2fd97", "files": files}
    (good,) = yaml.safe_load(entry("0" * 16, "1" * 16, "a loop was split", evidence))
    reworded = {**good, "reason": "any reason"}
    write_text(folder / "equivalent.yaml", yaml.safe_dump([reworded]))
    assert config.load(TINY, folder).equivalent == {"1" * 16: "0" * 16}

    if forged == "by hand":
        good["evidence"] = "weights of convlstm on moving_mnist, seed 0, are bit-equal"
    elif forged == "other code":
        good["new"] = "2" * 16
    elif forged == "other digest":
        files["model.pt"]["new"] = "b" * 64
        (good,) = yaml.safe_load(entry("0" * 16, "1" * 16, "a loop was split", evidence))
    else:
        (good,) = yaml.safe_load(entry("0" * 16, "1" * 16, "...", {**evidence, "files": {}}))
    write_text(folder / "equivalent.yaml", yaml.safe_dump([reworded, good]))
    with pytest.raises(StpError, match=r"equivalent\.yaml, entry 2: (.|\n)*--prove"):
        config.load(TINY, folder)


def test_a_proof_of_what_networks_see_has_their_weights(tmp_path, monkeypatch):
    file = tmp_path / "alexnet-owt-7be5be79.pth"
    file.touch()
    monkeypatch.setenv("STP_WEIGHTS_DIR", str(tmp_path))
    plan = Plan.load(TINY)
    scores = next(one for one in plan.artefacts.values() if one.is_perceptual)
    jobs: list[Job] = []
    monkeypatch.setattr(proof, "run_core", lambda _plan, _artefact, job: jobs.append(job))
    (tmp_path / "scratch").mkdir()
    proof._make(plan, scores, {}, tmp_path / "scratch", silent, {})
    assert jobs[0].runtime["weights"] == {"alexnet": str(file)}


@pytest.mark.long(part="processes")
def test_a_change_of_the_results_is_found_out(made, copy):
    shutil.copytree(ROOT / "config", copy / "config")
    path = copy / "stp" / "models" / "weights.py"
    path.write_text(
        path.read_text().replace('"state_dict": weights', '"state_dict": '
                                 '{k: v + 1 for k, v in weights.items()}', 1)
    )  # fmt: skip
    done = prove(copy, "train", "climatology", "enso")
    assert done.returncode == 1
    assert "model.pt: model.pt: " in done.stdout and "values differ" in done.stdout
    assert "NOT identical" in done.stdout and "- old:" not in done.stdout


# What is compared, and how


def test_contents_are_compared_where_bytes_differ(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    for folder, seconds, weight, pixel in ((a, 1.0, 0.0, 1.0), (b, 2.0, 0.5, 1.0)):
        folder.mkdir()
        history = pd.DataFrame({"epoch": [1], "error": [float("nan")], "seconds": [seconds]})
        history.to_parquet(folder / "history.parquet")
        torch.save({"state_dict": {"w": torch.tensor([1.0, weight])}}, folder / "model.pt")
        group = zarr.create_group(folder / "x.zarr", attributes={"units": str(seconds)})
        group.create_array("frames", data=torch.tensor([pixel, float("nan")]).numpy())
        (folder / "same.txt").write_text("same")
    (b / "more.txt").write_text("more")
    found = {name: (how, difference) for name, how, difference in compare(a, b)}
    assert found == {
        "history.parquet": ("values", None),
        "model.pt": (
            "values", "model.pt: state_dict: w: 1 of 2 values differ, by at most 0.5",
        ),
        "more.txt": ("bytes", "only in the new one"),
        "same.txt": ("bytes", None),
        "x.zarr": ("values", "attributes: units: '1.0', now '2.0'"),
    }  # fmt: skip


def test_an_array_may_be_in_one_store_only(tmp_path):
    for folder, names in (("a", ["frames"]), ("b", ["frames", "more"])):
        group = zarr.create_group(tmp_path / folder / "x.zarr")
        for name in names:
            group.create_array(name, data=torch.zeros(2).numpy())
    for old, new, where in (("a", "b", "new"), ("b", "a", "old")):
        said = f"array more is only in the {where} one"
        assert list(compare(tmp_path / old, tmp_path / new)) == [("x.zarr", "values", said)]


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
