"""The plan: which cells exist, what each is made from, and where everything lives.

A cell is one model, trained on one dataset, tested on one dataset in one setting. The plan
is made from configuration and source code alone: no torch, and no look at the disk. Every
path of the store is built here and nowhere else.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from stp import config as configuration
from stp.config import Config, Json, merge
from stp.errors import StpError, nearest
from stp.fingerprint import SOURCE_FOLDER, Code, code_of, digest
from stp.predict.options import PredictOptions
from stp.train.options import TrainOptions

RECEIPT = "artefact.json"

ROOTS: dict[str, tuple[str, ...]] = {
    "generate": ("stp.fetch.generators.{generator}",),
    "prepare": ("stp.prepare.{reader}",),
    "train": ("stp.train.run", "stp.models.{model}"),
    "predict": ("stp.predict.run", "stp.models.{model}"),
    "score": ("stp.score.run",),
    "collect": ("stp.collect.scores", "stp.collect.database", "stp.render.table"),
}
"""The root modules of each stage. Modules that are chosen by name (models, readers, metrics,
virtual clips) are invisible to a static walk, so they are listed here."""

FOLDERS = {"prepare": "data", "train": "models", "predict": "predictions", "score": "scores"}
"""Where the artefacts of each stage live in the store."""


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
        tested = "" if self.tested_on == self.trained_on else f" -> {self.tested_on}"
        return f"{self.model} on {self.trained_on}{tested} ({self.dimension}{seed})"


@dataclass(frozen=True)
class Raw:
    """Raw bytes of one release, locked at first sight.

    Attributes:
        lock: the lock file, relative to the store.
        identity: hash of what is declared. The bytes themselves cannot be in it, because
            they are unknown when the plan is made; that a release name always means the same
            bytes is what the lock file guarantees.
        generated: folder of generated files relative to the raw folder, or None.
    """

    dataset: str
    release: str
    lock: str
    identity: str
    generated: str | None


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
        return PurePosixPath(self.folder).name

    @property
    def receipt(self) -> str:
        return f"{self.folder}/{RECEIPT}"

    @property
    def dataset(self) -> str:
        """The dataset that it is made of or, for predictions and scores, tested on."""
        name: str = self.folder.split("/")[7 if self.stage in ("predict", "score") else 1]
        return name

    @property
    def kind(self) -> str:
        """The stage, and the model where there is one: work of a kind takes alike."""
        model = self.recipe.get("model") or self.recipe.get("cell", {}).get("model", "")
        return f"{self.stage} {model}".rstrip()


@dataclass(frozen=True)
class Made:
    """A cell with the artefacts that it consists of."""

    cell: Cell
    data: Artefact
    model: Artefact | None
    predictions: Artefact
    scores: Artefact

    @property
    def artefacts(self) -> list[Artefact]:
        own = [self.data, self.model, self.predictions, self.scores]
        return [artefact for artefact in own if artefact is not None]


def seed_name(seed: int | None) -> str:
    """Name a seed in a path; models without randomness have none."""
    return "seed-none" if seed is None else f"seed-{seed}"


def setting_name(setting: Mapping[str, int]) -> str:
    """Name a setting in a path, such as ``horizon-30,interval-2``."""
    return ",".join(f"{key}-{value}" for key, value in sorted(setting.items()))


class Plan:
    """All cells of a configuration, and every artefact that they need.

    Args:
        config: the checked configuration.
        source: the folder that holds the package (tests plan for copies of it).
    """

    def __init__(self, config: Config, source: Path = SOURCE_FOLDER) -> None:
        self.config = config
        self.source = source
        folders = configuration.folders(config.scale.paths)
        assert folders["store"] and folders["raw"]
        self.store: Path = folders["store"]
        self.raw_folder: Path = folders["raw"]
        self.raw_mirror: Path | None = folders["mirror"]
        self.weights: Path | None = folders["weights"]
        self._codes: dict[tuple[str, ...], Code] = {}
        self._raws: dict[str, Raw] = {}
        self._artefacts: dict[str, Artefact] = {}
        self.cells: list[Made] = [self._make(cell) for cell in self._enumerate()]

    @classmethod
    def load(cls, scale: Mapping[str, Any] | Path) -> "Plan":
        """Read the configuration and make the plan.

        Raises:
            StpError: the configuration is wrong.
        """
        return cls(configuration.load(scale))

    # What is wanted

    def _enumerate(self) -> Iterator[Cell]:
        """Yield all cells, datasets first: a table is read one dataset at a time."""
        scale = self.config.scale
        for dimension, wanted in scale.dimensions.items():
            for dataset in wanted.datasets:
                horizon = self.config.datasets[dataset].horizon
                for model in wanted.models:
                    has_seed = self.config.models[model].fit == "sgd"
                    for seed in scale.seeds if has_seed else (None,):
                        yield Cell(
                            suite=scale.suite,
                            dimension=dimension,
                            model=model,
                            variant="default",
                            trained_on=dataset,
                            train_subset="all",
                            tested_on=dataset,
                            subset="test",
                            setting=setting_name({"horizon": horizon}),
                            seed=seed,
                        )

    # Recipes

    def settings(self, model: str, dataset: str, key: str) -> Json:
        """Resolve what a model sets for a dataset: options, train or predict.

        The scale wins over the paper's facts, and the particular over the general.
        """
        facts = self.config.models[model]
        scale = self.config.scale
        layers: list[Json] = []
        general: Json = {} if key == "options" else getattr(scale, key)
        for settings, shared in ((facts, {}), (scale.models.get(model), general)):
            layers.append(shared)
            if settings is not None:
                layers.append(getattr(settings, key))
                if dataset in settings.datasets:
                    layers.append(getattr(settings.datasets[dataset], key))
        return merge({}, *layers)

    def prepare_recipe(self, name: str) -> Json:
        dataset = self.config.datasets[name]
        release = dataset.releases[dataset.release]
        return {
            "dataset": name,
            "reader": dataset.reader or name,
            "release": dataset.release,
            "source": release.source,
            "shape": list(dataset.shape),
            "context": dataset.context,
            "horizon": dataset.horizon,
            "units": dataset.units,
            "options": merge(dataset.prepare, release.prepare),
        }

    def _network_recipe(self, model: str, name: str) -> Json:
        dataset = self.config.datasets[name]
        return {
            "model": model,
            "options": self.settings(model, name, "options"),
            "shape": list(dataset.shape),
            "context": dataset.context,
            "horizon": dataset.horizon,
        }

    def train_recipe(self, model: str, name: str, seed: int | None) -> Json:
        train = self.settings(model, name, "train")
        fit = self.config.models[model].fit
        if fit == "closed_form":  # one pass over the data: only how much of it and how
            train = {key: train[key] for key in ("threads", "max_clips") if key in train}
        return {**self._network_recipe(model, name), "fit": fit, "seed": seed, "train": train}

    def predict_recipe(self, cell: Cell) -> Json:
        return {
            **self._network_recipe(cell.model, cell.trained_on),
            "lead_times": self.config.datasets[cell.tested_on].horizon,
            "split": cell.subset,
            "predict": self.settings(cell.model, cell.trained_on, "predict"),
        }

    def conventions(self, dataset: str) -> list[str]:
        """List the conventions that are scored on a dataset, the table's columns first.

        Raises:
            StpError: a convention is not declared in config/conventions.
        """
        row = self.config.evaluation.datasets[dataset]
        wanted = [
            *self.config.evaluation.columns[row].values(),
            *self.config.evaluation.also.get(row, ()),
        ]
        for convention in wanted:
            metric, _, choice = convention.partition(".")
            where = "config/evaluation/predbench.yaml"
            configuration.check_known(metric, self.config.metrics, "metric", where)
            known = self.config.metrics[metric].conventions
            configuration.check_known(choice, known, f"convention of {metric}", where)
        return list(dict.fromkeys(wanted))

    def metric(self, convention: str) -> configuration.Metric:
        """What is known about the metric of a convention, such as ``ssim.range2``."""
        return self.config.metrics[convention.partition(".")[0]]

    def score_recipe(self, cell: Cell) -> Json:
        return {
            "cell": asdict(cell),
            "conventions": [
                c for c in self.conventions(cell.tested_on) if self.metric(c).available
            ],
            "split": cell.subset,
            "bootstrap": self.config.scale.bootstrap.model_dump(),
            "threads": 1,
        }

    # Artefacts

    def code(self, stage: str, *extra: str, **names: str) -> Code:
        """Fingerprint the code of a stage, with the modules that are chosen by name."""
        roots = tuple(root.format(**names) for root in ROOTS[stage]) + extra
        if roots not in self._codes:
            self._codes[roots] = code_of(roots, self.config.equivalent, self.source)
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
            files = [[f.path, f.bytes, f.sha256, f.md5_uncompressed] for f in release.files]
            identity = digest([name, dataset.release, release.source, files])
            lock = f"raw/{name}/{dataset.release}.lock.json"
            generated = None
        self._raws[name] = Raw(name, dataset.release, lock, identity, generated)
        return self._raws[name]

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
        """Fingerprint an artefact and build its path."""
        fingerprint = digest(
            {
                "stage": stage,
                "code": code.fingerprint,
                "recipe": recipe,
                "inputs": {
                    key: value.identity if isinstance(value, Raw) else value.fingerprint
                    for key, value in inputs.items()
                },
            }
        )
        path = f"{FOLDERS[stage]}/{folder}/{fingerprint}"
        if path not in self._artefacts:
            self._artefacts[path] = Artefact(stage, path, label, recipe, inputs, code)
        return self._artefacts[path]

    def _virtual(self, name: str) -> list[str]:
        renderer = self.config.datasets[name].virtual_clips
        return [f"stp.data.{renderer}"] if renderer else []

    def data(self, name: str) -> Artefact:
        recipe = self.prepare_recipe(name)
        code = self.code("prepare", *self._virtual(name), reader=recipe["reader"])
        return self._artefact("prepare", name, name, recipe, {"raw": self.raw(name)}, code)

    def trained(self, model: str, name: str, seed: int | None) -> Artefact | None:
        """The trained model of a cell, or None where there is nothing to fit."""
        if self.config.models[model].fit == "none":
            return None
        code = self.code("train", *self._virtual(name), model=model)
        recipe = self.train_recipe(model, name, seed)
        if recipe["fit"] == "sgd" and "missing" not in code.modules.values():
            self._check(TrainOptions, recipe["train"], f"training of {model} on {name}")
        return self._artefact(
            "train",
            f"{name}/{model}/default/{seed_name(seed)}",
            f"{model} on {name}" + ("" if seed is None else f", seed {seed}"),
            recipe,
            {"data": self.data(name)},
            code,
        )

    @staticmethod
    def _check(kind: type[TrainOptions] | type[PredictOptions], given: Json, label: str) -> None:
        """Refuse a recipe now, in seconds, that its job would refuse after hours of waiting."""
        try:
            kind.from_recipe(given)
        except StpError as error:
            raise StpError(
                f"{label}: {error.what}", expected=error.expected, remedy=error.remedy
            ) from None

    def _make(self, cell: Cell) -> Made:
        data = self.data(cell.tested_on)
        model = self.trained(cell.model, cell.trained_on, cell.seed)
        recipe = self.predict_recipe(cell)
        self._check(PredictOptions, recipe["predict"], f"prediction of {cell}")
        predictions = self._artefact(
            "predict",
            f"{cell.dimension}/{cell.path}",
            str(cell),
            recipe,
            {"data": data, **({"model": model} if model else {})},
            self.code("predict", model=cell.model),
        )
        recipe = self.score_recipe(cell)
        metrics = sorted({f"stp.metrics.{c.partition('.')[0]}" for c in recipe["conventions"]})
        scores = self._artefact(
            "score",
            f"{cell.dimension}/{cell.path}",
            str(cell),
            recipe,
            {"data": data, "predictions": predictions},
            self.code("score", *metrics),
        )
        return Made(cell, data, model, predictions, scores)

    @property
    def artefacts(self) -> dict[str, Artefact]:
        """All artefacts by folder, in the order in which they can be made."""
        return self._artefacts

    def find(self, receipt: str | Path) -> Artefact:
        """Find the planned artefact that a receipt's path names.

        Raises:
            StpError: the plan has no such artefact (any more).
        """
        path = Path(receipt)
        if path.is_absolute():
            path = path.relative_to(self.store) if path.is_relative_to(self.store) else path
        folder = str(path.parent if path.name == RECEIPT else path)
        if folder in self._artefacts:
            return self._artefacts[folder]
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
            else "`stp plan` lists what it has",
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
        raise StpError(
            f"no release of the configuration has the lock file {path}",
            remedy="run snakemake again: the generator or its options may have changed",
        )

    def inputs(self, artefact: Artefact) -> list[str]:
        """List the files that an artefact waits for: receipts and lock files, absolute."""
        return [
            str(self.store / (value.lock if isinstance(value, Raw) else value.receipt))
            for value in artefact.inputs.values()
        ]

    def receipts(self, dimension: str) -> list[str]:
        """List the receipts that the tables of a dimension wait for."""
        return [
            str(self.store / made.scores.receipt)
            for made in self.cells
            if made.cell.dimension == dimension
        ]

    def threads(self, receipt: str) -> int:
        """Threads of a training or prediction job: part of its recipe."""
        artefact = self.find(receipt)
        return int(artefact.recipe.get(artefact.stage, {}).get("threads", 1))

    def ranks(self, artefact: Artefact) -> int:
        """Processes that share a training: one for each GPU, or what runtime.ranks says."""
        if artefact.stage != "train" or artefact.recipe["fit"] != "sgd":
            return 1
        runtime = self.config.scale.runtime
        return max(1, int(runtime.get("ranks") or runtime.get("gpus") or 0))

    def gpus(self, artefact: Artefact) -> int:
        """GPUs of a job: for networks only; a forecast needs one, however many trained it."""
        if artefact.stage not in ("train", "predict"):
            return 0
        if self.config.models[artefact.recipe["model"]].fit != "sgd":
            return 0
        gpus = int(self.config.scale.runtime.get("gpus", 0))
        return gpus if artefact.stage == "train" else min(gpus, 1)
