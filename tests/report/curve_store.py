"""A small store of three dimensions, for the sections of the report that draw charts."""

import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from figure_store import FigureStore
from small_store import PUBLISHED, dataset_facts, model_facts, suite

from stp.collect.database import build

NAMES = {
    "models": {"convlstm": "ConvLSTM", "simvpv2": "SimVPv2", "persistence": "Persistence"},
    "datasets": {
        "kth": "KTH", "kitti": "KITTI", "caltech": "Caltech", "nuscenes": "nuScenes",
        "bridge": "BridgeData",
    },
}  # fmt: skip
PUBLISHED_NAMES = {
    "models": {"convlstm": "ConvLSTM", "simvpv2": "SimVPv2"},
    "datasets": {"kitti": "KITTI", "caltech": "Caltech", "nuscenes": "nuScenes"},
}
TRUTH = np.array([[8.0, 8.0, 8.0], [4.0, 4.0, 4.0], [2.0, 2.0, 2.0], [1.0, 1.0, 1.0]])
NO_WEIGHTS = {"lpips.alex": {"mean": None, "reason": "the weights of alexnet are not there"}}


def curve_store(folder: Path) -> Path:
    """Build results.duckdb with curves, seeds, spectra, robustness and generalization."""
    stores = [_short_term(folder), _robustness(folder), _generalization(folder)]
    database = _built(folder, stores)
    with duckdb.connect(str(database)) as connection:
        _significance(connection)
        _matched(connection)
        _attempts(connection)
    return database


def short_store(folder: Path) -> Path:
    """Build results.duckdb with the short-term dimension only."""
    return _built(folder, [_short_term(folder)])


def _built(folder: Path, stores: list[FigureStore]) -> Path:
    # The paper's intervals are doubtful; here they are not, so that printed values can be drawn.
    printed = folder / "published.csv"
    text = PUBLISHED.read_text(encoding="utf-8")
    printed.write_text(re.sub(r'(?m),"?interval multiplier lost[^\n]*$', ",", text))
    plans, rows = [], []
    for store in stores:
        store.manifest["names"] = NAMES
        store.manifest["models"] = {"persistence": model_facts(), "convlstm": model_facts("sgd")}
        store.manifest["published_names"] = PUBLISHED_NAMES
        store.manifest["datasets"] = {
            name: dataset_facts(context=3, horizon=3) for name in NAMES["datasets"]
        }
        store.manifest["published"] = str(printed)
        store.manifest["suite"] = suite("predbench")
        plan, results = store.results()
        plans.append(plan)
        rows.append(results / "collected" / f"{store.manifest['dimension']}.parquet")
    database = folder / "results.duckdb"
    build(plans, rows, database)
    return database


def _scores(value: float, **more: Any) -> dict[str, Any]:
    leads = [value + 0.05, value, value - 0.05]
    return {"ssim.range2": {"mean": value, "leads": leads, **more}, **NO_WEIGHTS}


def _banded(value: float) -> dict[str, Any]:
    ends = [
        (value + 0.03, value + 0.06),
        (value - 0.02, value + 0.01),
        (value - 0.06, value - 0.01),
    ]
    return _scores(value, lead_ends=ends, low=value - 0.02, high=value + 0.03)


def _columns(store: FigureStore, *datasets: str) -> FigureStore:
    for dataset in datasets:
        store.column(dataset, "SSIM", "ssim.range2", higher_is_better=True, title="Similarity")
        store.column(dataset, "LPIPS", "lpips.alex", higher_is_better=False, title="Perceptual")
    return store


def _short_term(folder: Path) -> FigureStore:
    store = _columns(FigureStore(folder / "short"), "kth", "kitti")
    # Blur: the finer the scale, the less of the truth's power is left.
    blurred = TRUTH * np.array([[1.0], [0.5], [0.25], [0.125]])
    for seed, value in enumerate((0.7, 0.6)):
        store.scored("convlstm", "kth", _scores(value), seed=seed, seconds=90.0)
    divergence = {"spectral_divergence.mean_spectra": {"mean": 0.1}}
    simvp, still = _banded(0.8) | divergence, _banded(0.5) | divergence
    store.scored("simvpv2", "kth", simvp, seed=0, spectra=(blurred, TRUTH))
    store.scored("persistence", "kth", still, spectra=(TRUTH * 0.99, TRUTH))
    for model, value, device in (("convlstm", 0.9, "cpu"), ("simvpv2", 0.8, "NVIDIA H200")):
        store.scored(model, "kitti", _banded(value), seed=0, device=device, host=f"of-{model}")
    return store


def _robustness(folder: Path) -> FigureStore:
    store = _columns(FigureStore(folder / "robust", "robustness"), "nuscenes", "bridge")
    about = {"higher_is_better": False, "title": "Distance", "compares_sets": True}
    store.column("bridge", "FVD", "fvd.predicted_only", **about)
    values = {"convlstm": (0.8, 0.7, 0.4), "simvpv2": (0.75, 0.7, 0.6)}
    for dataset, official in (("nuscenes", True), ("bridge", False)):
        for model, found in values.items():
            for interval, value in enumerate(found, start=1):
                given = _banded(value)
                if dataset == "bridge":
                    given["fvd.predicted_only"] = {"mean": 100.0 * interval, "n": 60 // interval}
                store.scored(
                    model, dataset, given, seed=0, official=official, subset="robustness",
                    setting=f"horizon-3+interval-{interval}",
                )  # fmt: skip
    return store


def _generalization(folder: Path) -> FigureStore:
    store = _columns(FigureStore(folder / "general", "generalization"), "caltech", "nuscenes")
    for model, value in (("convlstm", 0.45), ("simvpv2", 0.6)):
        for dataset in ("caltech", "nuscenes"):
            store.scored(model, dataset, _banded(value), seed=0, trained_on="kitti")
    # Its own test is not in this store.
    store.scored("simvpv2", "caltech", _banded(0.5), seed=0, trained_on="nuscenes")
    return store


def _significance(connection: duckdb.DuckDBPyConnection) -> None:
    """Say how tests ended: samples of a store this small are too few to have any."""
    kth = "tested_on = 'kth' AND convention = 'ssim.range2'"
    ends = "difference - 0.02, ci95_high = difference + 0.02, p = 0.001, p_corrected = 0.003"
    connection.execute(
        "UPDATE comparisons SET difference = CASE WHEN other = 'simvpv2' THEN 0.15 ELSE -0.15 END "
        f"WHERE {kth}"
    )
    connection.execute(
        f"UPDATE comparisons SET ci95_low = {ends}, detectable = 0.01, clusters = 20, n = 40, "
        f"reason = NULL, better = CASE WHEN difference > 0 THEN other ELSE model END WHERE {kth}"
    )
    connection.execute(
        "UPDATE comparisons SET better = NULL, p = 0.4, p_corrected = 0.8 "
        f"WHERE {kth} AND 'persistence' IN (model, other) AND 'convlstm' IN (model, other)"
    )
    connection.execute(
        "UPDATE ranks SET rank_low = greatest(rank - 1, 1), rank_high = 3, "
        f"clusters = 20, reason = NULL WHERE {kth}"
    )


def _matched(connection: duckdb.DuckDBPyConnection) -> None:
    """Distances at equal N; without the networks' features none can be computed."""
    connection.execute(
        "UPDATE matched_distances SET n = 20, clips = 20, value = 200 + seed, sd = 5, repeats = 3, "
        "reason = NULL WHERE tested_on = 'bridge' AND model = 'convlstm'"
    )


def _attempts(connection: duckdb.DuckDBPyConnection) -> None:
    """One attempt for each artefact, on a GPU where it trains, and one that was lost."""
    connection.execute(
        "INSERT INTO attempts (path, stage, attempt, how, gpus, seconds, peak_mb) "
        "SELECT path, stage, 1, 'done', CASE WHEN stage = 'model' THEN 2 ELSE 0 END, seconds, 512 "
        "FROM artefacts WHERE path NOT IN (SELECT path FROM attempts)"
    )
    connection.execute(
        "INSERT INTO attempts (path, stage, attempt, how, gpus, seconds) "
        "SELECT path, stage, 2, 'out of memory', 1, 1800 FROM artefacts WHERE stage = 'model' "
        "ORDER BY path LIMIT 1"
    )
