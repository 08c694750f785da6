"""Products of a plan, and those that an edit is expected to change.

A product is made by one stage: ``train convlstm kth``. The expectation of an edit names the
products whose own code or recipe it changes; those that are made from them follow by the flow of
the architecture, which is repeated here (`made_from`).
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


class Product(NamedTuple):
    """A product of a plan; empty fields do not apply to its stage."""

    stage: str
    dataset: str = ""
    model: str = ""
    seed: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, self))


@dataclass(frozen=True)
class Snapshot:
    """Identities of all products of a plan.

    Attributes:
        paths: product -> its path, which changes with its inputs.
        own: product -> hash of its code and recipe, without its inputs.
    """

    paths: dict[Product, str]
    own: dict[Product, str]


def look(*plans: Plan) -> Snapshot:
    """The products of plans, which share the code of the tables only."""
    paths: dict[Product, str] = {}
    own: dict[Product, str] = {}
    for plan in plans:
        _look(plan, paths, own)
    # The manifest names the scores and the code of the tables; its text has more, see
    # test_config_edits.py.
    tables = [
        f"stp.render.tables.{path.stem}" for path in (ROOT / "stp/render/tables").glob("*.py")
    ]
    code = plans[0].code(*COLLECT, *tables, "stp.studies.preferences_table").fingerprint
    scores = [path for product, path in paths.items() if product.stage == "score"]
    paths[Product("tables")], own[Product("tables")] = digest([code, scores]), code
    return Snapshot(paths, own)


def _look(plan: Plan, paths: dict[Product, str], own: dict[Product, str]) -> None:
    for made in plan.cells:
        for product, artefact in products(made):
            paths[product] = artefact.folder
            own[product] = digest([artefact.code.fingerprint, artefact.recipe])
        archive = made.scores.inputs.get("archive")
        if archive is not None:
            assert isinstance(archive, Raw)
            product = Product("raw", made.cell.tested_on, made.cell.model)
            paths[product] = own[product] = f"{archive.lock} {archive.identity}"
    for data in plan.prepared_data:  # those of the cells and others
        product = Product("prepare", data.dataset)
        paths[product] = data.folder
        own[product] = digest([data.code.fingerprint, data.recipe])
        raw = plan.raw(data.dataset)
        product = Product("raw", data.dataset)
        paths[product] = own[product] = f"{raw.lock} {raw.identity}"


def products(made: CellArtefacts) -> list[tuple[Product, Any]]:
    """The artefacts of a cell, as products."""
    cell = made.cell
    seed = "" if cell.seed is None else f"seed-{cell.seed}"
    found: list[tuple[Product, Any]] = []
    for model in made.models:
        found.append((Product("train", cell.trained_on, cell.model, seed), model))
    if made.predictions is not None:
        found.append((Product("predict", cell.tested_on, cell.model, seed), made.predictions))
    found.append((Product("score", cell.tested_on, cell.model, seed), made.scores))
    return found


def changed(before: Mapping[Product, str], after: Mapping[Product, str]) -> set[Product]:
    """Products that differ, or exist on one side only."""
    return {product for product in {*before, *after} if before.get(product) != after.get(product)}


def made_from(product: Product, other: Product) -> bool:
    """Is one product an input of another?

    raw -> prepare -> train -> predict -> score -> tables; predictions and scores also read the
    prepared data, and scores of forecasts that are not stored read the model, or the raw files of
    its archive.
    """
    step = (product.stage, other.stage)
    if step == ("score", "tables"):
        return True
    if product.stage == "raw" and product.model:
        return other.stage == "score" and product[1:3] == other[1:3]
    if step in {("raw", "prepare"), *(("prepare", s) for s in ("train", "predict", "score"))}:
        return product.dataset == other.dataset
    steps = {("train", "predict"), ("train", "score"), ("predict", "score")}
    return step in steps and product[1:] == other[1:]


def downstream(direct: Iterable[Product], everything: Iterable[Product]) -> set[Product]:
    """Products, and all that is made from them."""
    reached, everything = set(direct), list(everything)
    while more := {
        other
        for other in everything
        if other not in reached and any(made_from(product, other) for product in reached)
    }:
        reached |= more
    return reached


class Expectations:
    """Expectations in words.

    Args:
        groups: names for several words, such as ``fitted: [climatology, convlstm]``.
        everything: all products of the plan.
    """

    def __init__(self, groups: Mapping[str, Sequence[str]], everything: Iterable[Product]) -> None:
        self.groups = groups
        self.everything = list(everything)

    def direct(self, reaches: Mapping[str, Any]) -> set[Product]:
        """The products of an expectation such as ``{train: convlstm, score: [kth]}``.

        A word is a dataset, a model, a group of them, ``<model> on <dataset>``, ``frames``,
        ``people`` or ``opinions`` (all datasets of the kind), or ``all``.
        """
        found: set[Product] = set()
        for stage, words in reaches.items():
            assert stage in STAGES, f"unknown stage {stage!r} in an expectation"
            listed = [words] if isinstance(words, str) else words
            for word in [name for group in listed for name in self.groups.get(group, [group])]:
                model, _, dataset = word.rpartition(" on ")
                named = {
                    product
                    for product in self.everything
                    if product.stage == stage
                    and (
                        (product.model, product.dataset) == (model, dataset)
                        or word in ("all", _kind(product), product.dataset, product.model)
                    )
                }
                assert named, f"no {stage} of {word!r} in the plan: correct the expectation"
                found |= named
        return found


def _kind(product: Product) -> str:
    if product.dataset == "pvqa":
        return "opinions"
    return "people" if product.dataset.startswith("atlas_") else "frames"


def differences(found: set[Product], expected: set[Product]) -> str:
    """Missing and superfluous products in words; empty if there are none."""
    lines = [f"not reached, but should be: {product}" for product in sorted(expected - found)]
    lines += [f"reached, but should not be: {product}" for product in sorted(found - expected)]
    return "\n".join(lines)


def everything() -> Config:
    """A scale with all code, and a model with imported predictions, which config/ does not have."""
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
    """A scale with all code that predicts people."""
    return config.load(read("everything_people.yaml"))


def fields() -> Config:
    """A scale with all code that reads and scores forecasts of fields on the globe."""
    return config.load(read("everything_fields.yaml"))


def opinions() -> Config:
    """A scale with all code that predicts opinions of videos."""
    return config.load(read("everything_opinions.yaml"))


def read(name: str) -> Any:
    """Read a YAML file of this folder."""
    return yaml.safe_load((HERE / name).read_text())
