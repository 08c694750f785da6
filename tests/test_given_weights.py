"""`weights:` of a model, from the scale file to the trained model in the store."""

import hashlib
import http.server
import json
import shutil
import threading
from functools import partial
from pathlib import Path

import pytest
import torch
import yaml

from stp.core.errors import StpError
from stp.models.create import create
from stp.plan import config
from stp.plan.cells import Plan
from stp.plan.checked_config import merge
from stp.run import runner

TINY = Path(__file__).parent / "workflow" / "tiny.yaml"


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("STP_RAW_DIR", str(tmp_path / "raw"))


def plan(**weights) -> Plan:
    """The tiny plan, whose ConvLSTM is given weights."""
    scale = yaml.safe_load(TINY.read_text())
    entry = {"convlstm": {"weights": weights}} if weights else {}
    return Plan(config.load(merge(scale, {"models": entry})))


def trained(of: Plan):
    """The training of ConvLSTM on ENSO."""
    found = [a for a in of.artefacts.values() if a.stage == "train" and a.dataset == "enso"]
    (artefact,) = (a for a in found if (a.recipe["model"], a.recipe["seed"]) == ("convlstm", 0))
    return artefact


def save(path: Path) -> str:
    """Save made-up weights of the tiny ConvLSTM; gives their checksum."""
    torch.manual_seed(3)
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(create(trained(plan()).recipe).state_dict(), path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make(of: Plan, raw: Path) -> Path:
    """Fetch, prepare and train, as Snakemake's rules do."""
    artefact = trained(of)
    shutil.copytree(raw, of.store.parent, dirs_exist_ok=True)
    runner.fetch(of, of.raw("enso"))
    runner.make(of, of.data("enso"))
    lock = str(of.store / artefact.inputs["weights"].lock)
    assert lock in of.inputs(artefact)
    runner.fetch(of, of.raw_of(lock))
    return runner.make(of, artefact)


def test_a_file_below_the_raw_folder_replaces_the_training(tmp_path, tiny_enso):
    sha256 = save(tmp_path / "raw" / "mine" / "convlstm.pt")
    folder = make(plan(file="mine/convlstm.pt", sha256=sha256, use="replace"), tiny_enso)
    receipt = json.loads((folder / "artefact.json").read_text())
    weights = {"file": "convlstm.pt", "sha256": sha256, "use": "replace"}
    assert receipt["extras"]["weights"] == weights
    assert receipt["recipe"]["weights"] == "replace"
    given = torch.load(tmp_path / "raw" / "mine" / "convlstm.pt", weights_only=True)
    found = torch.load(folder / "model.pt", weights_only=True)["state_dict"]
    assert all(torch.equal(found[name], given[name]) for name in given)


def test_a_url_is_downloaded_and_begins_the_training(tmp_path, tiny_enso):
    sha256 = save(tmp_path / "served" / "convlstm.pt")
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "served"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/convlstm.pt"
    try:
        folder = make(plan(file=url, sha256=sha256, use="initialise"), tiny_enso)
    finally:
        server.shutdown()
    receipt = json.loads((folder / "artefact.json").read_text())
    assert receipt["extras"]["weights"]["use"] == "initialise" and receipt["extras"]["steps"] > 0


def test_other_bytes_than_the_declared_ones_are_refused_before_anything_waits(tmp_path):
    path = tmp_path / "convlstm.pt"  # absolute paths are as good
    save(path)
    given = plan(file=str(path), sha256="0" * 64, use="replace")
    with pytest.raises(StpError, match=r"convlstm\.pt[\s\S]*0000"):
        runner.fetch(given, trained(given).inputs["weights"])


def test_a_missing_file_says_where_it_belongs(tmp_path):
    given = plan(file="mine/convlstm.pt", sha256="0" * 64, use="replace")
    with pytest.raises(StpError, match=r"mine/convlstm\.pt"):
        runner.fetch(given, trained(given).inputs["weights"])


def test_trained_models_are_known_by_the_weights_and_their_use(tmp_path):
    def fingerprint(**weights):
        return trained(plan(**weights)).fingerprint

    one = fingerprint(file="a.pt", sha256="1" * 64, use="replace")
    assert fingerprint(file="elsewhere/b.pt", sha256="1" * 64, use="replace") == one
    assert fingerprint(file="a.pt", sha256="2" * 64, use="replace") != one
    assert fingerprint(file="a.pt", sha256="1" * 64, use="initialise") != one
    assert fingerprint() not in (one, fingerprint(file="a.pt", sha256="1" * 64, use="initialise"))


def test_weights_of_one_dataset_win_over_those_of_all():
    scale = yaml.safe_load(TINY.read_text())
    general = {"file": "a.pt", "sha256": "1" * 64, "use": "replace"}
    own = {**general, "sha256": "2" * 64}
    entry = {"convlstm": {"weights": general, "datasets": {"enso": {"weights": own}}}}
    made = Plan(config.load(merge(scale, {"models": entry})))
    assert made.recipes.weights("convlstm", "enso").sha256 == "2" * 64
    assert made.recipes.weights("convlstm", "moving_mnist").sha256 == "1" * 64
    assert made.recipes.weights("simvpv2", "enso") is None


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        ({"file": "a.pt", "use": "replace"}, "sha256"),
        ({"file": "a.pt", "sha256": "12", "use": "replace"}, "sha256"),
        ({"file": "a.pt", "sha256": "1" * 64, "use": "perhaps"}, "use"),
        ({"file": "a.pt", "sha256": "1" * 64, "use": "replace", "md5": "1"}, "md5"),
    ],
)
def test_bad_entries_are_refused(weights, problem):
    with pytest.raises(StpError, match=problem):
        plan(**weights)


def test_a_model_without_weights_cannot_be_given_any():
    scale = yaml.safe_load(TINY.read_text())
    weights = {"file": "a.pt", "sha256": "1" * 64, "use": "replace"}
    entry = {"climatology": {"weights": weights}}
    scale["dimensions"]["short_term"]["models"] = ["climatology"]
    with pytest.raises(StpError, match=r"climatology on [a-z_]+: weights"):
        Plan(config.load(merge(scale, {"models": entry})))
