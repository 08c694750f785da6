"""The manifest: all that the tables of one dimension are made from, and whose protocol it is.

Its text changes exactly when a table has to be made again: when a cell gets other scores, when
the code of collecting and rendering changes, or the published values do.
"""

import hashlib
import json
from pathlib import Path

from stp.plan import config as configuration
from stp.plan.cells import COLLECT, EXTERNAL, Artefact, Cell, Made, Plan, enumerate_cells
from stp.plan.dataset import Dataset
from stp.plan.model import Model
from stp.plan.recipes import Recipes
from stp.plan.setting import setting_of, split_threshold
from stp.plan.strict import Json
from stp.plan.suite import Suite, read_suite

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
    published = plan.config.suite.published_file
    entries = _Entries(plan, paper or Paper(plan.config.scale.suite))
    trained = {made.cell.trained_on for made in cells if _is_trained_here(made)}
    sampled = {name: found for name in datasets if (found := plan.recipes.sampled_columns(name))}
    return {
        "dimension": dimension,
        "suite": suite_block(plan.config.scale.suite, plan.config.suite),
        "scale": plan.config.scale.scale,
        "code": plan.code(*COLLECT).fingerprint,
        "store": str(plan.store),
        "cells": [entries.of(made) for made in cells],
        "raw": {name: _raw_facts(plan, name) for name in sorted({*datasets, *trained})},
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
                **({"sampled": sampled} if sampled else {}),
            }
        },
        **_of_people(plan, dimension, datasets),
        "reproduction": {
            name: table.model_dump(mode="json")
            for name, table in plan.config.suite.reproduction.items()
            if "reproduction" in plan.config.suite.dimensions[dimension].tables
        },
        "names": {
            "models": {name: _title(plan.config.models[name]) for name in models},
            "datasets": {name: plan.config.datasets[name].title for name in sorted(named)},
        },
        "models": {name: _model_facts(plan.config.models[name]) for name in models},
        "datasets": {name: _dataset_facts(plan.config.datasets[name]) for name in sorted(named)},
        "published": str(published) if published else None,
        "published_sha256": hashlib.sha256(published.read_bytes()).hexdigest()
        if published
        else None,
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


def suite_block(name: str, suite: Suite, folder: Path | None = None) -> Json:
    """What tables, the results store and reports know of a suite.

    Args:
        name: of the suite.
        suite: its configuration.
        folder: of all suites; config/suites unless given.
    """
    folder = folder or configuration.CONFIG_FOLDER / "suites"
    shown = ("title", "question", "about", "printed", "by_lead", "changes_from")
    return {
        "name": name,
        **suite.model_dump(include={"title", "protocol", "findings"}),
        "dimensions": {
            dimension: {**of.model_dump(include=set(shown)), "place": place}
            for place, (dimension, of) in enumerate(suite.dimensions.items(), start=1)
        },
        "views": {
            view: (folder / name / f"{view}.sql").read_text(encoding="utf-8")
            for view in suite.views
        },
    }


def _of_people(plan: Plan, dimension: str, datasets: list[str]) -> Json:
    """What tables of people say besides: seconds of a step, and how paper and code differ."""
    steps = {}
    for name in datasets:
        if plan.recipes.samples(name).protocols:
            options = plan.recipes.prepare(name)["options"]
            step = options["dt"] if options.get("dt") else 1 / options["fps"]
            steps[name] = round(step * options.get("decimate", 1), 6)
    evaluation = plan.config.suite
    deviations = [
        one.model_dump(mode="json", exclude={"dimensions"})
        for one in evaluation.deviations
        if dimension in one.dimensions or not one.dimensions
    ]
    told = {"steps": steps, "absent": evaluation.absent, "deviations": deviations}
    return {name: value for name, value in told.items() if value}


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
    """The protocol of a suite's paper, without any override.

    Args:
        name: of the suite.
    """

    def __init__(self, name: str) -> None:
        self.suite = read_suite(configuration.CONFIG_FOLDER / "suites" / f"{name}.yaml")
        self.recipes: Recipes | None = None
        self.evaluations: set[tuple[str, ...]] = set()
        if self.suite.protocol is not None:
            config = configuration.load(configuration.CONFIG_FOLDER / self.suite.protocol)
            self.recipes = Recipes(config)
            self.evaluations = {_evaluation(cell) for cell, _ in enumerate_cells(config)}

    def is_followed(self, recipes: Recipes, cell: Cell) -> bool:
        """Is this an evaluation of the paper, with its recipe from data to predictions?

        Args:
            recipes: of the plan of the cell.
            cell: the cell.
        """
        if {cell.subset, cell.train_subset} & set(self.suite.not_printed):
            return False
        if self.recipes is None or _evaluation(cell) not in self.evaluations:
            return False
        return self._protocol(recipes, recipes, cell) == self._protocol(recipes, self.recipes, cell)

    def _protocol(self, recipes: Recipes, of: Recipes, cell: Cell) -> list[str]:
        """The protocol of a cell; parameters that are given need no data of their own.

        Files that the paper's numbers were made from are the paper's, wherever they came from.
        """

        def prepared(name: str) -> str:
            dataset = recipes.config.datasets[name]
            is_papers = dataset.releases[dataset.release].behind_paper
            return _protocol("prepare", of.prepare(name, dataset.release if is_papers else None))

        found = [prepared(cell.tested_on)]
        variant = of.variant(cell.model, cell.variant)
        fitted = of.config.models[cell.model].fit in of.samples(cell.trained_on).train
        if fitted and not (variant and variant.is_given):
            found.append(prepared(cell.trained_on))
            train = of.train(cell.model, cell.trained_on, None, cell.train_subset, cell.variant)
            found.append(_protocol("train", train))
        tested = (cell.model, cell.trained_on, cell.tested_on, cell.subset)
        predict = of.predict(*tested, setting_of(cell.setting), cell.variant)
        return [*found, _protocol("predict", predict)]


def _evaluation(cell: Cell) -> tuple[str, ...]:
    """What is evaluated, whichever the model and its seed."""
    return cell.dimension, cell.trained_on, cell.tested_on, cell.subset, cell.setting


def _protocol(stage: str, recipe: Json) -> str:
    """The part of a recipe that makes up a protocol, as text that can be compared."""
    if stage == "prepare":  # what depends on each other moves intervals, but no value
        kept = {key: value for key, value in recipe["options"].items() if key != "clusters"}
        recipe = {**recipe, "options": kept}
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


def _is_trained_here(made: Made) -> bool:
    """Was a model fitted to the dataset of training, and not by somebody else?"""
    return bool(made.models)


def _raw_facts(plan: Plan, name: str) -> Json:
    """What is declared of a dataset's raw bytes, and where their lock and the prepared data are."""
    raw, dataset = plan.raw(name), plan.config.datasets[name]
    registered = plan.registered(raw)
    text = registered.read_bytes() if registered and registered.is_file() else None
    return {
        "release": raw.release,
        "source": raw.declared.source,
        "is_papers": raw.declared.is_papers,
        "lock": str(plan.store / raw.lock),
        "data": str(plan.store / plan.data(name).folder),
        "files": [
            file.model_dump(
                exclude_defaults=True,
                include={"path", "bytes", "sha256", "md5_uncompressed", "many", "min_files"},
            )
            for file in raw.declared.files
        ],
        "registered": str(registered) if text is not None else None,
        "registered_sha256": hashlib.sha256(text).hexdigest() if text is not None else None,
        "clips": dataset.counts.official if raw.declared.is_papers else {},
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
        key = (cell.model, cell.variant, cell.train_subset, *_evaluation(cell))
        model = plan.config.models[cell.model]
        if model.fit == EXTERNAL:  # nobody here knows its training
            self._follows[key] = False
        if key not in self._follows:
            self._follows[key] = self.paper.is_followed(plan.recipes, cell)
        # Some situations have generated bytes alone, in the paper's scale file, too: following its
        # recipe on what somebody made up is not the paper's protocol.
        papers = self._follows[key] and release.source != "synthetic"
        bytes_of = {cell.tested_on, *([cell.trained_on] if _is_trained_here(made) else [])}

        def folder(artefact: Artefact) -> str:
            return f"{plan.store}/{artefact.folder}"

        entry: Json = {
            "key": dict(vars(cell)),
            "source": release.source,
            "release": dataset.release,
            "protocol": "paper" if papers else self._other_name(release.source),
            "follows_paper": papers,
            "bytes_of": sorted(bytes_of),
            "leaky": release.leaky,
            "best_of": 1,
            "subset_note": release.note,
            "data": folder(made.data),
            "model": folder(made.models[0]) if made.models else None,
            "predictions": folder(made.predictions) if made.predictions else None,
            "scores": folder(made.scores),
        }
        samples, statistic = plan.members(cell)
        if samples > 1:
            best_of = samples if statistic == "best_of_members" else 1
            entry |= {"samples": samples, "statistic": statistic, "best_of": best_of}
        if made.keep is not None:
            entry |= {"kept": made.keep}
        behind = [*made.models[1:], *made.features]
        if behind:
            entry |= {"behind": [[artefact.stage, folder(artefact)] for artefact in behind]}
        clusters = plan.recipes.prepare(cell.tested_on)["options"].get("clusters")
        if clusters is not None:
            entry |= {"clusters": clusters}
        if plan.recipes.samples(cell.tested_on).protocols:
            entry |= {"calibrated": self._calibrated(cell)}
        if model.fit == EXTERNAL:
            entry |= {
                "protocol": EXTERNAL,
                "external": True,
                "reference": model.reference,
                "training": model.training,
            }
        return entry | ({"perceptual": folder(made.perceptual)} if made.perceptual else {})

    def _other_name(self, source: str) -> str:
        """Name a protocol that is not the paper's, even where its scale file has that name."""
        scale = self.plan.config.scale.scale
        if f"{scale}.yaml" != self.paper.suite.protocol:
            return scale
        return "stand-in" if source == "synthetic" else "changed paper"

    def _calibrated(self, cell: Cell) -> str:
        """On what a predictor of people was calibrated, and by whom; empty if it needs none."""
        model = self.plan.config.models[cell.model]
        if model.fit != "calibrate":
            return ""
        own = "" if cell.variant == "default" else f" {model.variants[cell.variant].title}"
        return f"calibrated on {self.plan.config.datasets[cell.trained_on].title}{own}"


def _model_facts(model: Model) -> Json:
    """What the results say about a model besides its name."""
    facts: Json = model.model_dump(mode="json", include={"reference", "fit"})
    return facts | {"training": model.training or None}


def _dataset_facts(dataset: Dataset) -> Json:
    """What the results say about a dataset besides its name."""
    return dataset.model_dump(mode="json", include=set(DATASET_FACTS))


def _title(model: Model) -> str:
    """What tables and figures call a model."""
    return f"{model.title} (external)" if model.fit == EXTERNAL else model.title
