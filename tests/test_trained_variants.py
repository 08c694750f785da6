"""Variants that are trained: a network for each lead time, snapshots, points of a grid."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import xarray as xr
import yaml

from stp.core import store
from stp.core.errors import StpError
from stp.core.receipts import require_receipt
from stp.plan import config
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER, merge
from stp.run import runner
from stp.run.costs import summary

TINY = Path(__file__).parent / "workflow" / "tiny.yaml"
LEADS = (1, 5, 10, 15, 20)
RATES = (1e-4, 3e-4, 1e-3, 3e-3)
WIDTHS = (64, 256)
UPDATES = (10_000, 30_000, 100_000, 300_000)

VARIANTS = {
    "direct": {"title": "one network for each lead", "lead_times": list(LEADS), "per_lead": True},
    "sparse": {"title": "some leads of one network", "lead_times": list(LEADS)},
    **{
        f"lr_{rate * 1e4:g}_width_{width}": {
            "title": f"learning rate {rate:g}, width {width}",
            "options": {"hid_t": width},
            "train": {"lr": rate, "iterations": UPDATES[-1], "snapshots": list(UPDATES)},
        }
        for rate in RATES
        for width in WIDTHS
    },
}
GRID = [name for name in VARIANTS if name.startswith("lr")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The project's facts, and variants of SimVPv2."""
    copied = tmp_path_factory.mktemp("facts") / "config"
    shutil.copytree(CONFIG_FOLDER, copied)
    path = copied / "models" / "simvpv2.yaml"
    path.write_text(yaml.safe_dump(merge(yaml.safe_load(path.read_text()), {"variants": VARIANTS})))
    return copied


def scale(*cells, models=("simvpv2",), **more):
    wanted = {"long_term": {"models": list(models), "cells": list(cells)}}
    return {"scale": "variants", "seeds": [0, 1], "dimensions": wanted, **more}


POPULATION = (
    {"trained_on": "weatherbench", "subset": "extrapolation", "setting": {"horizon": 20}},
    {
        "trained_on": "weatherbench",
        "subset": "extrapolation",
        "setting": {"horizon": 20},
        "variant": ["direct", "sparse"],
        "keep": 4,
    },
    {
        "trained_on": ["weatherbench", "bair"],
        "setting": {"update": list(UPDATES)},
        "variant": GRID,
    },
)


@pytest.fixture(scope="module")
def population(folder) -> Plan:
    """At the size of a paper: 69 variables of 128 x 256, and 64 x 64 video; two seeds."""
    return Plan(config.load(scale(*POPULATION), folder))


def trainings(plan, variant):
    found = [m for made in plan.cells if made.cell.variant == variant for m in made.models]
    return {artefact.folder: artefact for artefact in found}


def test_variants_are_trained_on_their_own_unless_they_change_forecasts_alone(population):
    per_variant = {name: set(trainings(population, name)) for name in ("default", *VARIANTS)}
    assert {name: len(found) for name, found in per_variant.items()} == {
        "default": 2,
        "direct": 2 * len(LEADS),
        "sparse": 2,
        **dict.fromkeys(GRID, 2 * 2),
    }
    assert per_variant["sparse"] == per_variant.pop("default")
    everything = [folder for found in per_variant.values() for folder in found]
    assert len(everything) == len(set(everything))
    for name in GRID:
        assert all(folder.split("/")[3] == name for folder in per_variant[name])


def test_a_network_for_each_lead_has_a_path_and_a_recipe_of_its_own(population):
    found = trainings(population, "direct").values()
    where = {(a.folder.split("/")[3], a.recipe["seed"]): a for a in found}
    assert set(where) == {(f"default+lead-{lead}", seed) for lead in LEADS for seed in (0, 1)}
    assert {a.recipe["lead"] for a in found} == set(LEADS)
    assert {a.recipe["horizon"] for a in found} == {1}
    assert where["default+lead-5", 1].label == "simvpv2 on weatherbench, lead 5, seed 1"
    rule = next(iter(found))
    assert rule.rule == "train"


def test_forecasts_wait_for_the_networks_of_all_leads(population):
    made = next(made for made in population.cells if made.cell.variant == "direct")
    waits = population.inputs(made.scores)  # scored while they are made
    assert [str(population.store / model.receipt) for model in made.models] == waits[1:]
    assert set(made.scores.inputs) == {"data", *(f"model-lead-{lead}" for lead in LEADS)}
    rollout = made.scores.recipe["rollout"]
    assert (rollout["leads"], rollout["per_lead"]) == (list(LEADS), True)
    sparse = next(made for made in population.cells if made.cell.variant == "sparse")
    assert sparse.scores.recipe["rollout"]["leads"] == list(LEADS)
    assert set(sparse.scores.inputs) == {"data", "model"}


def test_leads_beyond_the_horizon_of_a_cell_are_left_out(folder):
    cell = {"trained_on": "weatherbench", "variant": "direct"}
    cells = [{**cell, "setting": {"horizon": horizon}} for horizon in (20, 12)]
    long, short = Plan(config.load(scale(*cells, seeds=[0]), folder)).cells
    assert short.predictions.recipe["leads"] == [1, 5, 10]
    assert short.models == long.models[:3], "trainings are shared"


def test_snapshots_share_a_training(population):
    for name in GRID:
        cells = [made for made in population.cells if made.cell.variant == name]
        assert len(cells) == 2 * 2 * len(UPDATES)
        assert len({made.predictions.folder for made in cells}) == len(cells)
        assert len({made.models for made in cells}) == 2 * 2
        assert {made.predictions.recipe["update"] for made in cells} == set(UPDATES)
    made = cells[0]
    assert made.cell.setting.endswith("+update-10000")
    assert "after 10,000 updates" in str(made.cell)


def test_variants_leave_what_was_there_as_it_was(population, folder):
    plain = Plan(config.load(scale(POPULATION[0])))  # without any variant in the facts
    assert {m.models for m in plain.cells} == {
        made.models for made in population.cells if made.cell.variant == "default"
    }


def test_a_learning_rate_changes_its_own_trainings_only(population, folder, tmp_path):
    changed = tmp_path / "config"
    shutil.copytree(folder, changed)
    path, name = changed / "models" / "simvpv2.yaml", GRID[0]
    facts = yaml.safe_load(path.read_text())
    facts["variants"][name]["train"]["lr"] *= 2
    path.write_text(yaml.safe_dump(facts))
    other = Plan(config.load(scale(*POPULATION), changed))
    gone = set(population.artefacts) - set(other.artefacts)
    assert {folder.split("/")[0] for folder in gone} == {"models", "predictions", "scores"}
    assert all(name in folder.split("/") for folder in gone)


def test_the_cost_of_a_population_is_told(population):
    found = {entry.what: entry for entry in summary.entries(population) if entry.stage == "train"}
    one = found["simvpv2 on bair, lr_10_width_256, seed 0"]
    assert one.cost.seconds > 0
    direct = [entry for what, entry in found.items() if ", lead" in what]
    assert len(direct) == 2 * len(LEADS) and all(entry.cost.seconds > 0 for entry in direct)
    weights = found["simvpv2 on weatherbench, seed 0"].cost.bytes
    kept = found["simvpv2 on weatherbench, lr_10_width_256, seed 0"].cost.bytes
    assert kept == (1 + len(UPDATES)) * weights


@pytest.mark.parametrize(
    ("cell", "models", "message"),
    [
        ({"setting": {"update": 20_000}, "variant": GRID[0]}, ["simvpv2"], "update 20000"),
        ({"setting": {"update": 10_000}}, ["simvpv2"], "update 10000"),
        ({"setting": {"update": 10_000}}, ["persistence"], "update 10000"),
        ({"variant": "other"}, ["simvpv2"], "simvpv2 .*'other'"),
        ({"variant": "direct"}, ["convlstm"], "convlstm .*'direct'"),
    ],
)
def test_what_no_training_leaves_is_refused(folder, cell, models, message):
    with pytest.raises(StpError, match=message):
        Plan(config.load(scale({"trained_on": "bair", **cell}, models=models), folder))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"lead_times": [5, 1]}, "lead_times"),
        ({"lead_times": [1, 1]}, "lead_times"),
        ({"lead_times": [0]}, "lead_times.0"),
        ({"per_lead": True}, "lead_times"),
        ({"lead_times": [99], "per_lead": True}, r"\[99\]"),
    ],
)
def test_lead_times_that_cannot_be_are_refused(model, message):
    with pytest.raises(StpError, match=message):
        Plan(config.load(scale({"trained_on": "bair"}) | {"models": {"simvpv2": model}}))


def test_only_what_is_trained_by_gradient_descent_has_a_network_for_each_lead():
    given = {"climatology": {"lead_times": [1], "per_lead": True}}
    with pytest.raises(StpError, match="climatology on bair: per_lead"):
        Plan(config.load(scale({"trained_on": "bair"}, models=["climatology"]) | {"models": given}))


# One that is really trained


@pytest.fixture(scope="module")
def trained(tmp_path_factory, tiny_enso):
    """Planned: a direct variant of three leads, and one with snapshots, of little data."""
    root = tmp_path_factory.mktemp("trained")
    shutil.copytree(tiny_enso, root, dirs_exist_ok=True)
    facts = root / "config"
    shutil.copytree(CONFIG_FOLDER, facts)
    path = facts / "models" / "convlstm.yaml"
    variants = {
        "direct": {"title": "direct", "lead_times": [1, 2, 3], "per_lead": True},
        "sparse": {"title": "sparse", "lead_times": [1, 3], "per_lead": True},
        "early": {"title": "early", "train": {"snapshots": [1, 3]}},
    }
    path.write_text(yaml.safe_dump(merge(yaml.safe_load(path.read_text()), {"variants": variants})))
    tiny = merge(yaml.safe_load(TINY.read_text()), {"datasets": {"enso": {"horizon": 3}}})
    cells = [
        {"trained_on": "enso", "variant": "direct"},
        {"trained_on": "enso", "variant": "sparse"},
        {"trained_on": "enso", "variant": "early", "setting": {"update": [None, 1, 3]}},
    ]
    tiny["dimensions"] = {"short_term": {"models": ["convlstm"], "cells": cells}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STP_STORE_DIR", str(root / "store"))
        patch.setenv("STP_RAW_DIR", str(root / "raw"))
        plan = Plan(config.load(tiny, facts))
        runner.fetch(plan, plan.raw("enso"))
        yield plan


def make(plan, *cells):
    """What cells need and are; whatever there is already is adopted."""
    for made in cells:
        for artefact in made.artefacts:
            runner.make(plan, artefact)


def forecasts(plan, made):
    path = plan.store / made.predictions.folder / "predictions.zarr"
    return xr.open_zarr(path, consolidated=False)["predictions"].values


@pytest.mark.long(part="learning")
def test_a_direct_forecast_is_made_of_its_networks(trained):
    made = trained.cells[0]
    make(trained, made)
    receipt = require_receipt(trained.store / made.predictions.folder)
    assert receipt.inputs == {
        "data": made.data.folder,
        **{f"model-lead-{n}": model.folder for n, model in enumerate(made.models, start=1)},
    }
    assert forecasts(trained, made).shape[1] == 3
    assert store.is_complete(trained.store / made.scores.folder)


@pytest.mark.long(part="suites")
def test_lead_times_without_a_network_have_no_scores(trained):
    make(trained, *trained.cells[:2])
    direct, sparse = (
        {
            (row["convention"], row["variable"], row["lead"]): row["value"]
            for row in pq.read_table(
                trained.store / made.scores.folder / "scores.parquet"
            ).to_pylist()
            if row["lead"] is not None and row["statistic"] == "mean"
        }
        for made in trained.cells[:2]
    )
    there = {key: value for key, value in sparse.items() if value is not None}
    assert {lead for *_, lead in there} == {1, 3}
    # the same trainings under another name; but a mean over three months needs them all
    assert there == {key: direct[key] for key in there}
    assert {name for name, *_ in direct} - {name for name, *_ in there} == {
        name for name, *_ in direct if name.startswith("nino34")
    }
    assert any(lead == 2 for *_, lead in direct)


def test_snapshots_are_files_of_one_artefact(trained):
    _, _, best, first, third = trained.cells
    make(trained, best, first, third)
    assert best.models == first.models == third.models
    receipt = require_receipt(trained.store / best.models[0].folder)
    assert set(receipt.files) == {
        "model.pt",
        "history.parquet",
        "snapshots/update-1.pt",
        "snapshots/update-3.pt",
    }
    assert receipt.extras["snapshots"] == [1, 3]
    values = [forecasts(trained, made) for made in (best, first, third)]
    assert not np.array_equal(values[1], values[2])
    assert not np.array_equal(values[0], values[1])
