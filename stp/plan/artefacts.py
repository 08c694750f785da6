"""Parts of a plan: raw files, artefacts, and the cells that need them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stp.core.fingerprint import Code, digest
from stp.core.json_files import Json
from stp.core.receipts import RECEIPT
from stp.plan.cell_key import CellKey
from stp.plan.dataset import Release
from stp.tasks.task import Task

FOLDERS = {
    "prepare": "data",
    "train": "models",
    "predict": "predictions",
    "features": "features",
    "score": "scores",
}
"""Stage -> folder of its artefacts in the store."""
IDENTITY = ("environment", "reads", "versions")
"""Keys of recipes that only distinguish artefacts; cores do not get them."""
EXTERNAL = "external"
"""Stands for a dataset where raw files are imported predictions."""
READ = "read"
"""`fit` of models whose forecasts are read from files, and scored without storing them."""
PERCEPTUAL = "perceptual"
"""Folder, within that of a cell's scores, of the scores that compare features of networks."""


@dataclass(frozen=True)
class Raw:
    """Raw files of one release, which are locked when they are first used.

    Attributes:
        dataset: name of the dataset.
        release: name of the release.
        lock: the lock file, relative to the store.
        identity: hash of the names of dataset, release and files. The lock file guarantees that
            these files stay the same; checksums, sizes and URLs that are declared later are
            compared with the lock, and nothing is made again.
        generated: folder of generated files, relative to the raw folder; None of others.
        declared: entry of the release.
        reads: files of the checkout that the generator reads, besides its static imports.
        place: file and keys of the release's entry, for people.
    """

    dataset: str
    release: str
    lock: str
    identity: str
    generated: str | None
    declared: Release = field(compare=False)
    reads: tuple[str, ...] = ()
    place: str = field(default="", compare=False)


@dataclass(frozen=True)
class Artefact:
    """One immutable folder of the store.

    Attributes:
        stage: prepare, train, predict, features or score.
        folder: relative to the store; ends with the fingerprint.
        label: a readable name.
        recipe: all that may influence the content, besides code and inputs.
        inputs: artefacts and raw files that it is made from, by name.
        code: the code that can influence it.
        core: the module whose ``run(job)`` makes it.
        kind: the task of its samples.
        dataset: dataset that it is made from; of predictions and scores, the tested one.
        dimension: that it belongs to; None for data, models and features of observed clips, which
            all dimensions share.
        is_perceptual: whether it holds scores that compare features of networks.
        entries: files of the configuration that name its modules, and may declare files that these
            read (`reads`).
        accepted: who declared this artefact of older code to be current, and why; None of others.
    """

    stage: str
    folder: str
    label: str
    recipe: Json = field(hash=False)
    inputs: Mapping[str, "Artefact | Raw"] = field(hash=False)
    code: Code = field(hash=False)
    core: str = field(hash=False)
    kind: Task = field(hash=False)
    dataset: str
    dimension: str | None = None
    is_perceptual: bool = False
    entries: tuple[str, ...] = ()
    accepted: str | None = None

    @property
    def fingerprint(self) -> str:
        return self.folder.rpartition("/")[2]

    @property
    def words(self) -> frozenset[str]:
        """Words by which commands select it: the parts of its path, and its stage."""
        return frozenset((*self.folder.split("/"), self.stage))

    @property
    def receipt(self) -> str:
        return f"{self.folder}/{RECEIPT}"

    @property
    def rule(self) -> str:
        """The rule of the workflow that makes it, such as ``predict_short_term``."""
        perceptual = [PERCEPTUAL] if self.is_perceptual else []
        return "_".join([self.stage, *perceptual, *([self.dimension] if self.dimension else [])])

    @property
    def is_rollout(self) -> bool:
        """Are these scores or features of forecasts that are computed and not stored?"""
        return "rollout" in self.recipe

    @property
    def forecast(self) -> Json | None:
        """The recipe of the forecasts that the artefact computes; None if it computes none.

        Predictions compute forecasts; so do scores whose forecasts are made as they are scored.
        """
        recipe: Json | None = self.recipe if self.stage == "predict" else self.recipe.get("rollout")
        return recipe

    @property
    def is_resumable(self) -> bool:
        """Can its job be stopped at any time, and be resumed?"""
        is_scored_rollout = self.is_rollout and self.stage == "score" and not self.is_perceptual
        return is_scored_rollout or self.recipe.get("fit") in ("sgd", "calibrate")

    @property
    def work(self) -> str:
        """Stage and model or network: durations are estimated for each such kind of work."""
        if self.stage == "features":
            suffix = " of rollouts" if self.is_rollout else ""
            return f"features {self.recipe['network']}{suffix}"
        model = self.recipe.get("model") or self.recipe.get("cell", {}).get("model", "")
        stage = "rollout" if self.is_rollout else self.stage
        return f"{stage} {model}".rstrip()


@dataclass(frozen=True)
class CellArtefacts:
    """A cell and its artefacts.

    Attributes:
        cell: key of the cell.
        data: the prepared data of the test.
        models: trained models: one, one for each lead time or member, or none.
        predictions: None where forecasts are scored without storing them.
        scores: those without features of networks.
        perceptual: scores that compare features of networks; None without such metrics.
        features: network features of its observed and predicted clips.
        keep: number of forecasts stored with the scores; None where all predictions are stored.
    """

    cell: CellKey
    data: Artefact
    models: tuple[Artefact, ...]
    predictions: Artefact | None
    scores: Artefact
    perceptual: Artefact | None = None
    keep: int | None = None
    features: tuple[Artefact, ...] = ()

    @property
    def artefacts(self) -> list[Artefact]:
        parts = [self.data, *self.models, self.predictions, *self.features, self.scores]
        parts += [self.perceptual]
        return [artefact for artefact in parts if artefact is not None]


def fingerprint_of(stage: str, code: str, recipe: Json, inputs: Mapping[str, str]) -> str:
    """Fingerprint an artefact.

    Args:
        stage: prepare, train, predict, features or score.
        code: fingerprint of the code that can influence it.
        recipe: all else that may influence the content.
        inputs: fingerprints of its inputs by name; of raw files, their identity.
    """
    return digest({"stage": stage, "code": code, "recipe": recipe, "inputs": dict(inputs)})
