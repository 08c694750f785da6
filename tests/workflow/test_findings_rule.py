"""Findings and the effect of conventions are made by rules, of whatever dimensions there are."""

from pathlib import Path

import pytest
import yaml
from asking import csv_rows
from checkout import Checkout

pytestmark = [pytest.mark.slow, pytest.mark.long(part="kinds")]
FINDINGS = "results/tables/findings.csv"
EFFECTS = "results/tables/convention_effects.csv"
SCALE = "tests/workflow/tiny.yaml"


@pytest.fixture
def checkout(tiny: Checkout, tmp_path: Path) -> Checkout:
    """A checkout whose tiny scale has two dimensions of one small dataset; one is finished."""
    checkout = Checkout.beside(tiny, tmp_path)
    path = checkout.folder / SCALE
    scale = yaml.safe_load(path.read_text())
    scale["dimensions"] = {
        "short_term": {"models": ["persistence", "convlstm"], "datasets": ["enso"]},
        "long_term": {"models": ["persistence"], "cells": [{"trained_on": "enso"}]},
    }
    path.write_text(yaml.safe_dump(scale))
    return checkout


def make(checkout: Checkout) -> str:
    targets = [FINDINGS, EFFECTS]
    return checkout.succeed(
        "snakemake", "--profile", "local", "--configfile", SCALE, "--", *targets
    )


def test_all_dimensions_are_collected_first_and_a_changed_query_renders_again(checkout: Checkout):
    make(checkout)
    table = checkout.folder / FINDINGS
    rows = csv_rows(table)
    assert {int(row["finding"]) for row in rows} == set(range(1, 12))
    ours = [row for row in rows if row["side"] == "ours" and row["tested"] == "enso"]
    assert {row["about"] for row in ours if row["finding"] == "3"} == {
        "NOT COMPARABLE WITH THE PAPER: synthetic data, tiny protocol"
    }
    assert (checkout.folder / "results/tiny/collected/long_term.parquet").is_file()
    for kind in ("md", "tex", "html"):
        assert table.with_suffix(f".{kind}").is_file()
        assert (checkout.folder / EFFECTS).with_suffix(f".{kind}").is_file()
    effects = csv_rows(checkout.folder / EFFECTS)
    assert {"nino34", "rmse"} <= {row["metric"] for row in effects}
    assert {row["models"] for row in effects} == {"2"}  # one model alone is no ranking

    before = table.stat().st_mtime_ns
    make(checkout)
    assert table.stat().st_mtime_ns == before
    (path,) = (checkout.folder / "config/suites/predbench/findings").glob("03_*.sql")
    path.write_text(path.read_text().replace("-- title: Earthformer excels", "-- title: It excels"))
    make(checkout)
    assert "It excels" in table.read_text()
