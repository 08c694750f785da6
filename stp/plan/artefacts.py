"""Parts of a plan: raw files, artefacts (folders that jobs write), and the cells that need them.

A cell is one model, trained on one dataset, tested on one dataset, in one setting, with one seed.
"""

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
"""Folder of artefacts in the store, by stage."""
IDENTITY = ("environment", "reads", "versions")
"""Keys of recipes that only distinguish artefacts, and that cores do not get."""
EXTERNAL = "external"
"""Name used in place of a dataset's where the raw files are imported predictions."""
READ = "read"
"""The `fit` of models whose forecasts are read from files, and scored without storing them."""
PERCEPTUAL = "perceptual"
"""Folder, within that of a cell's scores, of the scores that compare features of networks."""


@dataclass(frozen=True)
class Raw:
    """Raw files of one release (version of a dataset), whose checksums are recorded at first use.

    Attributes:
        dataset: name of the dataset. For imported predictions it is ``external``, for pretrained
            weights ``weights``, and for an archive of forecasts ``<model>-<dataset>``.
        release: name of the release. For imported predictions and pretrained weights it is the
            first digits of the file's checksum.
        lock: path of the lock file (recorded checksums of the files), relative to the store.
        identity: hash that identifies the files. It covers the names of dataset, release and files,
            and of generated files also code and options of the generator. Checksums, sizes and URLs
            of other files are left out. When they are added to the configuration later, nothing has
            to be made again; the lock file ensures that the files stay the same.
        generated: folder of generated files, relative to the raw folder; None if the files are not
            generated.
        declared: entry of the release in the configuration.
        reads: paths of files in the checkout that the generator reads, besides its static imports.
        place: file and keys of ``declared`` in the configuration, for messages.
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
    """One immutable folder of the store: the result of one job, such as a trained model.

    Attributes:
        stage: prepare, train, predict, features or score.
        folder: path relative to the store; its last part is the fingerprint.
        label: readable name of the artefact.
        recipe: all settings that may influence the content.
        inputs: artefacts and raw files that the artefact is made from, by name.
        code: code that can influence the content.
        core: full name of the module whose ``run(job)`` makes the artefact.
        kind: task: whether samples are frames, tracks of people, or opinions.
        dataset: name of the dataset; for predictions and scores, the test dataset.
        dimension: name of the artefact's dimension; None for data, models and features of observed
            clips, which all dimensions share.
        is_perceptual: whether the artefact contains scores that compare network features.
        entries: paths of configuration files that name modules of the artefact; they may also
            declare files that these modules read (`reads`).
        accepted: the user's declaration that this artefact of older code is current; None for an
            artefact of current code.
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
        """Words by which commands select the artefact: stage and parts of its path."""
        return frozenset((*self.folder.split("/"), self.stage))

    @property
    def receipt(self) -> str:
        return f"{self.folder}/{RECEIPT}"

    @property
    def rule(self) -> str:
        """Name of the Snakemake rule that makes the artefact, such as ``predict_short_term``."""
        perceptual = [PERCEPTUAL] if self.is_perceptual else []
        return "_".join([self.stage, *perceptual, *([self.dimension] if self.dimension else [])])

    @property
    def is_rollout(self) -> bool:
        """Whether the artefact's job makes forecasts itself instead of reading stored predictions.

        The job computes the forecasts or reads them from files, does its work with them (scores or
        features), and does not store them. Named after the key ``rollout`` of the recipe, although
        the forecasts need not be rollouts.
        """
        return "rollout" in self.recipe

    @property
    def forecast(self) -> Json | None:
        """Settings of the forecasts that the artefact's job makes; None if it makes none.

        Forecasts are made by jobs of predictions, which store them, and by jobs of scores and
        features with `is_rollout`, which do not.
        """
        recipe: Json | None = self.recipe if self.stage == "predict" else self.recipe.get("rollout")
        return recipe

    @property
    def is_resumable(self) -> bool:
        """Whether the job that makes the artefact can be stopped at any time and resumed."""
        is_scored_rollout = self.is_rollout and self.stage == "score" and not self.is_perceptual
        return is_scored_rollout or self.recipe.get("fit") in ("sgd", "calibrate")

    @property
    def work(self) -> str:
        """Kind of the job that makes the artefact: the stage, and the model or network.

        Estimates of durations assume that jobs of the same kind run at the same speed.
        """
        if self.stage == "features":
            suffix = " of rollouts" if self.is_rollout else ""
            return f"features {self.recipe['network']}{suffix}"
        model = self.recipe.get("model") or self.recipe.get("cell", {}).get("model", "")
        stage = "rollout" if self.is_rollout else self.stage
        return f"{stage} {model}".rstrip()


@dataclass(frozen=True)
class CellArtefacts:
    """A cell (one model on one dataset in one setting), and the artefacts that it needs.

    Attributes:
        cell: key of the cell.
        data: prepared test data.
        models: trained models: none, one, or one for each lead time or ensemble member.
        predictions: stored predictions; None if forecasts are scored without storing them.
        scores: scores that do not compare network features.
        perceptual: scores that compare network features; None if there are none.
        features: network features of the observed and predicted clips.
        keep: number of forecasts stored with the scores for pictures; None if all predictions are
            stored.
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
    """Hash everything that can influence an artefact; its folder is named after this fingerprint.

    Args:
        stage: prepare, train, predict, features or score.
        code: fingerprint of the code that can influence the artefact.
        recipe: all settings that may influence the content.
        inputs: fingerprints of input artefacts, and identities of raw files, by name.
    """
    return digest({"stage": stage, "code": code, "recipe": recipe, "inputs": dict(inputs)})
