"""Weights that somebody gives: they begin a training, or replace it."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest
import torch
from moving_bar import job, recipe, write_data

from stp.core.errors import StpError
from stp.models.climax import VARIABLES
from stp.models.create import create
from stp.train.pretrained import run
from stp.train.run import run as train


def given(folder, data, content, use="replace", what=None):
    """A training that is given what torch saves, or bytes."""
    raw = folder / "raw"
    raw.mkdir(parents=True)
    path = raw / "weights.pt"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        torch.save(content, path)
    held = path.read_bytes()
    entry = {"bytes": len(held), "sha256": hashlib.sha256(held).hexdigest()}
    lock = folder / "weights.lock.json"
    lock.write_text(json.dumps({"files": {"weights.pt": entry}}))
    work = job(folder, data, {**(what or recipe()), "weights": use}, raw_roots=[str(raw)])
    work.inputs["weights"] = lock
    return work


def made_up(what=None):
    """Weights of the recipe's model that no training would find."""
    torch.manual_seed(7)
    return create(what or recipe()).state_dict()


def result(folder):
    return torch.load(folder / "out" / "model.pt", weights_only=True)


def test_weights_replace_a_training(tmp_path, data):
    weights = made_up()
    extras = run(given(tmp_path, data, weights))
    assert all(torch.equal(result(tmp_path)["state_dict"][name], weights[name]) for name in weights)
    assert extras["weights"]["use"] == "replace" and extras["weights"]["file"] == "weights.pt"
    assert len(extras["weights"]["sha256"]) == 64
    assert len(pd.read_parquet(tmp_path / "out" / "history.parquet")) == 0


def test_a_training_begins_with_them(tmp_path, data):
    weights = made_up()
    slow = recipe(epochs=1, lr=1e-9, schedule="constant")
    extras = run(given(tmp_path, data, weights, "initialise", slow))
    for name, tensor in result(tmp_path)["state_dict"].items():
        assert torch.allclose(tensor, weights[name], atol=1e-6)
    assert extras["weights"]["use"] == "initialise" and extras["steps"] == 5


def test_published_weights_of_climax_begin_a_training(tmp_path):
    """Names of a Lightning module, all variables, another grid; two of three channels are known."""
    frames = np.random.default_rng(0).normal(size=(38, 3, 8, 8)).astype(np.float32)
    attrs = {"units": "physical", "context": 1, "horizon": 4, "stored_scale": 1.0}
    data = write_data(tmp_path / "data", frames=frames, **attrs)
    channels = ["geopotential_500", None, "temperature_850"]
    options = {"patch": 2, "width": 8, "depth": 1, "heads": 2}
    slow = {
        **{**recipe(epochs=1, lr=1e-9, schedule="constant"), "model": "climax"},
        **{"options": {**options, "variables": channels}, "shape": [3, 8, 8]},
        **{"context": 1, "horizon": 4},
    }
    released = made_up({**slow, "options": options, "shape": [len(VARIABLES), 4, 8]})
    content = {f"net.{name}": tensor for name, tensor in released.items()}
    extras = run(given(tmp_path, data, content, "initialise", slow))
    assert extras["weights"]["use"] == "initialise"
    found = result(tmp_path)["state_dict"]
    assert torch.allclose(found["blocks.0.attn.qkv.weight"], released["blocks.0.attn.qkv.weight"])
    for channel, name in enumerate(channels):
        tokens = [weights[f"token_embeds.{place}.proj.weight"] for weights, place in (
            (found, channel), (released, VARIABLES.index(name) if name else channel)
        )]  # fmt: skip
        assert torch.allclose(*tokens, atol=1e-6) == (name is not None)


def test_a_model_of_ours_brings_its_normalisation(tmp_path, data):
    trained = train(job(tmp_path / "first", data, recipe(epochs=1)))
    content = result(tmp_path / "first")
    content["normalisation"] = {"offset": [0.5], "scale": [2.0]}
    extras = run(given(tmp_path / "second", data, content))
    found = result(tmp_path / "second")
    assert found["normalisation"] == {"offset": [0.5], "scale": [2.0]}
    assert found["sha256"] == content["sha256"]
    assert extras["parameters"] == trained["parameters"]


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda w: {k: v for k, v in w.items() if "readout" not in k}, "readout.weight"),
        (lambda w: {**w, "extra": torch.zeros(1)}, "extra"),
        (lambda w: {**w, "readout.weight": torch.zeros(2)}, r"readout.weight .*\(2,\)"),
        (lambda w: [1, 2], ""),
        (lambda w: {"epoch": 3}, ""),
        (lambda w: b"not torch's", ""),
        (lambda w: b"", ""),
    ],
)
def test_other_weights_are_refused(tmp_path, data, spoil, problem):
    with pytest.raises(StpError, match=rf"weights\.pt[\s\S]*{problem}"):
        run(given(tmp_path, data, spoil(made_up())))


def test_a_truncated_file_is_refused(tmp_path, data):
    whole = tmp_path / "whole.pt"
    torch.save(made_up(), whole)
    with pytest.raises(StpError, match=r"weights\.pt"):
        run(given(tmp_path, data, whole.read_bytes()[:-200]))


def test_code_in_a_file_is_not_run(tmp_path, data):
    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "made"), "w"))

    with pytest.raises(StpError, match=r"weights\.pt"):
        run(given(tmp_path, data, {"weights": Evil()}))
    assert not (tmp_path / "made").exists()


def test_bytes_that_are_not_the_declared_ones_are_refused(tmp_path, data):
    work = given(tmp_path, data, made_up())
    torch.save({**made_up(), "more": torch.zeros(1)}, tmp_path / "raw" / "weights.pt")
    with pytest.raises(StpError, match=r"weights\.pt"):
        run(work)
