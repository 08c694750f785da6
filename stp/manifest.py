"""The manifest: all that the tables of one dimension are made from, and whose protocol it is.

Its text changes exactly when a table has to be made again: when a cell gets other scores, when
the code of collecting and rendering changes, or the published values do.
"""

import hashlib
import json

from stp import config as configuration
from stp.cells import EXTERNAL, Artefact, Cell, Made, Plan, enumerate_cells
from stp.config import Dataset, Json, Model
from stp.recipes import Recipes
from stp.setting import setting_of, split_threshold

# Recipe keys that cannot change what a protocol means: a thread count changes the last bits, a
# prediction batch not even those.
NOT_PROTOCOL = {"train": ("threads",), "predict": ("threads", "batch_size")}

DATASET_FACTS = (
    "published_name",
    "domain",
    "shape",
    "units",
    "context",
    "horizon",
    "citation",
    "licence",
    "homepage",
)


def manifest(plan: Plan, dimension: str, paper: "Paper | None" = None) -> Json:
    """Describe the cells, columns, names and published values of a dimension's tables.

    Args:
        plan: the plan.
        dimension: one that its scale file wants.
        paper: the paper's protocol; read unless given.
    """
    cells = [made for made in plan.cells if made.cell.dimension == dimension]
    datasets = list(dict.fromkeys(made.cell.tested_on for made in cells))
    named = {name for made in cells for name in (made.cell.trained_on, made.cell.tested_on)}
    models = list(dict.fromkeys(made.cell.model for made in cells))
    columns = {name: plan.recipes.columns(name) for name in datasets}
    tested = {(made.cell.tested_on, plan.members(made.cell)[0]) for made in cells}
    conventions = sorted({c for key in tested for c in plan.recipes.conventions(*key)})
    described = {convention: _describe(plan, convention) for convention in conventions}
    published = configuration.CONFIG_FOLDER / "published" / "predbench.csv"
    entries = _Entries(plan, paper or Paper())
    return {
        "dimension": dimension,
        "scale": plan.config.scale.scale,
        "code": plan.code("collect").fingerprint,
        "store": str(plan.store),
        "cells": [entries.of(made) for made in cells],
        "unavailable": {c: d["reason"] for c, d in described.items() if not d["available"]},
        "conventions": described,
        "tables": {
            dimension: {
                "columns": columns,
                "higher_is_better": {
                    column: described[split_threshold(shown)[0]]["higher_is_better"]
                    for row in columns.values()
                    for column, shown in row.items()
                },
            }
        },
        "reproduction": {
            name: table.model_dump(mode="json")
            for name, table in plan.config.evaluation.reproduction.items()
            if dimension == "short_term"
        },
        "names": {
            "models": {name: _title(plan.config.models[name]) for name in models},
            "datasets": {name: plan.config.datasets[name].title for name in sorted(named)},
        },
        "models": {name: _model_facts(plan.config.models[name]) for name in models},
        "datasets": {name: _dataset_facts(plan.config.datasets[name]) for name in sorted(named)},
        "published": str(published),
        "published_sha256": hashlib.sha256(published.read_bytes()).hexdigest(),
        "published_clips": {
            name: plan.config.datasets[name].counts.published.test
            for name in sorted(named)
            if plan.config.datasets[name].counts.published.test
        },
        "published_names": {
            "models": {
                name: model.published_name or model.title
                for name, model in plan.config.models.items()
                if model.fit != EXTERNAL  # it may be called like a model of ours
            },
            "datasets": {
                name: dataset.published_name
                for name, dataset in plan.config.datasets.items()
                if dataset.published_name
            },
        },
    }


def as_text(described: Json) -> str:
    """Write a manifest as JSON, a line for each cell: thousands of them, read by machines."""
    lines = [
        f"{json.dumps(key)}: {json.dumps(value)}"
        for key, value in described.items()
        if key != "cells"
    ]
    cells = ",\n".join(json.dumps(cell) for cell in described["cells"])
    return "{\n" + ",\n".join([*lines, f'"cells": [\n{cells}\n]']) + "\n}\n"


class Paper:
    """The protocol of config/paper.yaml, without any override."""

    def __init__(self) -> None:
        config = configuration.load(configuration.CONFIG_FOLDER / "paper.yaml")
        self.recipes = Recipes(config)
        self.evaluations = {_evaluation(cell) for cell, _ in enumerate_cells(config)}

    def is_followed(self, recipes: Recipes, cell: Cell) -> bool:
        """Is this an evaluation of the paper, with its recipe from data to predictions?

        Args:
            recipes: of the plan of the cell.
            cell: the cell.
        """

        def protocol(of: Recipes) -> list[str]:
            setting = setting_of(cell.setting)
            return [
                _protocol("prepare", of.prepare(cell.tested_on)),
                _protocol("prepare", of.prepare(cell.trained_on)),
                _protocol("train", of.train(cell.model, cell.trained_on, None)),
                _protocol("predict", of.predict(cell.model, cell.trained_on, cell.subset, setting)),
            ]

        return _evaluation(cell) in self.evaluations and protocol(recipes) == protocol(self.recipes)


def _evaluation(cell: Cell) -> tuple[str, ...]:
    """What is evaluated, whichever the model and its seed."""
    return cell.dimension, cell.trained_on, cell.tested_on, cell.subset, cell.setting


def _protocol(stage: str, recipe: Json) -> str:
    """The part of a recipe that makes up a protocol, as text that can be compared."""
    free = NOT_PROTOCOL.get(stage, ())
    inner = {key: value for key, value in recipe.get(stage, {}).items() if key not in free}
    return json.dumps({**recipe, stage: inner}, sort_keys=True)


def _describe(plan: Plan, convention: str) -> Json:
    metric = plan.recipes.metric(convention)
    choice = convention.partition(".")[2]
    reason = plan.recipes.why_unavailable(convention)
    return {
        "title": metric.title,
        "unit": metric.unit,
        "higher_is_better": metric.is_higher_better(choice),
        "best_at": metric.best_at.get(choice),
        "available": not reason,
        "reason": reason,
        "description": metric.conventions[choice],
    }


class _Entries:
    """Describes cells; those that differ in their seed alone follow one protocol."""

    def __init__(self, plan: Plan, paper: Paper) -> None:
        self.plan, self.paper = plan, paper
        self._follows: dict[tuple[str, ...], bool] = {}

    def of(self, made: Made) -> Json:
        """Describe a cell."""
        cell, plan = made.cell, self.plan
        dataset = plan.config.datasets[cell.tested_on]
        release = dataset.releases[dataset.release]
        key = (cell.model, *_evaluation(cell))
        model = plan.config.models[cell.model]
        if model.fit == EXTERNAL:  # nobody here knows its training
            self._follows[key] = False
        if key not in self._follows:
            self._follows[key] = self.paper.is_followed(plan.recipes, cell)
        papers = self._follows[key]
        trained = plan.config.datasets[cell.trained_on]
        verified = release.verified and trained.releases[trained.release].verified

        def folder(artefact: Artefact) -> str:
            return f"{plan.store}/{artefact.folder}"

        entry: Json = {
            "key": dict(vars(cell)),
            "source": release.source,
            "release": dataset.release,
            "protocol": "paper" if papers else _other_name(plan.config.scale.scale),
            "verified": verified,
            "official_paper_protocol": papers and verified,
            "leaky": release.leaky,
            "subset_note": release.note,
            "data": folder(made.data),
            "model": folder(made.model) if made.model else None,
            "predictions": folder(made.predictions) if made.predictions else None,
            "scores": folder(made.scores),
        }
        samples, statistic = plan.members(cell)
        if samples > 1:
            entry |= {"samples": samples, "statistic": statistic}
        if made.keep is not None:
            entry |= {"kept": made.keep}
        if model.fit == EXTERNAL:
            entry |= {
                "protocol": EXTERNAL,
                "external": True,
                "reference": model.reference,
                "training": model.training,
            }
        return entry | ({"perceptual": folder(made.perceptual)} if made.perceptual else {})


def _model_facts(model: Model) -> Json:
    """What the results say about a model besides its name."""
    return model.model_dump(mode="json", include={"reference", "fit"})


def _dataset_facts(dataset: Dataset) -> Json:
    """What the results say about a dataset besides its name."""
    return dataset.model_dump(mode="json", include=set(DATASET_FACTS))


def _title(model: Model) -> str:
    """What tables and figures call a model."""
    return f"{model.title} (external)" if model.fit == EXTERNAL else model.title


def _other_name(scale: str) -> str:
    """Name a protocol that is not the paper's, even where its scale file has that name."""
    return "changed paper" if scale == "paper" else scale
