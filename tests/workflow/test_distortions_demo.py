"""The study of distortions by its rules: every table and figure, its findings among them."""

from pathlib import Path

import pytest
import yaml
from asking import csv_rows
from checkout import Checkout

pytestmark = [pytest.mark.slow, pytest.mark.long(part="suites")]
SCALE = "config/fvd-demo.yaml"
ALL = "results/tables/all"
TABLES = {
    *("video_distortions", "noise_study", "sample_size", "metric_correlations"),
    *("content_motion", "trust_cards", "fvd_findings", "convention_effects"),
    "agreement_with_people",
}


def make(checkout: Checkout) -> str:
    return checkout.make(config=SCALE, targets=(ALL,))


def test_the_demo_makes_every_table_and_one_edit_renders_one_again(tmp_path: Path) -> None:
    """The demo with three distortions at three intensities, on eleven clips of nine frames."""
    checkout = Checkout.create(tmp_path / "checkout", tmp_path / "shared")
    path = checkout.folder / SCALE
    scale = yaml.safe_load(path.read_text())
    scale["dimensions"]["video_distortions"] = {
        "models": ["gaussian_noise", "local_swap", "switching"],
        "cells": [{"trained_on": "bair", "setting": {"intensity": [1, 2, 5]}}],
    }
    films = {"options": {"train": 9, "test": 11, "frames": 9}}
    films["prepare"] = {"frames": 9, "trajectories": {"train": 9, "test": 11}}
    metrics = ["fvd.random_logits", "average_fid.random_means", "fvd.predicted_only", "psnr.pooled"]
    scale["datasets"]["bair"] |= {"horizon": 9, "metrics": metrics}
    scale["datasets"]["bair"]["releases"]["synthetic"] = films
    path.write_text(yaml.safe_dump(scale))
    make(checkout)
    made = [checkout.folder / name for name in (checkout.folder / ALL).read_text().split()]
    assert {one.stem for one in made} == TABLES
    for one in made:
        for kind in (".csv", ".md", ".tex", ".html"):
            assert one.with_suffix(kind).stat().st_size > 200, one.with_suffix(kind)
        if one.stem != "agreement_with_people":  # nobody was asked: printed values alone
            assert "synthetic" in one.with_suffix(".md").read_text(), one
    for name in ("noise_study", "sample_size"):
        assert (checkout.folder / f"results/tables/{name}.png").stat().st_size > 1000
    rows = csv_rows(checkout.folder / "results/tables/fvd_findings.csv")
    assert {int(row["finding"]) for row in rows} == set(range(1, 6))
    ours = {row["finding"]: row for row in rows if row["side"] == "ours"}
    assert all(row["outcome"] == "" for row in ours.values()), "random weights are never judged"

    times = {one: one.stat().st_mtime_ns for one in made}
    make(checkout)
    assert {one: one.stat().st_mtime_ns for one in made} == times
    checkout.edit(
        "stp/suites/fvd_study/tables/content_motion.py", "Content against motion", "Motion"
    )
    make(checkout)
    # Only copies of what was made again are written again, but all tables are asked for.
    page = checkout.folder / "results/tables/content_motion.md"
    assert "Motion, scale fvd-demo" in page.read_text()
    rendered = checkout.folder / "results/fvd-demo/tables"
    again = {one for one in times if (rendered / one.name).stat().st_mtime_ns > max(times.values())}
    assert {one.stem for one in again} == {"content_motion"}
