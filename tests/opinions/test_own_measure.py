"""The example of docs/pvqa.md: a CSV file of a measure becomes rows of Table 3, through a plan."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from asking import csv_rows
from fake_store import finish

from stp.collect.database import build
from stp.collect.scores import collect
from stp.opinions.prepared import open_database
from stp.plan import checked_config
from stp.plan.artefacts import Raw
from stp.plan.cells import Plan
from stp.plan.manifest import manifest_text
from stp.plan.manifests import manifest
from stp.render.tables.paper_table import render_table
from stp.run import runner

PAGE = (Path(__file__).parents[2] / "docs" / "pvqa.md").read_text()
(EXAMPLE,) = re.findall(r"```yaml\n(title: VMAF\n.*?)```", PAGE, re.DOTALL)
ON = {"trained_on": "pvqa", "subset": "published"}
SCALE = {
    "scale": "own",
    "suite": "pvqa",
    "dimensions": {
        "quality_measures": {
            "models": ["vmaf", "mean_opinion"],
            "cells": [ON, {**ON, "variant": "untrained", "models": ["vmaf"]}],
        }
    },
    "datasets": {
        "pvqa": {"release": "synthetic", "releases": {"synthetic": {"options": {"videos": 60}}}}
    },
    "runtime": {"device": "cpu"},
}


@pytest.fixture
def plan(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A plan with the measure, whose file and rated videos are there."""
    models = tmp_path / "own" / "config" / "models"
    models.mkdir(parents=True)
    (models / "vmaf.yaml").write_text(EXAMPLE)
    monkeypatch.setattr(checked_config, "extensions", lambda: (tmp_path / "own",))
    for name in ("store", "raw"):
        monkeypatch.setenv(f"STP_{name.upper()}_DIR", str(tmp_path / name))
    made = Plan.load(SCALE)
    shutil.copytree(data, finish(made, made.cells[0].data), dirs_exist_ok=True)
    database = open_database(data, 4)
    noise = np.random.default_rng(0).normal(size=len(database))
    rows = zip(database.names, database.mos + noise, strict=True)
    path = tmp_path / "raw" / "mine" / "vmaf.csv"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(["video,value", *(f"{name},{value}" for name, value in rows)]))
    return made


@pytest.mark.long(part="own")
def test_it_is_two_rows_of_the_table_beside_the_printed_one(plan: Plan, tmp_path: Path):
    for cell in plan.cells:
        assert cell.predictions is not None
        for raw in cell.predictions.inputs.values():
            if isinstance(raw, Raw):
                runner.fetch(plan, raw)
        for artefact in (cell.predictions, cell.scores):
            runner.make(plan, artefact)
    path, rows, base = (tmp_path / name for name in ("plan.json", "rows.parquet", "r.duckdb"))
    path.write_text(manifest_text(manifest(plan, "quality_measures")))
    collect(path, rows)
    build([path], [rows], base)
    out = tmp_path / "quality_measures.csv"
    render_table(path, base, out)
    actual = {row["model"]: row for row in csv_rows(out)}
    trained, untrained = (actual[f"VMAF [variant {name}]"] for name in ("default", "untrained"))
    assert float(trained["SROCC"]) > 0.9 and float(untrained["SROCC"]) > 0.9
    # The paper trains it.
    assert trained["SROCC published"] == "0.6003" and untrained["SROCC published"] == ""
    assert "VMAF" not in actual  # of the paper alone, as others still are
    assert actual["BRISQUE"]["SROCC"] == "" and actual["BRISQUE"]["SROCC published"] == "0.0905"
