"""Learned predictors of people in the plan, and through the stages."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from stages import Stages

from stp.core.errors import StpError
from stp.plan.artefacts import Raw
from stp.plan.cells import Plan
from stp.tracks import densities

SCALE = {
    "scale": "tiny", "suite": "atlas", "seeds": [0, 1],
    "dimensions": {
        "atlas_transfer": {
            "models": ["constant_velocity", "social_gan", "trajectory_cvae"],
            "cells": [
                {
                    "trained_on": "atlas_eth", "train_subset": "strict", "subset": "strict",
                    "models": ["trajectory_cvae"],
                },
                {"trained_on": "atlas_eth", "subset": "strict", "models": ["social_gan"]},
            ],
        }
    },
    "datasets": {"atlas_eth": {"release": "sample"}},
    "runtime": {"gpus": 1},
}  # fmt: skip


def plan(tmp_path, **changes) -> Plan:
    path = tmp_path / "scale.yaml"
    path.write_text(yaml.safe_dump({**SCALE, **changes}))
    return Plan.load(path)


def test_seeds_of_a_training_and_released_weights(tmp_path):
    first, second, released = plan(tmp_path).cells
    assert [made.cell.seed for made in (first, second, released)] == [0, 1, None]
    assert first.models and second.models and first.models != second.models
    assert first.models[0].is_resumable and not released.models
    given = released.predictions.inputs["weights"]
    assert isinstance(given, Raw)
    (file,) = given.declared.files
    assert file.sha256.startswith("bebe69710c2d") and file.licence.startswith("MIT")


def test_their_networks_are_small_and_want_no_gpu(tmp_path):
    made = plan(tmp_path)
    assert {made.gpus(artefact) for artefact in made.artefacts.values()} == {0}
    assert {made.ranks(artefact) for artefact in made.artefacts.values()} == {1}


def test_options_of_a_training_are_checked_when_it_is_planned(tmp_path):
    wrong = {"trajectory_cvae": {"train": {"epochs": 3}}}
    with pytest.raises(StpError, match=r"trajectory_cvae .*atlas_eth.*epochs"):
        plan(tmp_path, models=wrong)


@pytest.fixture
def eth(raw_mirror, tmp_path) -> tuple[Stages, object]:
    stages = Stages(tmp_path / "store", raw_mirror / "atlas/atlas_dataset/eth_data")
    data, _ = stages.prepare(
        ["biwi_eth.ndjson"], format="trajnetpp", files=["biwi_eth.ndjson"],
        step=6, dt=0.4, smooth=5, calibration=0.2, fewest=2,
    )  # fmt: skip
    return stages, data


@pytest.mark.sample_bytes
def test_social_gan_scores_as_printed(eth, raw_mirror, tmp_path):
    """0.787 on ETH (Table III), with 25 samples of our noise."""
    stages, data = eth
    name = "atlas/weights/sgan_eth_12.pt"
    content = (raw_mirror / name).read_bytes()
    files = {name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}}
    lock = tmp_path / "weights.lock.json"
    lock.write_text(json.dumps({"files": files}))
    stages.raw = raw_mirror
    made, told = stages.predict(data, "social_gan", weights=lock, predict={"samples": 25})
    assert told["samples"] == 25
    _, told = stages.score(data, made, "displacement.by_scenario", statistic="mean_of_members")
    assert told["values"]["displacement.by_scenario"] == pytest.approx(0.787, abs=0.003)
    with pytest.raises(StpError, match="social_gan"):
        stages.predict(data, "social_gan")


@pytest.mark.sample_bytes
def test_the_cvae_from_detections_to_scores(eth):
    stages, data = eth
    about = {"fit": "sgd", "seed": 1, "options": {"hidden": 8, "latents": 4}}
    trained, told = stages.calibrate(
        data, "trajectory_cvae", 0, **about, train={"steps": 20, "validate_every": 10}
    )
    assert told["steps"] == 20 and np.isfinite(told["validation_error"])
    assert pd.read_parquet(trained / "history.parquet")["step"].tolist() == [10, 20]
    assert set(torch.load(trained / "model.pt", weights_only=True)) == {"weights", "dt"}
    names = ("final_displacement.by_scenario", "position_nlp.mixture", "position_nlp.kde")
    made, _ = stages.predict(data, "trajectory_cvae", trained, predict={"samples": 25})
    mixture = pd.read_parquet(made / densities.MIXTURES)
    assert mixture["component"].nunique() == 4
    _, told = stages.score(data, made, *names, statistic="mean_of_members")
    assert all(np.isfinite(value) for value in told["values"].values())
