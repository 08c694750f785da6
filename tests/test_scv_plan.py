"""The benchmark of video models: its cells, and the printed values that belong to them."""

from pathlib import Path

import pytest

from stp.collect.published import of_cell, read_published
from stp.core.errors import StpError
from stp.plan import config
from stp.plan.cells import Plan
from stp.plan.manifests import manifest
from stp.plan.model import Model

ROOT = Path(__file__).parents[1]


def test_each_model_has_one_printed_value_of_each_dataset() -> None:
    """Table 2; all values of SCV have a note, so none gets a difference."""
    plan = Plan.load(ROOT / "config" / "scv.yaml")
    made = manifest(plan, "scv_benchmark")
    values = read_published(ROOT / "config" / "suites" / "scv" / "published.csv")
    assert len(values) == 40
    found = {}
    for cell in made.cells:
        key = cell.key
        printed = of_cell(made, cell, values)
        if key.model == "persistence":
            assert not printed
            continue
        (value,) = printed
        assert value.metric == "FVD"
        assert bool(value.note) == key.trained_on.startswith("scv_")
        found[key.model, key.trained_on] = value
    assert len(found) == 40
    assert found["svg", "scv_rtwm_128"].value == 2031.4
    assert "transcription" in found["svg", "scv_rtwm_128"].note
    assert "doubtful" in found["cdna", "scv_mutb_128"].note
    facts = made.datasets
    lengths = {name: (facts[name].context, facts[name].horizon) for name in ("bair", "kth")}
    assert lengths == {"bair": (2, 14), "kth": (10, 10)}
    assert facts["scv_rtwm_64"].horizon == 30


def test_the_population_is_a_grid_of_trainings_at_stages_of_each() -> None:
    """3 learning rates; 4 weights of the divergence, and with SAVP 4 x 4 of its adversaries."""
    plan = Plan.load(ROOT / "config" / "scv-population.yaml")
    trainings: dict[str, set[str]] = {}
    for made in plan.cells:
        (model,) = made.models
        trainings.setdefault(made.cell.model, set()).add(model.folder)
    counts = {model: len(found) for model, found in trainings.items()}
    assert counts == {"cdna": 3, "sv2p": 3 * 4, "svg": 3 * 4, "savp": 3 * 4 * 4 * 4}
    assert len(plan.cells) == 16 * sum(counts.values()) == 3504
    (one,) = (
        made
        for made in plan.cells
        if made.cell.variant == "lr_0_0001_kl_weight_1e_06"
        and (made.cell.model, made.cell.setting) == ("svg", "horizon-14+update-30000")
    )
    recipe = one.models[0].recipe
    assert (recipe["train"]["lr"], recipe["options"]["kl_weight"]) == (1e-4, 1e-6)
    assert recipe["train"]["iterations"] == recipe["train"]["snapshots"][-1] == 300_000
    assert one.scores.recipe["rollout"]["update"] == 30_000


def test_a_grid_that_a_model_lacks_or_whose_names_are_taken_is_refused() -> None:
    scale = {"scale": "x", "suite": "scv", "seeds": [0]}
    cells = {"models": ["persistence"], "cells": [{"trained_on": "bair", "variant": "searched"}]}
    with pytest.raises(StpError, match="'searched'"):
        config.load({**scale, "dimensions": {"scv_benchmark": cells}})
    facts = {"title": "SVG", "reference": "", "fit": "sgd"}
    grids = {name: {"values": {"train.lr": [0.1]}} for name in ("one", "two")}
    with pytest.raises(StpError, match=r"two .*lr_0_1"):
        Model(**facts, grids=grids).with_grids()
