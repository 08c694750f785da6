"""The shell around the stages: adopting, refusing, recording failures, and clean closures."""

import errno
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import forked
import pandas as pd
import pytest
import torch
from standstill import slow_steps

from stp.core import store
from stp.core.errors import StpError
from stp.options.score import ScoreOptions
from stp.plan import config
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER, merge, read_yaml
from stp.run import failures, runner
from stp.run.restored_receipts import restore_receipts

ROOT = Path(__file__).parent.parent
TINY = ROOT / "tests" / "workflow" / "tiny.yaml"
IN_PROCESSES = pytest.mark.long(part="processes")


@pytest.fixture
def plan(tmp_path, monkeypatch) -> Plan:
    """A tiny plan with a store and raw files of its own."""
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("STP_RAW_DIR", str(tmp_path / "raw"))
    return Plan.load(TINY)


def cell(plan: Plan, model: str, dataset: str = "enso"):
    return next(m for m in plan.cells if (m.cell.model, m.cell.tested_on) == (model, dataset))


@pytest.fixture(scope="module")
def made(tmp_path_factory, tiny_enso) -> Path:
    """Raw files and a store: the tiny plan's ENSO data, and all of climatology on them."""
    folder = tmp_path_factory.mktemp("made")
    shutil.copytree(tiny_enso, folder, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STP_STORE_DIR", str(folder / "store"))
        patch.setenv("STP_RAW_DIR", str(folder / "raw"))
        plan = Plan.load(TINY)
        runner.fetch(plan, plan.raw("enso"))
        line = cell(plan, "climatology")
        for artefact in (plan.data("enso"), *line.models, line.predictions, line.scores):
            runner.make(plan, artefact)
    return folder


@pytest.fixture
def prepared(plan, made, tmp_path) -> Plan:
    """The tiny plan, its ENSO data prepared."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return plan


def test_an_artefact_is_made_once_and_then_adopted(prepared):
    folder = runner.make(prepared, cell(prepared, "persistence").predictions)
    receipt = (folder / "artefact.json").read_bytes()
    assert runner.make(prepared, cell(prepared, "persistence").predictions) == folder
    assert (folder / "artefact.json").read_bytes() == receipt


def test_the_receipt_tells_where_a_number_comes_from(prepared):
    made = cell(prepared, "persistence")
    folder = runner.make(prepared, made.predictions)
    receipt = json.loads((folder / "artefact.json").read_text())
    assert receipt["stage"] == "predict"
    assert receipt["fingerprint"] == folder.name
    assert receipt["recipe"] == made.predictions.recipe
    assert receipt["inputs"] == {"data": made.data.folder}
    assert receipt["code"]["modules"]["stp.models.persistence"]
    assert receipt["provenance"]["packages"]["torch"].startswith("2.")
    assert receipt["provenance"]["seconds"] > 0
    store.verify(folder)
    raw = json.loads((prepared.store / made.data.receipt).read_text())["inputs"]["raw"]
    lock = json.loads((prepared.store / raw).read_text())
    assert all(len(entry["sha256"]) == 64 for entry in lock["files"].values())


def test_receipts_that_snakemake_deleted_are_put_back(prepared):
    receipt = prepared.store / prepared.data("enso").receipt
    before = receipt.read_bytes()
    receipt.unlink()
    assert restore_receipts(prepared) == 1
    assert receipt.read_bytes() == before
    assert restore_receipts(prepared) == 0


def test_an_artefact_has_at_most_a_hundred_files(prepared):
    folder = runner.make(prepared, cell(prepared, "persistence").predictions)
    for made in (folder, prepared.store / prepared.data("enso").folder):
        assert sum(path.is_file() for path in made.rglob("*")) <= 100


def test_a_missing_input_says_what_to_run(plan):
    with pytest.raises(StpError, match="stp fetch"):
        runner.make(plan, plan.data("enso"))
    with pytest.raises(StpError, match="data/enso"):
        runner.make(plan, cell(plan, "persistence").predictions)


@pytest.mark.parametrize("name", ["predictions.zarr/predictions/c/0/0/0/0/0", "index.parquet"])
def test_a_flipped_bit_in_predictions_becomes_no_number(prepared, name):
    made = cell(prepared, "persistence")
    damaged = runner.make(prepared, made.predictions) / name
    content = bytearray(damaged.read_bytes())
    content[len(content) // 3] ^= 64
    damaged.write_bytes(content)
    with pytest.raises(StpError, match=rf"{damaged}: (.|\n)*rm -r"):
        runner.make(prepared, made.scores)
    assert not (prepared.store / made.scores.folder).exists()


def test_a_flipped_bit_in_weights_is_found_before_they_are_loaded(prepared, monkeypatch):
    made = cell(prepared, "convlstm")
    folder = runner.make(prepared, *made.models)
    content = bytearray((folder / "model.pt").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "model.pt").write_bytes(content)
    monkeypatch.setattr(torch, "load", lambda *_a, **_k: pytest.fail("damaged weights were loaded"))
    with pytest.raises(StpError, match=r"model\.pt: (.|\n)*rm -r"):
        runner.make(prepared, made.predictions)


def test_a_failure_is_recorded_and_forgotten_after_success(plan, tmp_path, tiny_enso):
    log = tmp_path / "logs" / "prepare.log"
    with pytest.raises(StpError):
        runner.make(plan, plan.data("enso"), log)
    record = failures.of_plan(plan)[plan.data("enso").folder]
    assert record.error.startswith(str(plan.store))
    assert record.log == str(log)
    assert "Traceback" in log.read_text()
    shutil.copytree(tiny_enso, tmp_path, dirs_exist_ok=True)
    runner.fetch(plan, plan.raw("enso"))
    runner.make(plan, plan.data("enso"), log)
    assert failures.of_plan(plan) == {}


def test_a_checkout_edited_during_a_job_is_refused(prepared, tmp_path):
    """The plan is made for a copy of the package, which is edited before publishing."""
    shutil.copytree(ROOT / "stp", tmp_path / "copy" / "stp")
    plan = Plan(config.load(TINY), tmp_path / "copy")
    edited = tmp_path / "copy" / "stp" / "models" / "persistence.py"
    edited.write_text(edited.read_text() + "\nCHANGED = 1\n")
    made = cell(plan, "persistence")
    with pytest.raises(StpError, match=r"stp\.models\.persistence"):
        runner.make(plan, made.predictions)
    assert not (plan.store / made.predictions.folder).exists()
    leftovers = (plan.store / made.predictions.folder).parent.glob(".*")
    assert list(leftovers) == []


def test_a_model_without_code_says_so(prepared, tmp_path):
    folder = tmp_path / "config"
    shutil.copytree(CONFIG_FOLDER, folder)
    shutil.copy(folder / "models" / "convlstm.yaml", folder / "models" / "unwritten.yaml")
    scale = merge(
        read_yaml(TINY),
        {"dimensions": {"short_term": {"models": ["unwritten"], "datasets": ["enso"]}}},
    )
    plan = Plan(config.load(scale, folder))
    with pytest.raises(StpError, match=r"stp/models/unwritten\.py"):
        runner.make(plan, *plan.cells[0].models)


READ = """
import json
from pathlib import Path

FACTOR = json.loads(Path(__file__).with_suffix(".json").read_text())["factor"]
"""
MODEL = """
from stp.models.persistence import Model as Persistence


class Model(Persistence):
    def forward(self, frames, horizon):
        return FACTOR * super().forward(frames, horizon)
"""
READER = """
from stp.datasets.enso.reader import run
"""
METRIC = """
from stp.metrics.metric import Metric
from stp.metrics.pixels import squared_errors


def beside():
    return Metric(lambda predicted, observed: FACTOR * squared_errors(predicted, observed)[:, None])
"""
GENERATOR = """
from stp.datasets.enso import generator


def generate(folder, options, report):
    generator.generate(folder, options, report)
"""
MAKE = """
import sys
from pathlib import Path
from stp.core.errors import StpError
from stp.plan.cells import Plan
from stp.run import runner
plan, stage = Plan.load(Path(sys.argv[1])), sys.argv[2]
try:
    if stage == "fetch":
        runner.fetch(plan, plan.raw("enso"))
    else:
        runner.make(plan, next(a for a in plan.cells[0].artefacts if a.stage == stage))
except StpError as error:
    sys.exit(f"error: {error}")
"""


@pytest.mark.parametrize(
    ("stage", "module", "code", "entry", "edits"),
    [
        ("predict", "models.beside", MODEL, "models/beside.yaml", {}),
        pytest.param(
            "prepare", "datasets.beside.reader", READER, "datasets/enso.yaml",
            {"datasets/enso.yaml": ("prepare: {span", "reader: beside\nprepare: {span")},
            marks=IN_PROCESSES,
        ),
        pytest.param(
            "score", "metrics.beside", METRIC, "conventions/beside.yaml",
            {"suites/predbench/suite.yaml": ("  enso: [nino34", "  enso: [beside.mean, nino34")},
            marks=IN_PROCESSES,
        ),
        pytest.param(
            "fetch", "datasets.beside.generator", GENERATOR,
            "datasets/enso.yaml: releases.synthetic",
            {"datasets/enso.yaml": ("generator: enso", "generator: beside")},
            marks=IN_PROCESSES,
        ),
    ],
)  # fmt: skip
def test_a_file_beside_a_module_is_refused_until_it_is_declared(
    prepared, tmp_path, stage, module, code, entry, edits
):
    checkout = tmp_path / "checkout"
    for name in ("stp", "config"):
        shutil.copytree(ROOT / name, checkout / name)
    path = checkout / "stp" / f"{module.replace('.', '/')}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(READ + code)
    path.with_suffix(".json").write_text('{"factor": 2}')
    for file, (old, new) in edits.items():
        text = (checkout / "config" / file).read_text()
        assert text.count(old) == 1
        (checkout / "config" / file).write_text(text.replace(old, new))
    declared_in = checkout / "config" / entry.partition(":")[0]
    if "conventions" in entry:
        declared_in.write_text(
            "title: Beside\nunit: '1'\nhigher_is_better: false\n"
            "conventions: {mean: {about: of a test, function: beside}}\n"
        )
    is_model = stage == "predict"
    if is_model:
        declared_in.write_text("title: Beside\nreference: none\nfit: none\n")
    model = "beside" if is_model else "climatology"
    scale = merge(
        read_yaml(TINY),
        {"dimensions": {"short_term": {"models": [model], "datasets": ["enso"]}}},
    )
    (tmp_path / "scale.yaml").write_text(json.dumps(scale))

    def make() -> subprocess.CompletedProcess[str]:
        return forked.run(
            ["python", "-c", MAKE, str(tmp_path / "scale.yaml"), stage],
            tmp_path,
            {**os.environ, "PYTHONPATH": str(checkout)},
        )

    before = receipts(prepared.store)
    done = make()
    assert done.returncode == 1
    assert f"{path.with_suffix('.json')} is read by stp.{module}" in done.stdout
    assert f"config/{entry}" in done.stdout and "`reads: [PATH]`" in done.stdout
    assert receipts(prepared.store) == before
    declared = f"reads: [{path.with_suffix('.json').relative_to(checkout)}]"
    text = declared_in.read_text()
    if stage == "fetch":
        text = text.replace("    generator:", f"    {declared}\n    generator:")
    else:
        text += f"{declared}\n"
    declared_in.write_text(text)
    done = make()
    assert done.returncode == 0, done.stdout
    (made,) = receipts(prepared.store) - before
    if stage != "fetch":
        assert list(json.loads(made.read_text())["recipe"]["reads"]) == [declared[8:-1]]


def receipts(folder: Path) -> set[Path]:
    """Receipts, and locks of raw files."""
    return {*folder.rglob("artefact.json"), *folder.rglob("*.lock.json")}


@pytest.mark.parametrize(
    ("entry", "reaches"),
    [
        ("models/convlstm", {"train convlstm", "predict convlstm", "score convlstm"}),
        ("datasets/moving_mnist", {"prepare", "train", "predict", "score"}),
        ("conventions/ssim", {"score"}),
    ],
)
def test_an_edit_of_a_declared_file_reaches_what_reads_it(plan, tmp_path, entry, reaches):
    """Digits are drawn while models train; ENSO has no SSIM."""
    (tmp_path / "stp").symlink_to(ROOT / "stp")
    kind, name = entry.split("/")
    known = {"conventions": "metrics"}.get(kind, kind)
    entries = getattr(plan.config, known)
    declared = entries[name].model_copy(update={"reads": ("beside.json",)})
    found = plan.config.model_copy(update={known: {**entries, name: declared}})
    plans = []
    for factor in (1, 2):
        (tmp_path / "beside.json").write_text(json.dumps(factor))
        plans.append(Plan(found, tmp_path))
    changed = [
        artefact
        for folder, artefact in plans[1].artefacts.items()
        if folder not in plans[0].artefacts
    ]
    assert changed
    for artefact in plans[1].artefacts.values():
        of = {artefact.stage, artefact.work}
        is_reached = bool(of & reaches) and (kind == "models" or artefact.dataset != "enso")
        assert (artefact in changed) == is_reached, artefact.label


def test_scores_understand_their_recipe_where_versions_and_files_count(plan, tmp_path):
    (tmp_path / "stp").symlink_to(ROOT / "stp")
    (tmp_path / "beside.json").write_text("1")
    metrics = {
        name: metric.model_copy(update={"reads": ("beside.json",)})
        for name, metric in plan.config.metrics.items()
    }
    scale = plan.config.scale.model_copy(update={"versions": ("numpy",)})
    found = Plan(plan.config.model_copy(update={"metrics": metrics, "scale": scale}), tmp_path)
    scores = [artefact for artefact in found.artefacts.values() if artefact.stage == "score"]
    assert scores
    for artefact in scores:
        assert {"reads", "versions"} < artefact.recipe.keys()
        ScoreOptions.from_recipe(runner.canonical_recipe(artefact))


def test_a_full_disk_is_one_clear_error(prepared, monkeypatch):
    def full(*_args, **_kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/store/x")

    monkeypatch.setattr("stp.core.store.list_files", full)
    with pytest.raises(StpError, match="No space left"):
        runner.make(prepared, cell(prepared, "persistence").predictions)
    assert not (prepared.store / cell(prepared, "persistence").predictions.folder).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root: run as root, as in a container")
@IN_PROCESSES
@pytest.mark.parametrize("options", ["size=64k", "size=64k,ro"])
def test_a_really_full_or_read_only_disk(plan, tmp_path, options):
    """`stp` on a 64 kB disk, and on one that is read-only: exit code 1 and one error."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)])
    if mounted.returncode:
        pytest.skip("this machine does not allow mounting: run on one that does")
    try:
        done = forked.run(
            ["stp", "fetch", "enso", "--configfile", str(TINY)],
            tmp_path,
            {**os.environ, "STP_STORE_DIR": str(disk), "STP_RAW_DIR": str(disk / "raw")},
        )
        assert done.returncode == 1
        assert "Traceback" not in done.stdout
        assert "stp: error:" in done.stdout
        assert ("read-only" if "ro" in options else "space") in done.stdout.lower()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_gated_data_are_explained(tmp_path):
    def stp(*words: str) -> subprocess.CompletedProcess[str]:
        settings = {"STP_STORE_DIR": f"{tmp_path}/store", "STP_RAW_DIR": f"{tmp_path}/raw"}
        settings["STP_RAW_MIRROR"] = ""
        return forked.run(["stp", *words], ROOT, {**os.environ, **settings})

    done = stp("fetch", "enso", "--configfile", "config/paper.yaml")
    assert done.returncode == 1
    assert "tianchi.aliyun.com" in done.stdout and "enso/CMIP_train.nc" in done.stdout
    assert str(tmp_path / "raw") in done.stdout
    done = stp("fetch", "kth", "enso", "--check", "--configfile", "config/paper.yaml")
    assert done.returncode == 1
    assert "missing  kth/walking.zip" in done.stdout
    assert "missing  enso/CMIP_train.nc" in done.stdout


@IN_PROCESSES
def test_a_killed_training_goes_on_and_ends_with_the_same_weights(prepared, tmp_path):
    """kill -9 in the middle of an epoch, through the front door; then run again."""
    (made,) = cell(prepared, "convlstm").models
    scale = merge(read_yaml(TINY), {"runtime": {"checkpoint_every_s": 0}})
    slow_steps(tmp_path, 1)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    (tmp_path / "slow.yaml").write_text(json.dumps(scale))
    command = [str(Path(sys.executable).parent / "stp"), "train", "convlstm", "enso"]
    slow = subprocess.Popen([*command, "--configfile", tmp_path / "slow.yaml"], env=environment)
    state = runner.state_folder(prepared, made.folder) / "training.pt"
    while slow.poll() is None and not state.exists():
        time.sleep(0.05)
    time.sleep(0.5)
    slow.kill()
    assert slow.wait() == -9
    assert not (prepared.store / made.receipt).exists()

    folder = runner.make(prepared, made)
    receipt = json.loads((folder / "artefact.json").read_text())
    (resumed_at,) = receipt["extras"]["resumes"]
    steps = int(pd.read_parquet(folder / "history.parquet")["step"].iloc[-1])
    assert 0 < resumed_at < steps
    assert not state.exists(), "the state of a finished training is removed"
    assert not list(folder.parent.glob(".*.partial")), "nothing is left of the killed process"
    resumed = torch.load(folder / "model.pt", weights_only=True)["state_dict"]

    shutil.rmtree(folder)
    uninterrupted = runner.make(prepared, made)
    expected = torch.load(uninterrupted / "model.pt", weights_only=True)["state_dict"]
    assert all(torch.equal(resumed[name], expected[name]) for name in expected)
