"""The plan: all cells, their artefacts, and the folders of the artefacts.

A cell is one model, trained on one dataset, and tested on one dataset in one setting. The plan is
made from configuration and source code, without torch. It reads only the accepted artefacts from
the store.
"""

from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from stp.core.errors import StpError, suggest_name
from stp.core.fingerprint import SOURCE_FOLDER, Code
from stp.core.receipts import RECEIPT
from stp.plan import config as configuration
from stp.plan import raw_releases, scale
from stp.plan import weights as network_weights
from stp.plan.accepted import read_accepted
from stp.plan.artefacts import Artefact, CellArtefacts, Raw
from stp.plan.cell_key import CellKey
from stp.plan.code_fingerprint import CodeOfPlan
from stp.plan.config import Config
from stp.plan.enumeration import enumerate_cells
from stp.plan.model import Submission
from stp.plan.raw_releases import Raws
from stp.plan.recipes import Recipes
from stp.plan.walk import Walk


class Plan:
    """All cells of a scale, and the artefacts that they need.

    Args:
        config: the checked configuration.
        source: folder that contains the package (tests make plans for copies of the package).

    Attributes:
        cells: each cell with its artefacts.
        recipes: recipes of all artefacts.
        sources: source code of the package, from which code fingerprints are computed.
        store: folder of all artefacts.
        raw_folder: folder of fetched raw files.
        raw_mirror: folder of further raw files, which is only read; None without one.
        weights: folder of the weights of networks that metrics use.
        weight_files: paths of those of these weights that are present, by name.
        dimensions: names of the dimensions whose artefacts count as work of a run (`count`).
    """

    def __init__(self, config: Config, source: Path = SOURCE_FOLDER) -> None:
        self.config = config
        self.source = source
        folders = scale.folders(config.scale.paths)
        assert folders["store"] and folders["raw"]
        self.store: Path = folders["store"]
        self.raw_folder: Path = folders["raw"]
        self.raw_mirror: Path | None = folders["mirror"]
        self.weights: Path = folders["weights"] or network_weights.FOLDER.absolute()
        present = network_weights.present(self.weights, network_weights.read_declared_weights())
        self.weight_files = {name: self.weights / file.file for name, file in present.items()}
        self.recipes = Recipes(config, {name: file.identity for name, file in present.items()})
        self._code = CodeOfPlan(config, source)
        self.sources = self._code.sources
        self._raws = Raws(self.recipes, self._code)
        self._walk = Walk(self.recipes, self._code, self._raws, read_accepted(self.store))
        self.cells: list[CellArtefacts] = [
            self._walk.cell(cell, keep) for cell, keep in enumerate_cells(config)
        ]
        self.count(config.scale.dimensions)
        for name in config.scale.prepared:
            self.data(name)

    @classmethod
    def load(cls, scale: Mapping[str, Any] | Path, where: str | None = None) -> "Plan":
        """Read the configuration and make the plan.

        Args:
            scale: path or content of a scale file.
            where: name of the scale in errors; by default the path of the file.

        Raises:
            StpError: the configuration is wrong.
        """
        return cls(configuration.load(scale, where=where))

    def code(self, *roots: str) -> Code:
        """Hash the code of root modules and of all modules that they import (`CodeOfPlan.of`)."""
        return self._code.of(*roots)

    def raw(self, name: str) -> Raw:
        """The raw files of a dataset, in the release (version) that the configuration selects."""
        return self._raws.of_dataset(name)

    def raw_of(self, target: str) -> Raw:
        """Find raw files by the name of a dataset, or the path of the file with their checksums.

        The latter is called a lock file.

        Raises:
            StpError: no release has this dataset or lock file.
        """
        return self._raws.find(target, self.store)

    def config_lock_path(self, raw: Raw) -> Path | None:
        """Path of the file in config/ with the checksums that raw files of a release should have.

        The file need not exist.

        Returns:
            the path; None for generated data, network weights and imported predictions.
        """
        return raw_releases.config_lock_path(raw)

    def raw_roots(self, raw: Raw) -> list[Path]:
        """List the folders that are searched for a release's files, in order."""
        if raw.generated:
            return [self.raw_folder / raw.generated]
        return self.nongenerated_roots

    @property
    def nongenerated_roots(self) -> list[Path]:
        """Folders that are searched for raw files that stp does not generate, in order."""
        return [self.raw_folder, *([self.raw_mirror] if self.raw_mirror else [])]

    def members(self, cell: CellKey) -> tuple[int, str | None]:
        """Number of forecasts of each clip, and how several forecasts are scored.

        Returns:
            the number; and the name of the statistic, such as ``ensemble_mean``, None for one
            forecast.
        """
        return self._walk.members(cell)

    def submission(self, cell: CellKey) -> Submission | None:
        """The imported predictions of a cell (one model in one test), if the model runs elsewhere.

        None for all other models.
        """
        return self._walk.submission(cell)

    def data(self, name: str) -> Artefact:
        """The prepared data of a dataset."""
        return self._walk.data(name)

    @property
    def prepared_data(self) -> list[Artefact]:
        """The prepared data of all datasets of the scale."""
        return list(self._walk.prepared.values())

    @property
    def artefacts(self) -> dict[str, Artefact]:
        """All artefacts by folder, in the order in which they can be made."""
        return self._walk.artefacts

    def find(self, receipt: str | Path) -> Artefact:
        """Find the artefact of the plan that a receipt belongs to.

        Args:
            receipt: path of the receipt (``artefact.json``), or of the artefact's folder, absolute
                or relative to the store.

        Raises:
            StpError: the artefact is not, or is no longer, part of the plan.
        """
        # Called several times for each job by Snakemake: strings are faster than paths.
        folder = str(receipt).removeprefix(f"{self.store}/").removesuffix(f"/{RECEIPT}")
        artefact = self.artefacts.get(folder)
        if artefact is not None:
            return artefact
        parent = str(PurePosixPath(folder).parent)
        current = [key for key in self.artefacts if str(PurePosixPath(key).parent) == parent]
        if current:
            raise StpError(
                f"{folder} is no longer in the plan",
                expected=f"the fingerprint {PurePosixPath(current[0]).name}: code or configuration "
                "changed since this job was planned",
                remedy="run snakemake again",
            )
        raise StpError(
            f"the plan has no artefact {folder}",
            remedy=suggest_name(folder, self.artefacts)
            if len(self.artefacts) < 100
            else "`stp plan --list` lists its artefacts",
        )

    def inputs(self, artefact: Artefact) -> list[str]:
        """Absolute paths of the files on which Snakemake lets the job of an artefact wait.

        They are the receipts (``artefact.json``) of other artefacts, and the lock files of raw
        files, both of which are written last.
        """
        return [
            f"{self.store}/{value.lock if isinstance(value, Raw) else value.receipt}"
            for value in artefact.inputs.values()
        ]

    def receipts(self, dimension: str) -> list[str]:
        """Absolute paths of the files that exist once a dimension (question) has all its scores.

        They are the receipts (``artefact.json``) of the scores; Snakemake lets the table of the
        dimension wait for them.
        """
        return [
            f"{self.store}/{scores.receipt}"
            for made in self.cells
            if made.cell.dimension == dimension
            for scores in (made.scores, made.perceptual)
            if scores is not None
        ]

    def drawable_cases(self, dimension: str) -> list[str]:
        """List the tests of a dimension (one table) for which forecasts of a model are stored.

        Returns:
            names such as ``kitti-caltech`` (`CellKey.case_name`), of which pictures can be drawn.
        """
        cells = [made for made in self.cells if made.cell.dimension == dimension]
        return list(dict.fromkeys(made.cell.case_name for made in cells if made.keep != 0))

    def count(self, dimensions: Collection[str]) -> None:
        """Set the dimensions (tables) whose artefacts count as work of a run; initially all.

        Progress and status then leave out artefacts that no table of the run needs.

        Args:
            dimensions: names of the dimensions, each with a table of its own.
        """
        self.dimensions = [name for name in self.config.scale.dimensions if name in dimensions]
        self._needed = {
            artefact.folder
            for made in self.cells
            if made.cell.dimension in dimensions
            for artefact in made.artefacts
        }

    def is_wanted(self, artefact: Artefact) -> bool:
        """Whether an artefact counts as work of this run, in progress and status.

        Prepared data that no cell (evaluation) needs, which the scale file lists under `prepared`,
        count once their preparation has started.
        """
        if artefact.folder in self._needed:
            return True
        state = self.store / "state" / artefact.folder
        is_started = (self.store / artefact.receipt).exists() or state.exists()
        return artefact.stage == "prepare" and is_started

    def threads(self, artefact: Artefact) -> int:
        """Number of threads of a training run or prediction, or of processes of a preparation."""
        if artefact.stage == "prepare":
            return max(1, int(self.config.scale.runtime.get("prepare_workers", 1)))
        if artefact.forecast is not None:
            return int(artefact.forecast["predict"].get("threads", 1))
        return int(artefact.recipe.get(artefact.stage, {}).get("threads", 1))

    def ranks(self, artefact: Artefact) -> int:
        """Number of processes that train one model: ``runtime.ranks``, or one for each GPU."""
        if artefact.stage != "train" or artefact.recipe["fit"] != "sgd" or not artefact.kind.on_gpu:
            return 1
        runtime = self.config.scale.runtime
        return max(1, int(runtime.get("ranks") or runtime.get("gpus") or 0))

    def gpus(self, artefact: Artefact) -> int:
        """Number of GPUs of a job: ``runtime.gpus`` for training runs of networks, else at most
        one.
        """
        network = artefact.forecast or (artefact.recipe if artefact.stage == "train" else None)
        # Distances of sets of clips compare stored features; other perceptual scores run networks.
        has_network = artefact.stage == "features"
        has_network |= artefact.is_perceptual and "weights" in artefact.recipe
        if network is not None and artefact.kind.on_gpu:
            has_network |= self.config.models[network["model"]].fit == "sgd"
        if not has_network:
            return 0
        gpus = int(self.config.scale.runtime.get("gpus", 0))
        return gpus if artefact.stage == "train" else min(gpus, 1)
