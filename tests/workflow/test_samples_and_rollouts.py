"""Through Snakemake to the table: several samples of each forecast, and forecasts that are scored
while they are made."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import yaml
from checkout import TABLE, Checkout

pytestmark = [pytest.mark.slow, pytest.mark.long(part="kinds")]
LONG_TERM = "results/tables/long_term.csv"
SCALE = "tests/workflow/tiny.yaml"
COMMAND = (
    "snakemake",
    "--profile",
    "local",
    "--configfile",
    SCALE,
    "--",
    TABLE,
    LONG_TERM,
    "results/tables/generalization.csv",
)


@pytest.fixture(scope="module")
def checkout(tiny: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A tiny MCVD with 3 samples, and long forecasts of which 2 are stored; their tables."""
    checkout = Checkout.beside(tiny, tmp_path_factory.mktemp("samples"))
    path = checkout.folder / SCALE
    scale = yaml.safe_load(path.read_text())
    case = {"trained_on": "enso", "setting": {"horizon": 14}}
    scale["dimensions"] = {
        "short_term": {"models": ["persistence", "mcvd"], "datasets": ["enso"]},
        "long_term": {"models": ["persistence", "convlstm"], "cells": [{**case, "keep": 2}]},
        "generalization": {"models": ["convlstm"], "cells": [case]},  # the same, stored
    }
    scale["models"]["mcvd"] = {
        "options": {
            "width": 8,
            "multipliers": [1],
            "blocks": 1,
            "attention_widths": [],
            "spade_width": 8,
            "noise_levels": 10,
            "sampler": {"steps": 2},
        },
        "train": {"iterations": 2},
        "predict": {"samples": 3},
        "statistic": "best_of_members",
    }
    path.write_text(yaml.safe_dump(scale))
    checkout.succeed(*COMMAND)
    return checkout


def rows(path: Path) -> dict[str, dict[str, str]]:
    with path.open() as file:
        return {row["model"]: row for row in csv.DictReader(file)}


def test_the_table_says_how_many_samples_there_are(checkout: Checkout):
    found = rows(checkout.folder / TABLE)
    assert "3 samples of each clip, best of" in found["MCVD"]["notes"]
    assert "samples" not in found["Persistence"]["notes"]
    assert found["MCVD"]["comparable"] == "NO"
    assert float(found["MCVD"]["RMSE"]) > 0
    counted = checkout.ask(
        "SELECT model, samples, statistic FROM cells WHERE dimension = 'short_term' ORDER BY ALL"
    )
    assert counted == [("mcvd", 3, "best_of_members"), ("persistence", 1, None)]


def test_an_ensemble_is_scored_as_one(checkout: Checkout):
    found = dict(
        checkout.ask(
            "SELECT convention, value FROM scores WHERE model = 'mcvd' AND "
            "statistic = 'mean' AND lead IS NULL AND "
            "(convention LIKE 'crps%' OR convention LIKE 'spread%')"
        )
    )
    assert set(found) == {"crps.fair", "spread.pooled", "spread.skill_ratio"}
    assert found["spread.pooled"] > 0
    assert not checkout.ask(
        "SELECT * FROM scores WHERE model = 'persistence' AND convention LIKE 'crps%'"
    )
    # a correlation over all samples has no best member
    ((reason,),) = checkout.ask(
        "SELECT DISTINCT reason FROM scores WHERE model = 'mcvd' AND "
        "convention = 'nino34.correlation'"
    )
    assert "no best member" in reason


def test_forecasts_that_are_not_stored_have_the_scores_of_those_that_are(checkout: Checkout):
    found = rows(checkout.folder / LONG_TERM)
    stored = rows(checkout.folder / "results/tables/generalization.csv")
    for column in ("C-Nino3.4", "RMSE"):
        assert found["ConvLSTM"][column] == stored["ConvLSTM"][column] != ""
    cells = checkout.ask(
        "SELECT model, kept, predictions_folder FROM cells WHERE "
        "dimension = 'long_term' ORDER BY ALL"
    )
    assert cells == [("convlstm", 2, None), ("persistence", 2, None)]
    assert not list((checkout.store / "predictions").glob("long_term/**/artefact.json"))


def test_a_few_of_them_are_stored_beside_the_scores(checkout: Checkout):
    manifest = json.loads((checkout.folder / "results/tiny/plan/long_term.json").read_text())
    (cell,) = (c for c in manifest["cells"] if c["key"]["model"] == "convlstm")
    manifest = json.loads((checkout.folder / "results/tiny/plan/generalization.json").read_text())
    (stored,) = manifest["cells"]
    kept, everything = (
        xr.open_zarr(Path(folder) / "predictions.zarr", consolidated=False).predictions
        for folder in (cell["scores"], stored["predictions"])
    )
    assert len(kept) == 2 < len(everything)
    np.testing.assert_array_equal(kept, everything.sel(sample=kept.sample))


def test_a_second_run_has_nothing_to_do_and_gc_nothing_to_drop(checkout: Checkout):
    done = checkout.run(*COMMAND)
    assert done.returncode == 0 and "Nothing to be done" in done.stdout
    done = checkout.run(
        "stp", "store", "gc", "--predictions", "--older-than", "0", "--configfile", SCALE
    )
    assert done.returncode == 0 and "long_term" not in done.stdout, done.stdout
    checkout.succeed("stp", "status", "--configfile", SCALE)


def test_why_and_plan_know_them(checkout: Checkout):
    done = checkout.run("stp", "why", "long_term", "convlstm", "--configfile", SCALE)
    assert done.returncode == 0 and "is done" in done.stdout, done.stdout
    done = checkout.run("stp", "plan", "--list", "--configfile", SCALE)
    assert done.returncode == 0 and "convlstm" in done.stdout, done.stdout
