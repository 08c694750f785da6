"""Networks of ChaosBench on fields of another suite: from generated data to a table."""

import csv
from pathlib import Path

import pytest
import yaml
from checkout import TABLE, Checkout

pytestmark = [pytest.mark.slow, pytest.mark.long(part="suites")]


def test_networks_of_chaosbench_forecast_the_ocean_of_another_suite(tmp_path: Path) -> None:
    """Twelve frames of context, fourteen ahead: one is fed with its own, one is told the lead."""
    checkout = Checkout.create(tmp_path / "checkout", tmp_path / "shared")
    scale = yaml.safe_load((checkout.folder / "tests/workflow/tiny.yaml").read_text())
    models = ["persistence", "unet", "climax"]
    scale["dimensions"] = {"short_term": {"datasets": ["enso"], "models": models}}
    scale["datasets"].pop("moving_mnist")
    scale["models"] = {
        "unet": {"options": {"channels": [4, 8]}},
        "climax": {"options": {"patch": 4, "width": 8, "depth": 1, "heads": 2}},
    }
    file = checkout.folder / "elsewhere.yaml"
    file.write_text(yaml.safe_dump(scale))
    done = checkout.run("snakemake", "--profile", "local", "--configfile", file.name, "--", TABLE)
    assert done.returncode == 0, done.stdout
    with (checkout.folder / TABLE).open(newline="") as table:
        rows = list(csv.DictReader(table))
    assert len(rows) == len(models)
    assert all(float(row["RMSE"]) > 0 for row in rows)
