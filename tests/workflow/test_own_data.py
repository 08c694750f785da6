"""Somebody's videos, with the commands of docs/own_data.md: from a folder to the table."""

import re

import numpy as np
import own_data as made
import pytest
from asking import csv_rows
from checkout import TABLE, Checkout

pytestmark = [pytest.mark.slow, pytest.mark.long(part="own")]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Checkout:
    """A checkout with a dataset that was drafted from a folder of videos, and small models."""
    folder = tmp_path_factory.mktemp("own")
    checkout = Checkout.create(folder / "checkout", folder / "shared")
    rng = np.random.default_rng(0)
    for i in range(20):
        levels = np.clip(120 + np.cumsum(rng.integers(-9, 10, 40)), 20, 220).tolist()
        made.video(folder / "lamp" / f"evening-{i:02d}.avi", levels, (16, 24), "mpeg4")
    drafted = checkout.succeed("stp", "new-dataset", str(folder / "lamp"), STP_RAW_MIRROR="")
    assert "test: 6 clips in 3 clusters" in drafted
    scale = checkout.folder / "config" / "lamp.yaml"
    text = scale.read_text()
    for pattern, smaller in (
        (r"models: \[.*\]", "models: [persistence, simvpv2]"),
        (r"hid_s: 8, hid_t: 64, n_s: 4, n_t: 3", "hid_s: 4, hid_t: 8, n_s: 2, n_t: 2"),
        (r"epochs: 10", "epochs: 1"),
    ):
        text, found = re.subn(pattern, smaller, text)
        assert found == 1
    scale.write_text(text)
    checkout.make(config="config/lamp.yaml", STP_RAW_MIRROR="")
    return checkout


def test_the_table(checkout):
    rows = csv_rows(checkout.folder / TABLE)
    assert [row["model"] for row in rows] == ["Persistence", "SimVPv2"]
    for row in rows:
        assert (row["source"], row["dataset"], row["n"]) == ("own", "Lamp", "6")
        assert row["comparable"] == "NO" and row["ssim.range1 published"] == ""
        assert row["notes"].startswith("own data, lamp protocol: nothing is published")
        assert float(row["mse.pixel_sum"]) > 0
    text = (checkout.folder / TABLE).with_suffix(".md").read_text()
    assert "## Lamp" in text and "NOT COMPARABLE" not in text and "ssim.range1 ↑" in text


def test_nothing_is_made_twice(checkout):
    again = checkout.snakemake("-n", config="config/lamp.yaml", STP_RAW_MIRROR="")
    assert again.returncode == 0 and "Nothing to be done" in again.stdout


def test_the_other_verbs_know_it(checkout):
    """Counts, pictures, costs, and the page of all datasets."""
    for command, expected in (
        (("stp", "list", "datasets", "lamp", "--configfile", "config/lamp.yaml"), "own"),
        (("stp", "draw", "clips", "lamp", "--configfile", "config/lamp.yaml"), "lamp.png"),
        (("stp", "plan", "--configfile", "config/lamp.yaml"), "train"),
        (("stp", "list", "datasets", "--page", "page.md"), "page.md"),
    ):
        done = checkout.run(*command, STP_RAW_MIRROR="")
        assert done.returncode == 0 and expected in done.stdout, done.stdout
    assert "own data" in (checkout.folder / "page.md").read_text()
