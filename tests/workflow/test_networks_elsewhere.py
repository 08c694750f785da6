"""Networks of ChaosBench on fields of another suite: from generated data to a table."""

from pathlib import Path

import pytest
import yaml
from asking import csv_rows
from checkout import TABLE, Checkout

pytestmark = [pytest.mark.slow, pytest.mark.long(part="suites")]


def test_networks_of_chaosbench_forecast_the_ocean_of_another_suite(tmp_path: Path) -> None:
    """Of 12 frames, 14 are forecast: five networks see their own, one is told the lead time."""
    checkout = Checkout.create(tmp_path / "checkout", tmp_path / "shared")
    scale = yaml.safe_load((checkout.folder / "tests/workflow/tiny.yaml").read_text())
    models = ["persistence", "lagged_ae", "resnet", "unet", "fno", "vae", "climax"]
    scale["dimensions"] = {"short_term": {"datasets": ["enso"], "models": models}}
    scale["datasets"].pop("moving_mnist")
    scale["models"] = {
        "lagged_ae": {"options": {"channels": [4, 8]}},
        "resnet": {"options": {"blocks": [1, 1], "width": 4, "channels": [8, 4]}},
        "unet": {"options": {"channels": [4, 8]}},
        "fno": {"options": {"channels": [4, 4], "modes": [2, 2]}},
        "vae": {"options": {"channels": [4, 8], "latent": 4}},
        "climax": {"options": {"patch": 4, "width": 8, "depth": 1, "heads": 2}},
    }
    file = checkout.folder / "elsewhere.yaml"
    file.write_text(yaml.safe_dump(scale))
    checkout.succeed("snakemake", "--profile", "local", "--configfile", file.name, "--", TABLE)
    rows = csv_rows(checkout.folder / TABLE)
    assert len({row["model"] for row in rows}) == len(rows) == len(models)
    assert all(float(row["RMSE"]) > 0 for row in rows)
