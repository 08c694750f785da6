"""Each network of ChaosBench, trained as in the demo, beats persistence one day ahead.

Generated atmosphere, networks and trainings are those of the demo's scale file, so the trained
networks are the same: their fingerprints are. Left out are centres, climatologies and schemes.
"""

import pytest
import yaml
from asking import csv_rows
from checkout import ROOT, Checkout

from stp.plan.cells import Plan

pytestmark = [pytest.mark.slow, pytest.mark.long(part="networks")]
SCALE = "config/chaosbench-demo.yaml"
CONTROL, ENSEMBLE = "results/tables/s2s_control.csv", "results/tables/s2s_ensemble.csv"
FINDINGS = "results/tables/s2s_findings.csv"
NETWORKS = ["lagged_ae", "resnet", "unet", "fno", "climax"]
VARIABLES = ("t850", "z500", "q700")


def networks_of(plan: Plan) -> dict[str, str]:
    """Folders of the trained networks, with their fingerprints, by model."""
    return {
        made.cell.model: made.models[0].folder
        for made in plan.cells
        if made.models and made.cell.variant == "default"
    }


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout whose scale file has nothing but persistence and six networks."""
    folder = tmp_path_factory.mktemp("persistence")
    checkout = Checkout.create(folder / "checkout", folder / "shared")
    path = checkout.folder / SCALE
    scale = yaml.safe_load(path.read_text())
    scale["dimensions"] = {
        dimension: {
            "models": models,
            "cells": [{"trained_on": "chaosbench", "keep": 1, "subset": ["test", "untouched"]}],
        }
        for dimension, models in (
            ("s2s_control", ["persistence", *NETWORKS]),
            ("s2s_ensemble", ["vae"]),
        )
    }
    of_demo = networks_of(Plan.load(ROOT / SCALE))
    assert networks_of(Plan.load(scale)) == of_demo and {*of_demo} == {*NETWORKS, "vae"}
    path.write_text(yaml.safe_dump(scale))
    checkout.succeed(
        "snakemake", "--profile", "local", "--configfile", SCALE, "--", CONTROL, ENSEMBLE, FINDINGS
    )
    return checkout


def rows(checkout: Checkout, table: str) -> list[dict[str, str]]:
    return csv_rows(checkout.folder / table)


def test_the_tables_say_that_each_network_beats_persistence(trained: Checkout) -> None:
    """On the starts of the test, and on those of a year by whose errors nothing was chosen."""
    control = rows(trained, CONTROL)
    persistence = {row["dataset"]: row for row in control if row["model"] == "Persistence"}
    assert set(persistence) == {"ChaosBench", "ChaosBench, untouched"}
    networks = [row for row in control if row["model"] != "Persistence"]
    networks += rows(trained, ENSEMBLE)
    assert len(networks) == 6 * len(persistence)
    for row in networks:
        for column in (f"{variable} RMSE day 1" for variable in VARIABLES):
            of_persistence = float(persistence[row["dataset"]][column])
            assert float(row[column]) < of_persistence, (row["model"], row["dataset"], column)


def test_so_does_finding_9(trained: Checkout) -> None:
    found = [row for row in rows(trained, FINDINGS) if row["finding"] == "9"]
    assert {row["verdict"] for row in found} == {"holds"}
    parts = {row["part"]: (row["yes"], row["no"]) for row in found}
    assert parts == {"a. test starts": ("18", "0"), "b. untouched starts": ("18", "0")}
