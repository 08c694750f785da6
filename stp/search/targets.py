"""What a search is about: the training of a cell of the plan, and what searching it costs."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from stp.core import store
from stp.core.disk import write_text_if_changed
from stp.core.errors import StpError
from stp.core.fingerprint import digest
from stp.plan.artefacts import Artefact, Raw
from stp.plan.cells import Plan
from stp.plan.strict import Json
from stp.run.cluster.resources import JobResources
from stp.run.costs.estimate import Costs
from stp.run.results import RESULTS
from stp.search.space import Space


def training_of(plan: Plan, model: str, dataset: str) -> Artefact:
    """Find the training that a search varies: that of the scale file's first seed.

    Raises:
        StpError: the plan has none, or nothing of it can be searched.
    """
    trainings = [a for a in plan.artefacts.values() if a.stage == "train"]
    trainings = [a for a in trainings if is_searchable(a.recipe)]
    for artefact in trainings:
        is_first = artefact.recipe["seed"] == plan.config.scale.seeds[0]
        if (artefact.recipe["model"], artefact.dataset) == (model, dataset) and is_first:
            return artefact
    known = dict.fromkeys(f"{a.recipe['model']} {a.dataset}" for a in trainings)
    raise StpError(
        f"the scale {plan.config.scale.scale} trains no {model} on {dataset} by gradient descent",
        expected=f"one of: {', '.join(known) or 'none'}",
        remedy="name one of these, or add the cell to the scale file",
    )


def is_searchable(recipe: Json) -> bool:
    """Is it a training by gradient descent, on all training clips?"""
    is_trained = recipe["fit"] == "sgd" and recipe.get("weights") != "replace"
    return is_trained and "train_subset" not in recipe


def check_scale(plan: Plan, scale: str) -> None:
    """Refuse to write results of one scale under the name of another.

    Raises:
        StpError: the plan is of another scale.
    """
    if scale != plan.config.scale.scale:
        raise StpError(
            f"results/search/{scale} belongs to another scale file",
            expected=f"results/search/{plan.config.scale.scale}, as --configfile says",
            remedy="name the scale file with --configfile, or correct the path",
        )


def out_of(plan: Plan, model: str, dataset: str) -> Path:
    """Where the best parameters are written; the study lies in the folder of the same name."""
    return RESULTS / "search" / plan.config.scale.scale / model / f"{dataset}.yaml"


def fingerprint_of(training: Artefact, space: Space) -> str:
    """What trials of one study have in common: recipe, code, data, space, and how they are judged.

    The number of trials is not among it: more of them go on with a study.
    """
    content = space.model_dump(mode="json")
    del content["budget"]["trials"]
    made_of = {
        name: value.identity if isinstance(value, Raw) else value.fingerprint
        for name, value in training.inputs.items()
    }
    return digest([space.recipe(training.recipe), training.code.fingerprint, made_of, content])


def write_identity(plan: Plan, training: Artefact, space: Space, results: Path = RESULTS) -> Path:
    """Write which study a search is about and how many trials it has, where the text differs.

    Its time says when a search that was finished has to go on or start anew.

    Returns:
        the path.
    """
    scale, model = plan.config.scale.scale, training.recipe["model"]
    path = results / "plan" / "search" / scale / model / f"{training.dataset}.json"
    content = {"study": fingerprint_of(training, space), "trials": space.budget.trials}
    write_text_if_changed(path, json.dumps(content) + "\n")
    return path


def inputs(plan: Plan, training: Artefact) -> dict[str, Path]:
    """The prepared data, and the lock of given weights where the training begins with some.

    Raises:
        StpError: they are missing or damaged.
    """
    found = {}
    for name, value in training.inputs.items():
        is_raw = isinstance(value, Raw)
        path = plan.store / (value.lock if isinstance(value, Raw) else value.folder)
        if not (path.is_file() if is_raw else store.is_complete(path)):
            target = out_of(plan, training.recipe["model"], training.dataset)
            raise StpError(
                f"{path}, which the search needs, is missing or damaged",
                expected="what `stp fetch` and `stp prepare` make",
                remedy=f"let snakemake make it first: snakemake --profile local -- {target}",
            )
        found[name] = path
    return found


def seconds(costs: Costs, training: Artefact, space: Space) -> float:
    """Expected time of a search on one GPU (or without), if no trial is pruned."""
    trial = dataclasses.replace(training, recipe=space.recipe(training.recipe))
    part = costs.workload.of(trial).amount / max(costs.workload.of(training).amount, 1e-9)
    cost, start = costs.of(training), costs.constants.start_s
    once = start.train + (start.gpu if cost.gpus else 0)
    return once + (cost.seconds - once) * part * max(cost.gpus, 1) * space.budget.trials


def asks(resources: JobResources, training: Artefact, space: Space) -> Json:
    """What the job of a search asks for: a training's request, with the time of all trials.

    A trial computes on one GPU at most; several jobs may work on one study.
    """
    cost = resources.costs.of(training)
    request: dict[str, Any] = resources.asked_for(
        dataclasses.replace(
            cost, gpus=min(cost.gpus, 1), seconds=seconds(resources.costs, training, space)
        ),
        "train",
    )
    return request
