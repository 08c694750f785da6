"""A results store of measures of quality of the demo, predicted and scored by the stages."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from conventions import defined
from small_store import (
    SmallStore,
    built,
    convention_facts,
    dataset_facts,
    kind_facts,
    suite,
    table_column,
    write_receipt,
)

from stp.core.job import Job
from stp.opinions import network_features
from stp.opinions.prepared import open_database
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER
from stp.plan.manifests import manifest
from stp.predict import opinions as predict
from stp.score import opinions as score

CONVENTIONS = ["srocc.magnitude", "plcc.magnitude", "opinion_rmse.points"]


def asked(path: Path, sql: str) -> pd.DataFrame:
    """The rows of a query."""
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(sql).df()


def measured(
    folder: Path,
    data: Path,
    models: Sequence[str],
    parts: Mapping[str, np.ndarray] | None = None,
    extras: Mapping[str, Any] | None = None,
) -> Path:
    """Build ``results.duckdb`` in a folder, beside ``manifest.json`` and ``short_term.parquet``.

    Args:
        data: prepared opinions.
        models: of config/pvqa-300.yaml.
        parts: what networks have seen of the videos (`stp.opinions.network_features.PARTS`).
        extras: of the receipts of that.
    """
    plan = Plan.load(CONFIG_FOLDER / "pvqa-300.yaml")
    planned = manifest(plan, "quality_measures")
    store = SmallStore(folder)
    store.manifest |= {
        "suite": suite("pvqa"),
        "dimension": "quality_measures",
        "conventions": {name: convention_facts(True) for name in CONVENTIONS},
        "datasets": {"pvqa": dataset_facts(kind="opinions")},
        "models": {name: asdict(facts) for name, facts in planned.models.items()},
        "names": {"models": planned.names.models, "datasets": planned.names.datasets},
        "kinds": {"opinions": kind_facts("opinions")},
        "tables": {
            "quality_measures": {
                "columns": {"pvqa": [table_column("SROCC", "srocc.magnitude", statistic="median")]}
            }
        },
        "published": str(CONFIG_FOLDER / "suites" / "pvqa" / "published.csv"),
        # As if sharpness were a measure of the paper's Table 4.
        "published_names": {"models": {"sharpness": "VMAF"}, "datasets": {"pvqa": "PVQA"}},
    }
    about = {
        **{"suite": "pvqa", "dimension": "quality_measures", "subset": "published"},
        "setting": "horizon-16",
    }
    for model in models:
        measure = plan.config.models[model]
        features = (f"pvqa/{measure.network}",) if measure.network else ()
        cell = store.add(model, "pvqa", {}, features=features, **about)
        cell["kind"] = "opinions"
        predictions, scores = Path(cell["predictions"]), Path(cell["scores"])
        recipe: dict[str, Any] = {"model": model, "context": 4, "split": "published"}
        recipe |= {"predict": measure.predict}
        recipe |= {"source": measure.source} if measure.source else {}
        inputs = {"data": data}
        for looked in map(Path, cell["features"]):
            network_features.write(looked, open_database(data, 4).names, dict(parts or {}))
            write_receipt(looked, "features", extras=extras or {})
            inputs["features"] = looked
        told = predict.run(Job(recipe, inputs, predictions, predictions))
        write_receipt(predictions, "predict", recipe=recipe, extras=dict(told))
        recipe = {"cell": cell["key"], "conventions": defined(*CONVENTIONS), "split": "published"}
        score.run(Job(recipe, {"data": data, "predictions": predictions}, scores, scores))
        write_receipt(scores, "score")
        write_receipt(Path(cell["data"]), "prepare")
        shutil.copy(data / "ratings.parquet", cell["data"])
    return built(store)
