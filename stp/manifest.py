"""The manifest: all that the tables of one dimension are made from, and whose protocol it is.

Its text changes exactly when a table has to be made again: when a cell gets other scores, when
the code of collecting and rendering changes, or the published values do.
"""

import hashlib
import json
from dataclasses import asdict

from stp import config as configuration
from stp.cells import Made, Plan
from stp.config import Json

# Recipe keys that cannot change what a protocol means: a thread count changes the last bits, a
# prediction batch not even those.
NOT_PROTOCOL = {"train": ("threads",), "predict": ("threads", "batch_size")}


def manifest(plan: Plan, dimension: str) -> Json:
    """Describe the cells, columns, names and published values of a dimension's tables."""
    cells = [made for made in plan.cells if made.cell.dimension == dimension]
    datasets = list(dict.fromkeys(made.cell.tested_on for made in cells))
    models = list(dict.fromkeys(made.cell.model for made in cells))
    rows = plan.config.evaluation
    columns = {name: rows.columns[rows.datasets[name]] for name in datasets}
    conventions = sorted({c for name in datasets for c in plan.conventions(name)})
    described = {convention: _describe(plan, convention) for convention in conventions}
    published = configuration.CONFIG_FOLDER / "published" / "predbench.csv"
    paper = Plan.load(configuration.CONFIG_FOLDER / "paper.yaml")
    return {
        "dimension": dimension,
        "scale": plan.config.scale.scale,
        "code": plan.code("collect").fingerprint,
        "store": str(plan.store),
        "cells": [_entry(plan, paper, made) for made in cells],
        "unavailable": {c: d["reason"] for c, d in described.items() if not d["available"]},
        "conventions": described,
        "tables": {
            dimension: {
                "columns": columns,
                "higher_is_better": {
                    column: described[convention]["higher_is_better"]
                    for row in columns.values()
                    for column, convention in row.items()
                },
            }
        },
        "names": {
            "models": {name: plan.config.models[name].title for name in models},
            "datasets": {name: plan.config.datasets[name].title for name in datasets},
        },
        "published": str(published),
        "published_sha256": hashlib.sha256(published.read_bytes()).hexdigest(),
        "published_names": {
            "models": {
                name: model.published_name or model.title
                for name, model in plan.config.models.items()
            },
            "datasets": {
                name: dataset.published_name for name, dataset in plan.config.datasets.items()
            },
        },
    }


def follows(plan: Plan, paper: Plan, made: Made) -> bool:
    """Is the resolved recipe of a cell, from data to predictions, the paper's?

    Args:
        plan: the plan of the cell.
        paper: the plan of config/paper.yaml, without any override.
        made: the cell.
    """
    cell = made.cell

    def protocol(of: Plan) -> list[str]:
        return [
            _protocol("prepare", of.prepare_recipe(cell.tested_on)),
            _protocol("train", of.train_recipe(cell.model, cell.trained_on, None)),
            _protocol("predict", of.predict_recipe(cell)),
        ]

    return protocol(plan) == protocol(paper)


def _protocol(stage: str, recipe: Json) -> str:
    """The part of a recipe that makes up a protocol, as text that can be compared."""
    free = NOT_PROTOCOL.get(stage, ())
    inner = {key: value for key, value in recipe.get(stage, {}).items() if key not in free}
    return json.dumps({**recipe, stage: inner}, sort_keys=True)


def _describe(plan: Plan, convention: str) -> Json:
    metric = plan.metric(convention)
    choice = convention.partition(".")[2]
    return {
        "title": metric.title,
        "unit": metric.unit,
        "higher_is_better": metric.is_higher_better(choice),
        "available": metric.available,
        "reason": metric.reason,
        "description": metric.conventions[choice],
    }


def _entry(plan: Plan, paper: Plan, made: Made) -> Json:
    dataset = plan.config.datasets[made.cell.tested_on]
    release = dataset.releases[dataset.release]
    papers = follows(plan, paper, made)
    return {
        "key": asdict(made.cell),
        "source": release.source,
        "release": dataset.release,
        "protocol": "paper" if papers else _other_name(plan.config.scale.scale),
        "verified": release.verified,
        "official_paper_protocol": papers and release.verified,
        "leaky": release.leaky,
        "subset_note": release.note,
        "data": str(plan.store / made.data.folder),
        "model": str(plan.store / made.model.folder) if made.model else None,
        "predictions": str(plan.store / made.predictions.folder),
        "scores": str(plan.store / made.scores.folder),
    }


def _other_name(scale: str) -> str:
    """Name a protocol that is not the paper's, even where its scale file has that name."""
    return "changed paper" if scale == "paper" else scale
