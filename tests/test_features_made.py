"""FVD through the plan: weights of a seeded I3D, features, scores; stored forecasts or not."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
import yaml

from stp.core.file_identity import identify
from stp.core.fingerprint import SHELL_OF_CORES
from stp.core.imports import analyse_source
from stp.core.receipts import require_receipt
from stp.data import feature_table as table
from stp.metrics import frechet
from stp.metrics.networks.i3d import I3D
from stp.plan import config
from stp.plan import weights as network_weights
from stp.plan.cells import Plan
from stp.plan.checked_config import merge
from stp.plan.column import Column
from stp.plan.manifest import columns_of
from stp.plan.manifests import manifest
from stp.run import runner

ROOT = Path(__file__).parent.parent
TINY = ROOT / "tests" / "workflow" / "tiny.yaml"
NAME = "predicted_only/i3d.logits"
pytestmark = pytest.mark.long(part="kinds")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Persistence on three clips: predictions that are stored, and that are not."""
    root = tmp_path_factory.mktemp("features")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("store", "raw", "weights"):
            patch.setenv(f"STP_{name.upper()}_DIR", str(root / name))
        (root / "weights").mkdir()
        torch.manual_seed(0)
        torch.save(I3D().state_dict(), root / "weights" / "seeded.pt")
        known = network_weights.read_declared_weights()
        sums = {"file": "seeded.pt", "sha256": identify(root / "weights" / "seeded.pt")["sha256"]}
        file = network_weights.WeightFile(**sums)
        known["i3d"] = known["i3d"].model_copy(update={"files": (file,)})
        patch.setattr(network_weights, "read_declared_weights", lambda *_: known)
        cells = [{"trained_on": "moving_mnist"}]
        rolled = [{"trained_on": "moving_mnist", "keep": 1}]
        scale = merge(
            yaml.safe_load(TINY.read_text()),
            {
                "datasets": {"moving_mnist": {"prepare": {"clips": {"test": 3}}}},
                "dimensions": {
                    "short_term": {"models": ["persistence"], "datasets": [], "cells": cells},
                    "robustness": {"models": ["persistence"], "cells": rolled},
                },
            },
        )
        plan = Plan(config.load(scale))
        runner.fetch(plan, plan.raw("moving_mnist"))
        for artefact in plan.artefacts.values():
            runner.make(plan, artefact)
        yield plan


def test_a_distance_is_made_from_features_that_are_artefacts(made):
    stored = made.cells[0]
    observed, predicted = (table.read(made.store / one.folder).values for one in stored.features)
    assert observed.shape == predicted.shape == (3, 400)
    rows = pq.read_table(made.store / stored.perceptual.folder / "scores.parquet").to_pylist()
    (row,) = (row for row in rows if row["convention"] == "fvd.predicted_only")
    assert row["value"] == frechet.distance(observed, predicted) and row["n"] == 3
    receipt = require_receipt(made.store / stored.perceptual.folder)
    assert receipt.inputs[f"{NAME}.predicted"] == stored.features[1].folder
    looked = require_receipt(made.store / stored.features[1].folder)
    assert set(looked.files) == {"features.parquet"} and looked.extras["features"] == 400


def test_forecasts_that_are_not_stored_have_the_same_features(made):
    stored, rolled = made.cells
    assert stored.features[0] == rolled.features[0], "what was observed is looked at once"
    assert stored.features[1].folder != rolled.features[1].folder
    values = [table.read(made.store / one.features[1].folder).values for one in (stored, rolled)]
    assert np.array_equal(*values)
    scores = [
        pq.read_table(made.store / one.perceptual.folder / "scores.parquet")["value"].to_pylist()
        for one in (stored, rolled)
    ]
    assert scores[0] == scores[1]


def test_tables_know_what_is_behind_a_cell(made):
    (cell,) = manifest(made, "short_term").cells
    folders = [str(made.store / one.folder) for one in made.cells[0].features]
    assert cell.features == tuple(folders)


def test_columns_of_several_forecasts_take_the_place_of_the_plain_ones(made):
    planned = manifest(made, "short_term")
    (cell,) = planned.cells
    columns = [
        Column(heading="PSNR", convention="psnr.per_frame"),
        Column(heading="FVD", convention="fvd.predicted_only"),
        Column(heading="MSE", convention="mse.pixel_mean"),
    ]
    sampled = [
        Column(heading="PSNR-{members}", convention="psnr.per_frame"),
        Column(heading="FVD-{seen}", convention="fvd.predicted_only"),
        Column(heading="CRPS-of-{K}", convention="crps.fair"),
    ]
    tested = cell.key.tested_on
    of_table = replace(
        planned.tables["short_term"],
        columns={tested: tuple(columns)},
        sampled={tested: tuple(sampled)},
    )
    planned = replace(planned, tables={"short_term": of_table})
    several = replace(cell, samples=100, statistic="best_of_members")
    shown = columns_of(planned, "short_term", several)
    assert {name: column.convention for name, column in shown.items()} == {
        "MSE": "mse.pixel_mean",
        "PSNR-best-of-100": "psnr.per_frame",
        "FVD-first-of-100": "fvd.predicted_only",
        "CRPS-of-100": "crps.fair",
    }
    assert list(columns_of(planned, "short_term", cell).values()) == columns


LOADED = """
import importlib, json, sys, tempfile
from pathlib import Path
from stp.core.job import Job
core, recipe, inputs, runtime = map(json.loads, sys.argv[1:])
out = Path(tempfile.mkdtemp())
importlib.import_module(core).run(Job(recipe, {k: Path(v) for k, v in inputs.items()}, out, out, runtime))
print(json.dumps(sorted(m for m in sys.modules if m == "stp" or m.startswith("stp."))))
"""  # noqa: E501


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(0, id="of predictions"),
        pytest.param(1, id="of a rollout", marks=pytest.mark.long(part="processes")),
    ],
)
def test_closures_hold_every_module_that_a_look_loads(made, number):
    artefact = made.cells[number].features[1]
    inputs = {name: str(made.store / one.folder) for name, one in artefact.inputs.items()}
    runtime = {"device": "cpu", **runner.weight_files(made, artefact)}
    given = (artefact.core, artefact.recipe, inputs, runtime)
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *map(json.dumps, given)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stdout.splitlines()[-1])) - SHELL_OF_CORES
    for module in loaded - set(artefact.code.modules):  # packages that only define names
        said = analyse_source((ROOT.joinpath(*module.split(".")) / "__init__.py").read_bytes())
        assert said.defines is not None, f"{module} is loaded, but not in the fingerprint"
