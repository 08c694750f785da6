"""Features in the plan: which clips, which network, who shares them."""

from pathlib import Path

import pytest
import yaml

from stp.plan import config
from stp.plan import weights as network_weights
from stp.plan.cells import Plan
from stp.plan.checked_config import merge
from stp.run.costs import summary

DEMO = Path(__file__).parent.parent / "config" / "demo.yaml"
I3D = "i3d_torchscript.pt"
MODELS = ["persistence", "convlstm"]


def demo(*cells, **changes):
    scale = yaml.safe_load(DEMO.read_text())
    wanted = list(cells) or [{"trained_on": "kth"}]
    scale["dimensions"] = {"short_term": {"models": MODELS, "cells": wanted}}
    return merge(scale, changes)


@pytest.fixture
def folder(monkeypatch, tmp_path) -> Path:
    """The folder of weights, those of I3D in it."""
    monkeypatch.setenv("STP_WEIGHTS_DIR", str(tmp_path))
    (tmp_path / I3D).touch()
    return tmp_path


def features(plan):
    return {a.folder: a for a in plan.artefacts.values() if a.stage == "features"}


def test_features_exist_only_where_something_needs_them(folder):
    plan = Plan(config.load(demo({"trained_on": ["kth", "enso"]})))
    kth, enso = (
        [made for made in plan.cells if made.cell.tested_on == name] for name in ("kth", "enso")
    )
    assert all(not made.features for made in enso)
    assert all(len(made.features) == 2 for made in kth)
    (folder / I3D).unlink()
    assert not features(Plan(config.load(demo())))


def test_what_was_observed_is_looked_at_once_for_all_models(folder):
    plan = Plan(config.load(demo(seeds=[0, 1])))
    observed = {made.features[0] for made in plan.cells}
    predicted = [made.features[1] for made in plan.cells]
    assert len(plan.cells) == 3 and len(observed) == 1 and len(set(predicted)) == 3
    (data,) = observed
    place, fingerprint = data.folder.rsplit("/", 1)
    assert place == "features/data/kth/test/horizon-10/predicted_only/i3d.logits"
    assert (data.rule, data.dimension, set(data.inputs)) == ("features", None, {"data"})
    made = plan.cells[-1]
    assert made.features[1].folder.startswith(
        f"features/predictions/{made.cell.path}/predicted_only/i3d.logits/"
    )
    assert made.features[1].rule == "features_short_term"
    assert set(made.features[1].inputs) == {"data", "predictions"}
    assert plan.find(f"{plan.store}/{data.receipt}") is data
    assert len(fingerprint) == 16


def test_scores_wait_for_features_and_look_through_nothing_themselves(folder):
    plan = Plan(config.load(demo(runtime={"gpus": 1})))
    made = plan.cells[0]
    name = "predicted_only/i3d.logits"
    assert made.perceptual.recipe["features"] == {"fvd.predicted_only": name}
    assert "weights" not in made.perceptual.recipe
    assert made.perceptual.inputs[f"{name}.observed"] is made.features[0]
    assert made.perceptual.inputs[f"{name}.predicted"] is made.features[1]
    assert str(plan.store / made.features[0].receipt) in plan.inputs(made.perceptual)
    assert [plan.gpus(a) for a in (*made.features, made.perceptual)] == [1, 1, 0]
    (folder / "alexnet_features.pth").touch()
    with_lpips = Plan(config.load(demo(runtime={"gpus": 1}))).cells[0]
    assert Plan(config.load(demo(runtime={"gpus": 1}))).gpus(with_lpips.perceptual) == 1
    assert with_lpips.features == made.features, "weights of another network re-run no look"


def test_other_weights_are_other_features(folder):
    before = features(Plan(config.load(demo())))
    (folder / I3D).unlink()
    (folder / "i3d_pretrained_400.pt").touch()
    after = features(Plan(config.load(demo())))
    assert len(after) == len(before) and not set(before) & set(after)


@pytest.fixture
def two(folder, monkeypatch):
    """Two networks that are I3D, and a scale that looks through both and through two layers."""
    known = network_weights.read_declared_weights()
    known["i3d_600"] = known["i3d"].model_copy(
        update={"files": (known["i3d"].files[1].model_copy(update={"file": "six.pt"}),)}
    )
    monkeypatch.setattr(network_weights, "read_declared_weights", lambda *_: known)
    (folder / "six.pt").touch()
    seen = {"network": "i3d", "layer": "logits", "frames": "predicted_only"}
    looks = {
        "predicted_only": seen,
        "with_context": seen | {"layer": "pooled"},
        "zero_padded": seen | {"network": "i3d_600", "module": "i3d"},
    }
    loaded = config.load(demo(metrics={"fvd": {"conventions": looks}}))
    every = tuple(f"fvd.{name}" for name in looks)
    also = {**loaded.suite.also, "video": (*loaded.suite.also.get("video", ()), *every)}
    return loaded.model_copy(update={"suite": loaded.suite.model_copy(update={"also": also})})


def test_networks_and_layers_of_the_same_frames_are_artefacts_of_their_own(two):
    """Known by their frames alone, the last would have taken the place of the others."""
    plan = Plan(two)
    made = plan.cells[0]
    names = [f"predicted_only/{one}" for one in ("i3d.logits", "i3d.pooled", "i3d_600.logits")]
    assert sorted(set(made.perceptual.recipe["features"].values())) == names
    folders = [artefact.folder for artefact in made.features]
    assert len(set(folders)) == 6
    by_name = {name: [f for f in folders if f"/{name}/" in f] for name in names}
    assert {name: len(found) for name, found in by_name.items()} == dict.fromkeys(names, 2)
    third = next(a for a in made.features if "i3d_600" in a.folder)
    assert third.recipe["module"] == "i3d" and third.recipe["network"] == "i3d_600"
    assert "stp.features.networks.i3d" in third.code.modules


def test_forecasts_that_are_not_stored_are_made_again_for_a_network(folder):
    plan = Plan(config.load(demo({"trained_on": "kth", "keep": 3})))
    plain, network = plan.cells
    observed, rolled = network.features
    assert rolled.recipe["rollout"] == network.scores.recipe["rollout"]
    assert set(rolled.inputs) == {"data", "model"} and rolled.core == "stp.features.rollout"
    assert "stp.models.convlstm" in rolled.code.modules
    stored = Plan(config.load(demo()))
    assert observed == stored.cells[1].features[0], "shared with predictions that are stored"
    assert "stp.models.persistence" in plain.features[1].code.modules
    assert not rolled.is_resumable


def test_only_the_first_of_several_forecasts_is_looked_at(folder):
    sampled = {"mcvd": {"predict": {"samples": 100}, "statistic": "best_of_members"}}
    stored, rolled = (
        Plan(
            config.load(
                merge(
                    demo({"trained_on": "kth", **keep}, models=sampled),
                    {"dimensions": {"short_term": {"models": ["mcvd"]}}},
                )
            )
        ).cells[0]
        for keep in ({}, {"keep": 1})
    )
    assert stored.perceptual.recipe["statistic"] == "best_of_members"
    assert "member" not in stored.features[1].recipe
    forecast = rolled.features[1].recipe["rollout"]
    assert "samples" not in forecast["predict"]
    assert rolled.scores.recipe["rollout"]["predict"]["samples"] == 100
    sampled["mcvd"]["statistic"] = "ensemble_mean"
    scale = merge(demo(models=sampled), {"dimensions": {"short_term": {"models": ["mcvd"]}}})
    assert Plan(config.load(scale)).cells[0].features[1].recipe["member"] == "mean"


def test_costs_of_features_are_told(folder):
    plan = Plan(config.load(demo()))
    found = [entry for entry in summary.entries(plan) if entry.stage == "features"]
    assert len(found) == 3 and all(entry.cost.seconds > 0 for entry in found)
