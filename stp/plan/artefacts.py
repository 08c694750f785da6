"""What a plan consists of: raw bytes, the folders of the store, and the cells that need them."""

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
"""Where the artefacts of each stage live in the store."""
IDENTITY = ("environment", "reads", "versions")
"""Keys of recipes that make another artefact of it; no core is handed them."""
EXTERNAL = "external"
"""Stands for a dataset where raw bytes are predictions that were made elsewhere."""
READ = "read"
"""Models whose forecasts are read and not computed, and never stored before they are scored."""
PERCEPTUAL = "perceptual"
"""Folder, within that of a cell's scores, of those that need a GPU."""


@dataclass(frozen=True)
class Raw:
    """Raw bytes of one release, locked at first sight.

    Attributes:
        lock: the lock file, relative to the store.
        identity: hash of the names of dataset, release and files. That they always mean the same
            bytes is what the lock file guarantees; what is declared of these later (checksums,
            sizes, URLs) is compared with the lock, and makes nothing again.
        generated: folder of generated files relative to the raw folder, or None.
        declared: the files, or what generates them.
        reads: files of the checkout that the generator reads, besides what its imports name.
    """

    dataset: str
    release: str
    lock: str
    identity: str
    generated: str | None
    declared: Release = field(compare=False)
    reads: tuple[str, ...] = ()


@dataclass(frozen=True)
class Artefact:
    """One immutable folder of the store.

    Attributes:
        stage: prepare, train, predict, features or score.
        folder: relative to the store; ends with the fingerprint.
        label: a readable name.
        recipe: everything that may influence the content, besides code and inputs.
        inputs: what it is made from.
        code: the code that can influence it.
        core: the module whose ``run(job)`` makes it.
        kind: the kind of sample that it holds.
        dataset: the dataset it is made from; for predictions and scores, the one of the test.
        dimension: the dimension it belongs to; None for data, models and features of observed
            clips, which all dimensions share.
        is_perceptual: whether these are scores that compare what networks see.
        entries: files of the configuration that name modules which run here, and may declare what
            these read besides (`reads`).
        accepted: who declared that this artefact of older code is current, and why; else None.
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
        """What a command may choose it by: the parts of its path, and its stage."""
        return frozenset((*self.folder.split("/"), self.stage))

    @property
    def receipt(self) -> str:
        return f"{self.folder}/{RECEIPT}"

    @property
    def rule(self) -> str:
        """The rule of the workflow that makes it, such as ``predict_short_term``."""
        own = [PERCEPTUAL] if self.is_perceptual else []
        return "_".join([self.stage, *own, *([self.dimension] if self.dimension else [])])

    @property
    def is_rollout(self) -> bool:
        """Are these scores, or features, of forecasts that are made meanwhile and not stored?"""
        return "rollout" in self.recipe

    @property
    def forecast(self) -> Json | None:
        """The recipe of the forecasts that are made here."""
        found: Json | None = self.recipe if self.stage == "predict" else self.recipe.get("rollout")
        return found

    @property
    def is_resumable(self) -> bool:
        """Can its job be stopped at any time, and go on later from where it was?"""
        rolled = self.is_rollout and self.stage == "score" and not self.is_perceptual
        return rolled or self.recipe.get("fit") in ("sgd", "calibrate")

    @property
    def work(self) -> str:
        """Stage and model or network: durations are learned for each such kind of work."""
        if self.stage == "features":
            made = " of rollouts" if self.is_rollout else ""
            return f"features {self.recipe['network']}{made}"
        model = self.recipe.get("model") or self.recipe.get("cell", {}).get("model", "")
        stage = "rollout" if self.is_rollout else self.stage
        return f"{stage} {model}".rstrip()


@dataclass(frozen=True)
class CellArtefacts:
    """A cell with the artefacts that it consists of.

    Attributes:
        models: what was trained for it; one, unless each lead time has its own.
        predictions: None where they are scored while they are made, and not stored.
        perceptual: scores that need a network; None where no such metric is available.
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
        own = [self.data, *self.models, self.predictions, *self.features, self.scores]
        own += [self.perceptual]
        return [artefact for artefact in own if artefact is not None]


def fingerprint_of(stage: str, code: str, recipe: Json, inputs: Mapping[str, str]) -> str:
    """Fingerprint an artefact.

    Args:
        stage: prepare, train, predict, features or score.
        code: fingerprint of the code that can influence it.
        recipe: everything else that may influence the content.
        inputs: fingerprints of what it is made from; of raw bytes, their identity.
    """
    return digest({"stage": stage, "code": code, "recipe": recipe, "inputs": dict(inputs)})
