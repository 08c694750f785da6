"""The plan: which cells exist, what each is made from, and where everything lives.

A cell is one model, trained on one dataset, tested on one dataset in one setting. The plan
is made from configuration and source code alone: no torch, and no look at the disk. Every
path of the store is built here and nowhere else.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from stp.core.errors import StpError, nearest
from stp.core.fingerprint import SOURCE_FOLDER, Code, Sources, digest, original
from stp.core.receipts import RECEIPT
from stp.fetch.lock import WEIGHTS
from stp.options.calibrate import CalibrationOptions, FittingOptions
from stp.options.named import modules
from stp.options.predict import PredictOptions
from stp.options.predict_tracks import MotionOptions
from stp.options.train import TrainOptions
from stp.plan import config as configuration
from stp.plan import weights as network_weights
from stp.plan.config import Config, Json, Release, Submission
from stp.plan.recipes import Recipes, check_options
from stp.plan.setting import ROBUSTNESS, setting_of

ROOTS: dict[str, tuple[str, ...]] = {
    "generate": ("stp.fetch.generators.{generator}",),
    "prepare": ("stp.prepare.{reader}",),
    "train": ("stp.train.run", "stp.models.{model}"),
    "predict": ("stp.predict.run", "stp.models.{model}"),
    "calibrate": ("stp.train.calibrated", "stp.tracks.predictors.{model}"),
    "people": ("stp.predict.motion", "stp.tracks.predictors.{model}"),
    "score_people": ("stp.score.motion",),
    "imported": ("stp.predict.imported",),
    "score": ("stp.score.run",),
    "rollout": ("stp.score.rollout", "stp.models.{model}"),
    "collect": (
        "stp.collect.scores",
        "stp.collect.database",
        "stp.render.tables.paper_table",
        "stp.render.tables.reliability",
        "stp.render.tables.findings",
        "stp.render.tables.convention_effects",
        "stp.render.tables.runtime",
        "stp.human_study.table",
        "stp.render.tables.reproduction",
    ),
}
"""The root modules of each stage (rollout: scores of forecasts that are not stored; people: where
people are predicted, and not frames). Modules that
are chosen by name (models, readers, metrics, virtual clips) are invisible to a static walk, so they
are listed here."""

FOLDERS = {"prepare": "data", "train": "models", "predict": "predictions", "score": "scores"}
"""Where the artefacts of each stage live in the store."""
EXTERNAL = "external"
"""Stands for a dataset where raw bytes are predictions that were made elsewhere."""
PERCEPTUAL = "perceptual"
"""Folder, within that of a cell's scores, of those that need a GPU."""


@dataclass(frozen=True)
class Cell:
    """The unit of everything; its fields are the key columns of every table."""

    suite: str
    dimension: str
    model: str
    variant: str
    trained_on: str
    train_subset: str
    tested_on: str
    subset: str
    setting: str
    seed: int | None

    @property
    def path(self) -> str:
        """The cell as a path: unique, readable, and safe in a file name."""
        return "/".join(
            [
                self.suite,
                self.model,
                self.variant,
                self.trained_on,
                self.train_subset,
                self.tested_on,
                self.subset,
                self.setting,
                seed_name(self.seed),
            ]
        )

    def __str__(self) -> str:
        seed = "" if self.seed is None else f", seed {self.seed}"
        return f"{self.model} on {self.tested} ({self.dimension}{seed})"

    @property
    def tested(self) -> str:
        """What it was trained and tested on, in short: ``kitti -> caltech``, ``bridge x2``."""
        same = self.tested_on == self.trained_on
        parts = [self.tested_on if same else f"{self.trained_on} -> {self.tested_on}"]
        parts += [] if self.subset in ("test", ROBUSTNESS) else [self.subset]
        if "interval" in self.setting:
            parts.append(f"x{setting_of(self.setting)['interval']}")
        return " ".join(parts)


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
    """

    dataset: str
    release: str
    lock: str
    identity: str
    generated: str | None
    declared: Release = field(compare=False)


@dataclass(frozen=True)
class Artefact:
    """One immutable folder of the store.

    Attributes:
        stage: prepare, train, predict or score.
        folder: relative to the store; ends with the fingerprint.
        label: what it is, for people.
        recipe: everything that may influence the content, besides code and inputs.
        inputs: what it is made from.
        code: the code that can influence it.
    """

    stage: str
    folder: str
    label: str
    recipe: Json = field(hash=False)
    inputs: Mapping[str, "Artefact | Raw"] = field(hash=False)
    code: Code = field(hash=False)

    @property
    def fingerprint(self) -> str:
        return self.folder.rpartition("/")[2]

    @property
    def receipt(self) -> str:
        return f"{self.folder}/{RECEIPT}"

    @property
    def dimension(self) -> str | None:
        """The dimension of the evaluation that it belongs to; data and models serve all."""
        return self.folder.split("/", 2)[1] if self.stage in ("predict", "score") else None

    @property
    def rule(self) -> str:
        """The rule of the workflow that makes it, such as ``predict_short_term``."""
        if self.dimension is None:
            return self.stage
        own = [self.stage, PERCEPTUAL] if self.is_perceptual else [self.stage]
        # Each dimension of PredBench has rules of its own; those of Atlas share theirs.
        suite = "atlas" if self.dimension.startswith("atlas_") else self.dimension
        return "_".join([*own, suite])

    @property
    def is_of_people(self) -> bool:
        """Are people predicted here, or scored, and not frames?"""
        made_of = self.inputs.get("predictions")
        recipe = made_of.recipe if isinstance(made_of, Artefact) else self.recipe
        return recipe.get("kind") == "tracks"

    @property
    def is_rollout(self) -> bool:
        """Are these scores of forecasts that are made meanwhile and not stored?"""
        return "rollout" in self.recipe

    @property
    def forecast(self) -> Json | None:
        """The recipe of the forecasts that are made here."""
        found: Json | None = self.recipe if self.stage == "predict" else self.recipe.get("rollout")
        return found

    @property
    def is_resumable(self) -> bool:
        """Can its job be stopped at any time, and go on later from where it was?"""
        rolled = self.is_rollout and not self.is_perceptual
        return rolled or self.recipe.get("fit") in ("sgd", "calibrate")

    @property
    def is_perceptual(self) -> bool:
        """Are these scores that compare what networks see?"""
        return self.folder.endswith(f"/{PERCEPTUAL}/{self.fingerprint}")

    @property
    def dataset(self) -> str:
        """The dataset that it is made of or, for predictions and scores, tested on."""
        name: str = self.folder.split("/")[7 if self.stage in ("predict", "score") else 1]
        return name

    @property
    def kind(self) -> str:
        """The stage, and the model where there is one: work of a kind takes alike."""
        model = self.recipe.get("model") or self.recipe.get("cell", {}).get("model", "")
        stage = "rollout" if self.is_rollout else self.stage
        return f"{stage} {model}".rstrip()


@dataclass(frozen=True)
class Made:
    """A cell with the artefacts that it consists of.

    Attributes:
        predictions: None where they are scored while they are made, and not stored.
        perceptual: scores that need a GPU; None where no such metric is available.
        keep: of predictions that are not stored, as many that are: beside the scores.
    """

    cell: Cell
    data: Artefact
    model: Artefact | None
    predictions: Artefact | None
    scores: Artefact
    perceptual: Artefact | None = None
    keep: int | None = None

    @property
    def artefacts(self) -> list[Artefact]:
        own = [self.data, self.model, self.predictions, self.scores, self.perceptual]
        return [artefact for artefact in own if artefact is not None]


def fingerprint_of(stage: str, code: str, recipe: Json, inputs: Mapping[str, str]) -> str:
    """Fingerprint an artefact.

    Args:
        stage: prepare, train, predict or score.
        code: fingerprint of the code that can influence it.
        recipe: everything else that may influence the content.
        inputs: fingerprints of what it is made from; of raw bytes, their identity.
    """
    return digest({"stage": stage, "code": code, "recipe": recipe, "inputs": dict(inputs)})


def _modules(conventions: list[str]) -> list[str]:
    """Name the modules of some conventions."""
    return sorted({f"stp.metrics.{name.partition('.')[0]}" for name in conventions})


def seed_name(seed: int | None) -> str:
    """Name a seed in a path; models without randomness have none."""
    return "seed-none" if seed is None else f"seed-{seed}"


def enumerate_cells(config: Config) -> Iterator[tuple[Cell, int | None]]:
    """Yield all cells that a scale wants, datasets first: a table is read one at a time.

    Models that live elsewhere have the cells that predictions were imported for.

    Yields:
        each cell, and how many of its predictions are kept: None for all.

    Raises:
        StpError: a cell is wanted twice, or predictions of a model for none of its cells.
    """
    scale, seen, recipes = config.scale, set(), Recipes(config)
    for dimension, wanted in scale.dimensions.items():
        for case in wanted.cases:
            tested_on = case.tested_on or case.trained_on
            name = recipes.setting(case)
            for model in case.models or wanted.models:
                fit = config.models[model].fit
                place = (dimension, case.trained_on, case.train_subset, tested_on, case.subset)
                if fit == EXTERNAL and not recipes.submission(model, *place, name):
                    continue
                has_seed = fit == "sgd" and case.variant == "default"
                for seed in scale.seeds if has_seed else (None,):
                    cell = Cell(
                        suite=scale.suite,
                        dimension=dimension,
                        model=model,
                        variant=case.variant,
                        trained_on=case.trained_on,
                        train_subset=case.train_subset,
                        tested_on=tested_on,
                        subset=case.subset,
                        setting=name,
                        seed=seed,
                    )
                    if cell in seen:
                        raise StpError(
                            f"{cell} on {cell.subset} with {name} is wanted twice",
                            expected=f"each cell of {dimension} once",
                            remedy="take one of the two out of the scale file",
                        )
                    seen.add(cell)
                    yield cell, None if fit == EXTERNAL else case.keep
    without = {m for wanted in scale.dimensions.values() for m in wanted.models}
    without -= {cell.model for cell in seen}
    for model in sorted(m for m in without if config.models[m].fit == EXTERNAL):
        raise StpError(
            f"no predictions of {model} were imported for any cell of the scale {scale.scale}",
            expected="predictions for the same release, clips, subset and setting",
            remedy=f"stp windows DATASET, predict, stp import-predictions DIR --model {model}; or "
            f"take {model} out of the scale file",
        )


class Plan:
    """All cells of a configuration, and every artefact that they need.

    Args:
        config: the checked configuration.
        source: the folder that holds the package (tests plan for copies of it).
    """

    def __init__(self, config: Config, source: Path = SOURCE_FOLDER) -> None:
        self.config = config
        self.source = source
        self.sources = Sources(source)
        folders = configuration.folders(config.scale.paths)
        assert folders["store"] and folders["raw"]
        self.store: Path = folders["store"]
        self.raw_folder: Path = folders["raw"]
        self.raw_mirror: Path | None = folders["mirror"]
        self.weights: Path = folders["weights"] or network_weights.FOLDER.absolute()
        at_hand = network_weights.present(self.weights, network_weights.declared())
        self.weight_files = {name: self.weights / file.file for name, file in at_hand.items()}
        self._codes: dict[tuple[str, ...], Code] = {}
        self._raws: dict[str, Raw] = {}
        self._weights: dict[str, Raw] = {}
        self._submitted: dict[str, Raw] = {}
        self._training_codes: dict[tuple[str, str], Code] = {}
        self._artefacts: dict[str, Artefact] = {}
        self._data: dict[str, Artefact] = {}
        self._trained: dict[tuple[str, str, int | None, str], Artefact | None] = {}
        self.recipes = Recipes(config, {name: file.identity for name, file in at_hand.items()})
        self.cells: list[Made] = [self._make(*wanted) for wanted in enumerate_cells(config)]
        self.count(config.scale.dimensions)
        for name in config.scale.prepared:
            self.data(name)

    @classmethod
    def load(cls, scale: Mapping[str, Any] | Path) -> "Plan":
        """Read the configuration and make the plan.

        Raises:
            StpError: the configuration is wrong.
        """
        return cls(configuration.load(scale))

    # Artefacts

    def code(self, stage: str, *extra: str, **names: str) -> Code:
        """Fingerprint the code of a stage, with the modules that are chosen by name."""
        roots = tuple(root.format(**names) for root in ROOTS[stage]) + extra
        if roots not in self._codes:
            self._codes[roots] = self.sources.code_of(roots, self.config.equivalent)
        return self._codes[roots]

    def raw(self, name: str) -> Raw:
        """Name the raw bytes of a dataset's release, and where their lock file lives."""
        if name in self._raws:
            return self._raws[name]
        dataset = self.config.datasets[name]
        release = dataset.releases[dataset.release]
        if release.generator:
            code = self.code("generate", generator=release.generator)
            identity = digest([name, dataset.release, code.fingerprint, release.options])
            lock = f"raw/{name}/{dataset.release}-{identity}.lock.json"
            generated = f"generated/{name}/{dataset.release}-{identity}"
        else:
            files = sorted({file.path for file in release.files})
            identity = digest([name, dataset.release, release.source, files])
            identity = original(identity, self.config.equivalent)
            lock = f"raw/{name}/{dataset.release}.lock.json"
            generated = None
        self._raws[name] = Raw(name, dataset.release, lock, identity, generated, release)
        return self._raws[name]

    def given_weights(self, model: str, dataset: str) -> Raw | None:
        """Name the file of weights that the training of a model begins with, if there is one.

        It is known by its checksum, wherever it lies.
        """
        given = self.recipes.weights(model, dataset)
        if given is None:
            return None
        name = given.sha256[:16]
        if name not in self._weights:
            identity = digest([WEIGHTS, given.sha256])
            lock = f"raw/{WEIGHTS}/{name}.lock.json"
            self._weights[name] = Raw(WEIGHTS, name, lock, identity, None, given.release)
        return self._weights[name]

    def submission(self, cell: Cell) -> Submission | None:
        """The predictions of a cell that were made elsewhere, if its model lives there."""
        if self.config.models[cell.model].fit != EXTERNAL:
            return None
        place = (cell.dimension, cell.trained_on, cell.train_subset, cell.tested_on, cell.subset)
        return self.recipes.submission(cell.model, *place, cell.setting)

    def members(self, cell: Cell) -> tuple[int, str | None]:
        """How many forecasts of each clip there are, and what is scored of several."""
        given = self.submission(cell)
        if given is not None:
            return given.members, given.statistic
        return self.recipes.members(cell.model, cell.trained_on)

    def submitted(self, given: Submission) -> Raw:
        """Name the file of predictions that were made elsewhere, known by its checksum."""
        name = given.sha256[:16]
        if name not in self._submitted:
            identity, lock = digest([EXTERNAL, given.sha256]), f"raw/{EXTERNAL}/{name}.lock.json"
            self._submitted[name] = Raw(EXTERNAL, name, lock, identity, None, given.release)
        return self._submitted[name]

    def registered(self, raw: Raw) -> Path | None:
        """Where the bytes of an official release are registered; perhaps there is no such file."""
        if raw.generated or raw.dataset in (WEIGHTS, EXTERNAL):
            return None
        return configuration.CONFIG_FOLDER / "locks" / f"{raw.dataset}-{raw.release}.json"

    def raw_roots(self, raw: Raw) -> list[Path]:
        """List the folders that are searched for a release's files, in order."""
        if raw.generated:
            return [self.raw_folder / raw.generated]
        return [self.raw_folder, *([self.raw_mirror] if self.raw_mirror else [])]

    def _artefact(
        self,
        stage: str,
        folder: str,
        label: str,
        recipe: Json,
        inputs: Mapping[str, Artefact | Raw],
        code: Code,
    ) -> Artefact:
        """Fingerprint an artefact and build its path, below a folder of its own."""
        made_of = {
            key: value.identity if isinstance(value, Raw) else value.fingerprint
            for key, value in inputs.items()
        }
        fingerprint = fingerprint_of(stage, code.fingerprint, recipe, made_of)
        path = f"{folder}/{fingerprint}"
        if path not in self._artefacts:
            self._artefacts[path] = Artefact(stage, path, label, recipe, inputs, code)
        return self._artefacts[path]

    def _virtual(self, name: str) -> list[str]:
        renderer = self.config.datasets[name].virtual_clips
        return [f"stp.data.{renderer}"] if renderer else []

    def data(self, name: str) -> Artefact:
        """The prepared data of a dataset."""
        if name not in self._data:
            recipe = self.recipes.prepare(name)
            code = self.code("prepare", *self._virtual(name), reader=recipe["reader"])
            folder, inputs = f"{FOLDERS['prepare']}/{name}", {"raw": self.raw(name)}
            self._data[name] = self._artefact("prepare", folder, name, recipe, inputs, code)
        return self._data[name]

    def trained(
        self, model: str, name: str, seed: int | None, subset: str = "all"
    ) -> Artefact | None:
        """The trained model of a cell, or None where there is nothing to fit."""
        key = (model, name, seed, subset)
        if key not in self._trained:
            fits = self.config.models[model].fit not in ("none", EXTERNAL)
            self._trained[key] = self._train(*key) if fits else None
        return self._trained[key]

    def _train(self, model: str, name: str, seed: int | None, subset: str) -> Artefact:
        recipe = self.recipes.train(model, name, seed, subset)
        part = "" if subset == "all" else f", {subset}"
        code = self._training_code(model, name, recipe)
        given = self.given_weights(model, name)
        return self._artefact(
            "train",
            f"{FOLDERS['train']}/{name}/{model}/default/{seed_name(seed)}",
            f"{model} on {name}{part}" + ("" if seed is None else f", seed {seed}"),
            recipe,
            {"data": self.data(name), **({"weights": given} if given else {})},
            code,
        )

    def _training_code(self, model: str, name: str, recipe: Json) -> Code:
        """Fingerprint what trains a model on a dataset; whatever the seed, it is the same."""
        if (model, name) not in self._training_codes:
            chosen: list[str] = []
            if self.recipes.is_of_people(name):
                learns = recipe["fit"] == "sgd"
                label = f"{'training' if learns else 'calibration'} of {model} on {name}"
                kind = FittingOptions if learns else CalibrationOptions
                check_options(kind, recipe["train"], label)
                self._training_codes[model, name] = self.code("calibrate", model=model)
                return self._training_codes[model, name]
            if recipe["fit"] == "sgd":
                check_options(TrainOptions, recipe["train"], f"training of {model} on {name}")
                chosen = modules(recipe["train"])
            code = self.code("train", *self._virtual(name), *chosen, model=model)
            self._training_codes[model, name] = code
        return self._training_codes[model, name]

    def _make_people(self, cell: Cell) -> Made:
        """A cell in which people are predicted, and not frames."""
        data, model = self.data(cell.tested_on), None
        if cell.variant == "default":
            model = self.trained(cell.model, cell.trained_on, cell.seed, cell.train_subset)
        folder, label, setting = (
            f"{cell.dimension}/{cell.path}",
            str(cell),
            setting_of(cell.setting),
        )
        recipe = self.recipes.people(
            cell.model, cell.variant, cell.trained_on, cell.tested_on, cell.subset, setting
        )
        check_options(MotionOptions, recipe["predict"], f"prediction of {label}")
        made_of: dict[str, Artefact | Raw] = {"data": data, **({"model": model} if model else {})}
        released = None if model else self.given_weights(cell.model, cell.trained_on)
        made_of |= {WEIGHTS: released} if released else {}
        code = self.code("people", model=cell.model)
        own = f"{FOLDERS['predict']}/{folder}"
        predictions = self._artefact("predict", own, label, recipe, made_of, code)
        samples = recipe["predict"].get("samples", 1)
        conventions = self.recipes.scored(cell.tested_on, False, samples)
        statistic = "mean_of_members" if samples > 1 else None
        score = self.recipes.score(dict(vars(cell)), {}, conventions, statistic)
        scores = self._artefact(
            "score",
            f"{FOLDERS['score']}/{folder}",
            label,
            score,
            {"data": data, "predictions": predictions},
            self.code("score_people", *_modules(conventions)),
        )
        return Made(cell, data, model, predictions, scores)

    def _make(self, cell: Cell, keep: int | None) -> Made:
        if self.recipes.is_of_people(cell.tested_on):
            return self._make_people(cell)
        data = self.data(cell.tested_on)
        model = self.trained(cell.model, cell.trained_on, cell.seed, cell.train_subset)
        folder, label = f"{cell.dimension}/{cell.path}", str(cell)
        setting = setting_of(cell.setting)
        samples, statistic = self.members(cell)
        made_of: dict[str, Artefact | Raw] = {"data": data, **({"model": model} if model else {})}
        given = self.submission(cell)
        if given is not None:
            recipe = self.recipes.imported(given, cell.model)
            made_of[EXTERNAL] = self.submitted(given)
        else:
            recipe = self.recipes.predict(cell.model, cell.trained_on, cell.subset, setting)
            check_options(PredictOptions, recipe["predict"], f"prediction of {label}")
        predictions = None
        if keep is None:
            predictions = self._artefact(
                "predict",
                f"{FOLDERS['predict']}/{folder}",
                label,
                recipe,
                made_of,
                self.code("predict", model=cell.model) if given is None else self.code("imported"),
            )

        def scores(folder: str, label: str, conventions: list[str], kept: Json) -> Artefact:
            own = self.recipes.score(dict(vars(cell)), setting, conventions, statistic)
            modules = _modules(conventions)
            if predictions is None:
                code = self.code("rollout", *modules, model=cell.model)
                own = {**own, "rollout": recipe, **kept}
                return self._artefact("score", folder, label, own, made_of, code)
            inputs = {"data": data, "predictions": predictions}
            return self._artefact("score", folder, label, own, inputs, self.code("score", *modules))

        folder = f"{FOLDERS['score']}/{folder}"
        seen = self.recipes.scored(cell.tested_on, True, samples)
        plain = self.recipes.scored(cell.tested_on, False, samples)
        return Made(
            cell,
            data,
            model,
            predictions,
            scores(folder, label, plain, {"keep": keep}),
            scores(f"{folder}/{PERCEPTUAL}", f"{label}, perceptual", seen, {}) if seen else None,
            keep,
        )

    @property
    def prepared(self) -> list[Artefact]:
        """The prepared data of all datasets of the scale."""
        return list(self._data.values())

    @property
    def artefacts(self) -> dict[str, Artefact]:
        """All artefacts by folder, in the order in which they can be made."""
        return self._artefacts

    def find(self, receipt: str | Path) -> Artefact:
        """Find the planned artefact that a receipt's path names.

        Raises:
            StpError: the plan has no such artefact (any more).
        """
        # Snakemake asks several times for each job: no objects, only text.
        folder = str(receipt).removeprefix(f"{self.store}/").removesuffix(f"/{RECEIPT}")
        found = self._artefacts.get(folder)
        if found is not None:
            return found
        parent = str(PurePosixPath(folder).parent)
        now = [key for key in self._artefacts if str(PurePosixPath(key).parent) == parent]
        if now:
            raise StpError(
                f"{folder} is not what the plan asks for now",
                expected=f"the fingerprint {PurePosixPath(now[0]).name}: code or configuration "
                "changed since this job was planned",
                remedy="run snakemake again",
            )
        raise StpError(
            f"the plan has no artefact {folder}",
            remedy=nearest(folder, self._artefacts)
            if len(self._artefacts) < 100
            else "`stp plan --list` lists what it has",
        )

    def raw_of(self, target: str) -> Raw:
        """Find the raw bytes that a dataset's name or the path of a lock file names.

        Raises:
            StpError: there is no such dataset or lock file.
        """
        if not target.endswith(".json"):
            configuration.check_known(target, self.config.datasets, "dataset", "fetch")
            return self.raw(target)
        path = Path(target)
        if path.is_absolute() and path.is_relative_to(self.store):
            path = path.relative_to(self.store)
        for name in self.config.datasets:
            if self.raw(name).lock == str(path):
                return self.raw(name)
        for given in (*self._weights.values(), *self._submitted.values()):
            if given.lock == str(path):
                return given
        raise StpError(
            f"no release of the configuration has the lock file {path}",
            remedy="run snakemake again: the generator or its options may have changed",
        )

    def inputs(self, artefact: Artefact) -> list[str]:
        """List the files that an artefact waits for: receipts and lock files, absolute."""
        return [
            f"{self.store}/{value.lock if isinstance(value, Raw) else value.receipt}"
            for value in artefact.inputs.values()
        ]

    def receipts(self, dimension: str) -> list[str]:
        """List the receipts that the tables of a dimension wait for."""
        return [
            f"{self.store}/{scores.receipt}"
            for made in self.cells
            if made.cell.dimension == dimension
            for scores in (made.scores, made.perceptual)
            if scores is not None
        ]

    def count(self, dimensions: Collection[str]) -> None:
        """Say which dimensions are the work of a run; all unless this is called."""
        self.dimensions = [name for name in self.config.scale.dimensions if name in dimensions]
        self._needed = {
            artefact.folder
            for made in self.cells
            if made.cell.dimension in dimensions
            for artefact in made.artefacts
        }

    def is_wanted(self, artefact: Artefact) -> bool:
        """Does it count as work of this run?

        Data that no cell needs (`prepared` in the scale file) do when somebody has begun to prepare
        them.
        """
        if artefact.folder in self._needed:
            return True
        state = self.store / "state" / artefact.folder
        begun = (self.store / artefact.receipt).exists() or state.exists()
        return artefact.stage == "prepare" and begun

    def threads(self, artefact: Artefact) -> int:
        """Threads of a training or prediction, part of its recipe; processes that prepare data."""
        if artefact.stage == "prepare":
            return max(1, int(self.config.scale.runtime.get("prepare_workers", 1)))
        if artefact.forecast is not None:
            return int(artefact.forecast["predict"].get("threads", 1))
        return int(artefact.recipe.get(artefact.stage, {}).get("threads", 1))

    def ranks(self, artefact: Artefact) -> int:
        """Processes that share a training: one for each GPU, or what runtime.ranks says."""
        if artefact.stage != "train" or artefact.recipe["fit"] != "sgd" or artefact.is_of_people:
            return 1
        runtime = self.config.scale.runtime
        return max(1, int(runtime.get("ranks") or runtime.get("gpus") or 0))

    def gpus(self, artefact: Artefact) -> int:
        """GPUs of a job: for networks only; a forecast needs one, however many trained it."""
        network = artefact.forecast or (artefact.recipe if artefact.stage == "train" else None)
        needs = artefact.is_perceptual
        if network is not None and not artefact.is_of_people:  # their networks are small
            needs = needs or self.config.models[network["model"]].fit == "sgd"
        if not needs:
            return 0
        gpus = int(self.config.scale.runtime.get("gpus", 0))
        return gpus if artefact.stage == "train" else min(gpus, 1)
