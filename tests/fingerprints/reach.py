"""What a plan makes, by name, and what an edit is expected to reach.

A thing is made by one stage: ``train convlstm kth``. The expectation of an edit names the things
whose own code or recipe it changes; whatever is made from those follows, by the flow of the
architecture, which is written down here a second time (`made_from`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from stp.core.fingerprint import digest
from stp.plan import config
from stp.plan.artefacts import CellArtefacts, Raw
from stp.plan.cells import Plan
from stp.plan.code_fingerprint import COLLECT
from stp.plan.config import Config
from stp.plan.grid import Case
from stp.plan.model import Model, Submission
from stp.plan.recipes import Recipes

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
STAGES = ("raw", "prepare", "train", "predict", "score", "tables")


class Thing(NamedTuple):
    """One thing that a plan makes; an empty name means that it has none."""

    stage: str
    dataset: str = ""
    model: str = ""
    seed: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, self))


@dataclass(frozen=True)
class Seen:
    """What can be told apart of everything in a plan.

    Attributes:
        paths: where each thing lives; another path is another thing.
        own: what it is made by, without its inputs: code and recipe.
    """

    paths: dict[Thing, str]
    own: dict[Thing, str]


def look(*plans: Plan) -> Seen:
    """Name everything that plans make; they share the code of the tables, and nothing else."""
    paths: dict[Thing, str] = {}
    own: dict[Thing, str] = {}
    for plan in plans:
        _look(plan, paths, own)
    # The manifest names the scores and the code of the tables; its text has more, see
    # test_config_edits.py.
    tables = [
        f"stp.render.tables.{path.stem}" for path in (ROOT / "stp/render/tables").glob("*.py")
    ]
    code = plans[0].code(*COLLECT, *tables, "stp.studies.preferences_table").fingerprint
    scores = [path for thing, path in paths.items() if thing.stage == "score"]
    paths[Thing("tables")], own[Thing("tables")] = digest([code, scores]), code
    return Seen(paths, own)


def _look(plan: Plan, paths: dict[Thing, str], own: dict[Thing, str]) -> None:
    for made in plan.cells:
        for thing, artefact in things(made):
            paths[thing] = artefact.folder
            own[thing] = digest([artefact.code.fingerprint, artefact.recipe])
        archive = made.scores.inputs.get("archive")
        if archive is not None:
            assert isinstance(archive, Raw)
            thing = Thing("raw", made.cell.tested_on, made.cell.model)
            paths[thing] = own[thing] = f"{archive.lock} {archive.identity}"
    for data in plan.prepared:  # those of the cells and others
        thing = Thing("prepare", data.dataset)
        paths[thing] = data.folder
        own[thing] = digest([data.code.fingerprint, data.recipe])
        raw = plan.raw(data.dataset)
        thing = Thing("raw", data.dataset)
        paths[thing] = own[thing] = f"{raw.lock} {raw.identity}"


def things(made: CellArtefacts) -> list[tuple[Thing, Any]]:
    """Name the artefacts of a cell."""
    cell = made.cell
    seed = "" if cell.seed is None else f"seed-{cell.seed}"
    found: list[tuple[Thing, Any]] = []
    for model in made.models:
        found.append((Thing("train", cell.trained_on, cell.model, seed), model))
    if made.predictions is not None:
        found.append((Thing("predict", cell.tested_on, cell.model, seed), made.predictions))
    found.append((Thing("score", cell.tested_on, cell.model, seed), made.scores))
    return found


def changed(before: Mapping[Thing, str], after: Mapping[Thing, str]) -> set[Thing]:
    """The things that differ, or exist on one side only."""
    return {thing for thing in {*before, *after} if before.get(thing) != after.get(thing)}


def made_from(thing: Thing, other: Thing) -> bool:
    """Is one thing an input of the other?

    raw -> prepare -> train -> predict -> score -> tables; predictions and scores read the
    prepared data as well, and scores of forecasts that are not stored the model, or the raw bytes
    of an archive that is the model's.
    """
    step = (thing.stage, other.stage)
    if step == ("score", "tables"):
        return True
    if thing.stage == "raw" and thing.model:
        return other.stage == "score" and thing[1:3] == other[1:3]
    if step in {("raw", "prepare"), *(("prepare", s) for s in ("train", "predict", "score"))}:
        return thing.dataset == other.dataset
    steps = {("train", "predict"), ("train", "score"), ("predict", "score")}
    return step in steps and thing[1:] == other[1:]


def downstream(direct: Iterable[Thing], everything: Iterable[Thing]) -> set[Thing]:
    """The given things and all that is made from them."""
    reached, everything = set(direct), list(everything)
    while more := {
        other
        for other in everything
        if other not in reached and any(made_from(thing, other) for thing in reached)
    }:
        reached |= more
    return reached


class Expectations:
    """Expectations in words.

    Args:
        groups: names for several words, such as ``fitted: [climatology, convlstm]``.
        everything: all things of the plan.
    """

    def __init__(self, groups: Mapping[str, Sequence[str]], everything: Iterable[Thing]) -> None:
        self.groups = groups
        self.everything = list(everything)

    def direct(self, reaches: Mapping[str, Any]) -> set[Thing]:
        """The things that an expectation such as ``{train: convlstm, score: [kth]}`` names.

        A word is a dataset, a model, a group of them, ``<model> on <dataset>``, ``frames``,
        ``people`` or ``opinions`` (all datasets of the kind), or ``all``.
        """
        found: set[Thing] = set()
        for stage, words in reaches.items():
            assert stage in STAGES, f"unknown stage {stage!r} in an expectation"
            listed = [words] if isinstance(words, str) else words
            for word in [name for group in listed for name in self.groups.get(group, [group])]:
                model, _, dataset = word.rpartition(" on ")
                named = {
                    thing
                    for thing in self.everything
                    if thing.stage == stage
                    and (
                        (thing.model, thing.dataset) == (model, dataset)
                        or word in ("all", _kind(thing), thing.dataset, thing.model)
                    )
                }
                assert named, f"no {stage} of {word!r} in the plan: mend the expectation"
                found |= named
        return found


def _kind(thing: Thing) -> str:
    if thing.dataset == "pvqa":
        return "opinions"
    return "people" if thing.dataset.startswith("atlas_") else "frames"


def differences(found: set[Thing], expected: set[Thing]) -> str:
    """Say what is missing and what is superfluous; empty if they are the same."""
    lines = [f"not reached, but should be: {thing}" for thing in sorted(expected - found)]
    lines += [f"reached, but should not be: {thing}" for thing in sorted(found - expected)]
    return "\n".join(lines)


def everything() -> Config:
    """Everything there is code for; no file of config/ has a model that lives elsewhere."""
    loaded = config.load(read("everything.yaml"))
    recipes, dataset = Recipes(loaded), "moving_mnist"
    predictions = Submission(
        dimension="short_term",
        trained_on=dataset,
        tested_on=dataset,
        setting=recipes.setting(Case(dataset, dataset, "all", "test", "default", {}, ())),
        data=recipes.prepare_digest(dataset),
        windows="0" * 64,
        bytes=1,
        sha256="0" * 64,
    )
    model = Model(title="Elsewhere", reference="", fit="external", submissions=(predictions,))
    wanted = loaded.scale.dimensions["short_term"]
    wanted = wanted.model_copy(update={"models": (*wanted.models, "elsewhere")})
    dimensions = {**loaded.scale.dimensions, "short_term": wanted}
    scale = loaded.scale.model_copy(update={"dimensions": dimensions})
    models = {**loaded.models, "elsewhere": model}
    return loaded.model_copy(update={"scale": scale, "models": models})


def people() -> Config:
    """Everything there is code for that predicts people."""
    return config.load(read("everything_people.yaml"))


def fields() -> Config:
    """Everything there is code for that reads forecasts of fields on the globe, and scores them."""
    return config.load(read("everything_fields.yaml"))


def opinions() -> Config:
    """Everything there is code for that predicts opinions of videos."""
    return config.load(read("everything_opinions.yaml"))


def read(name: str) -> Any:
    """Read a YAML file of this folder."""
    return yaml.safe_load((HERE / name).read_text())
