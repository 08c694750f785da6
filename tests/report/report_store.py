"""A small store with something of everything that the report shows, through the real build."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from hostile import HOSTILE
from small_store import PUBLISHED, SmallStore, dataset_facts, model_facts

from stp.collect.refresh import build_database, collect_dimension
from stp.score.tables import write_clusters

CLUSTERS = 20
RNG = np.random.default_rng(3)
BASE = RNG.normal(0.8, 0.02, CLUSTERS)
SSIM = {
    "persistence": [BASE],
    "convlstm": [BASE + 0.05, BASE + 0.03],  # better on every clip, whatever the seed
    "simvpv2": [BASE + RNG.normal(0, 0.01, CLUSTERS)],  # no better, no worse
}
PUBLISHED_SSIM = 0.929
"""Of ConvLSTM on MovingMNIST, in config/suites/predbench/published.csv."""


def make_store(folder: Path) -> Path:
    """Moving-MNIST: official data and protocol. ENSO: synthetic, leaky; a cell is missing.

    Returns:
        results.duckdb.
    """
    store = SmallStore(folder, PUBLISHED)
    store.manifest["models"] = {
        "persistence": model_facts(reference="the last frame, repeated"),
        "convlstm": model_facts("sgd", reference="Shi et al., 2015"),
        "simvpv2": model_facts(reference="Tan et al., 2022", training="by others"),
    }
    store.manifest["datasets"] = {
        "moving_mnist": dataset_facts(),
        "enso": dataset_facts(domain="weather", shape=[1, 24, 48], units="K"),
    }
    store.manifest["names"]["models"]["simvpv2"] = HOSTILE
    about = store.manifest["conventions"]["ssim.range2"]
    store.manifest["conventions"]["ssim.range1"] = about | {"description": f"range 1 {HOSTILE}"}
    store.manifest["conventions"]["digits.same"] = about | {"title": "Digits", "success": "graded"}
    for model, runs in SSIM.items():
        for seed, values in enumerate(runs):
            add(store, model, values, None if model == "persistence" else seed)
    rmse: dict[str, Any] = {
        "mean": 0.5,
        "low": None,
        "high": None,
        "ci_reason": "only 3 clusters (10 needed)",
    }
    store.add("persistence", "enso", {"rmse.per_frame": rmse}, leaky=True)
    store.add("convlstm", "enso", {"rmse.per_frame": rmse | {"mean": 0.25}}, seed=0, leaky=True)
    store.add("simvpv2", "enso", {}, seed=0, leaky=True, scored=False)
    return built(store)


def add(store: SmallStore, model: str, values: np.ndarray, seed: int | None) -> None:
    """Add a cell with SSIM of twenty videos of ten clips each, in two conventions."""
    mean = float(values.mean())
    scored: dict[str, Any] = {
        "ssim.range2": {"mean": mean, "low": mean - 0.01, "high": mean + 0.01, "leads": [mean]},
        # By this convention, convlstm comes last.
        "ssim.range1": {"mean": 0.1 if model == "convlstm" else mean},
        "lpips.alex": {"mean": None, "reason": "metric not available yet"},
        "digits.same": {"mean": mean / 2},
    }
    cell = store.add(model, "moving_mnist", scored, seed=seed, official=True)
    names = [f"video{n}" for n in range(CLUSTERS)]
    tens = np.full(CLUSTERS, 10, np.int64)
    sums = {"ssim.range2": values.reshape(CLUSTERS, 1, 1) * 10}
    write_clusters(Path(cell["scores"], "cluster_sums.parquet"), names, tens, sums)


def built(store: SmallStore) -> Path:
    """Collect what is scored, plan everything, and build the database."""
    results = store.folder / "results"
    (results / "plan").mkdir(parents=True)
    (results / "plan" / "short_term.json").write_text(json.dumps(store.manifest))
    scored = [cell for cell in store.cells if Path(cell["scores"], "artefact.json").is_file()]
    manifest = store.folder / "collected.json"
    manifest.write_text(json.dumps({**store.manifest, "cells": scored}))
    collect_dimension(manifest, results / "collected" / "short_term.parquet")
    build_database(results / "collected", results / "results.duckdb")
    return results / "results.duckdb"
