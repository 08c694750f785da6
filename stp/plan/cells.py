"""The plan: which cells exist, what each is made from, and where everything lives.

A cell is one model, trained on one dataset, tested on one dataset in one setting. The plan
is made from configuration and source code alone: no torch, and no look at the disk. Every
path of the store is built here and nowhere else.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from stp.core import provenance
from stp.core.errors import StpError, nearest
from stp.core.fingerprint import SOURCE_FOLDER, Code, Sources, digest, original
from stp.core.lock import WEIGHTS
from stp.core.receipts import RECEIPT, checksum
from stp.kinds.kind import Kind
from stp.options.named import modules
from stp.options.train import TrainOptions
from stp.plan import config as configuration
from stp.plan import scale
from stp.plan import weights as network_weights
from stp.plan.cell_key import CellKey, seed_name
from stp.plan.config import Config
from stp.plan.dataset import Release
from stp.plan.model import Submission
from stp.plan.recipes import Recipes, check_options
from stp.plan.setting import setting_name, setting_of
from stp.plan.strict import Json

COLLECT = ("stp.collect.scores", "stp.collect.database")
"""The root modules of what collects scores."""
RENDER = {
    "dimension": "stp.render.tables.paper_table",
    "reliability": "stp.render.tables.reliability",
    "findings": "stp.render.tables.findings",
    "convention_effects": "stp.render.tables.convention_effects",
    "atlas_runtime": "stp.render.tables.runtime",
    "human_preferences": "stp.human_study.table",
    "reproduction": "stp.render.tables.reproduction",
}
"""The root module of what makes each kind of table from them: an edit makes no other one again."""
FOLDERS = {
    "prepare": "data",
    "train": "models",
    "predict": "predictions",
    "features": "features",
    "score": "scores",
}
"""Where the artefacts of each stage live in the store."""
EXTERNAL = "external"
"""Stands for a dataset where raw bytes are predictions that were made elsewhere."""
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
        stage: prepare, train, predict, features or score.
        folder: relative to the store; ends with the fingerprint.
        label: what it is, for people.
        recipe: everything that may influence the content, besides code and inputs.
        inputs: what it is made from.
        code: the code that can influence it.
        core: the module whose ``run(job)`` makes it.
        kind: of the samples that it consists of.
        dataset: that it is made of or, for predictions and scores, tested on.
        dimension: of the evaluation that it belongs to; None for data, models and features of what
            was observed, which serve all.
        is_perceptual: whether these are scores that compare what networks see.
    """

    stage: str
    folder: str
    label: str
    recipe: Json = field(hash=False)
    inputs: Mapping[str, "Artefact | Raw"] = field(hash=False)
    code: Code = field(hash=False)
    core: str = field(hash=False)
    kind: Kind = field(hash=False)
    dataset: str
    dimension: str | None = None
    is_perceptual: bool = False

    @property
    def fingerprint(self) -> str:
        return self.folder.rpartition("/")[2]

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
        """The stage, and the model or network where there is one: work of one name takes alike."""
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
        perceptual: scores that look through networks; None where no such metric is available.
        features: what networks see of its clips, observed and predicted.
        keep: number of forecasts stored with the scores, where predictions are not stored.
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
        stage: prepare, train, predict or score.
        code: fingerprint of the code that can influence it.
        recipe: everything else that may influence the content.
        inputs: fingerprints of what it is made from; of raw bytes, their identity.
    """
    return digest({"stage": stage, "code": code, "recipe": recipe, "inputs": dict(inputs)})


def _modules(conventions: list[str]) -> list[str]:
    """Name the modules of some conventions."""
    return sorted({f"stp.metrics.{name.partition('.')[0]}" for name in conventions})


def variant_name(variant: str, lead: int | None) -> str:
    """Name a variant in the path of a trained model, such as ``direct,lead-5``."""
    return variant if lead is None else f"{variant},lead-{lead}"


def enumerate_cells(config: Config) -> Iterator[tuple[CellKey, int | None]]:
    """Yield all cells that a scale wants, datasets first: a table is read one at a time.

    Models that live elsewhere have the cells that predictions were imported for.

    Yields:
        each cell, and how many of its predictions are kept: None for all.

    Raises:
        StpError: a cell is wanted twice, or predictions of a model for none of its cells.
    """
    scale, seen, recipes = config.scale, set(), Recipes(config)
    for dimension, wanted in scale.dimensions.items():
        for case in wanted.cases(f"dimensions.{dimension}"):
            name = recipes.setting(case)
            for model in case.models:
                fit = config.models[model].fit
                place = (dimension, case.trained_on, case.train_subset, case.tested_on, case.subset)
                if fit == EXTERNAL and not recipes.submission(model, *place, name):
                    continue
                variant = recipes.variant(model, case.variant)
                has_seed = fit == "sgd" and not (variant and variant.is_given)
                for seed in scale.seeds if has_seed else (None,):
                    cell = CellKey(
                        suite=scale.suite,
                        dimension=dimension,
                        model=model,
                        variant=case.variant,
                        trained_on=case.trained_on,
                        train_subset=case.train_subset,
                        tested_on=case.tested_on,
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
        folders = scale.folders(config.scale.paths)
        assert folders["store"] and folders["raw"]
        self.store: Path = folders["store"]
        self.raw_folder: Path = folders["raw"]
        self.raw_mirror: Path | None = folders["mirror"]
        self.weights: Path = folders["weights"] or network_weights.FOLDER.absolute()
        at_hand = network_weights.present(self.weights, network_weights.declared())
        self.weight_files = {name: self.weights / file.file for name, file in at_hand.items()}
        self._codes: dict[tuple[str, ...], Code] = {}
        self._reads: dict[str, dict[str, str]] = {}
        self._versions = {name: provenance.version_of(name) for name in config.scale.versions}
        self._raws: dict[str, Raw] = {}
        self._weights: dict[str, Raw] = {}
        self._submitted: dict[str, Raw] = {}
        self._parts: dict[tuple[str, str, str], list[str]] = {}
        self._artefacts: dict[str, Artefact] = {}
        self._data: dict[str, Artefact] = {}
        self._trained: dict[tuple[str, str, int | None, str, str, int | None], Artefact | None] = {}
        self.recipes = Recipes(config, {name: file.identity for name, file in at_hand.items()})
        self.cells: list[CellArtefacts] = [
            self._make(*wanted) for wanted in enumerate_cells(config)
        ]
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

    def code(self, *roots: str) -> Code:
        """Fingerprint the code that root modules can run.

        Modules that are chosen by name (models, readers, metrics, virtual clips) are invisible to
        a static walk, so they are roots as well.
        """
        if roots not in self._codes:
            self._codes[roots] = self.sources.code_of(roots, self.config.equivalent)
        return self._codes[roots]

    def reads(self, model: str | None) -> dict[str, str]:
        """What the code of a model reads besides what its imports name: path -> SHA-256.

        Raises:
            StpError: there is no such file, or it is not in the checkout.
        """
        if model is None:
            return {}
        if model not in self._reads:
            where = f"config/models/{model}.yaml: reads"
            named = self.config.models[model].reads
            files = [file for name in named for file in self._files(name, where)]
            self._reads[model] = {
                file.relative_to(self.source).as_posix(): checksum(file) for file in files
            }
        return self._reads[model]

    def _files(self, name: str, where: str) -> list[Path]:
        path = self.source / name
        inside = path.resolve().is_relative_to(self.source.resolve()) and ".." not in path.parts
        if not inside or not path.exists():
            raise StpError(
                f"{where}: {name} {'does not exist' if inside else 'leaves the checkout'}",
                expected=f"a file or folder in {self.source}, by its path from there",
                remedy="correct the path, or move the file into the checkout",
            )
        if path.is_file():
            return [path]
        return sorted(p for p in path.rglob("*") if p.is_file() and "__pycache__" not in p.parts)

    def raw(self, name: str) -> Raw:
        """Name the raw bytes of a dataset's release, and where their lock file lives."""
        if name in self._raws:
            return self._raws[name]
        dataset = self.config.datasets[name]
        release = dataset.releases[dataset.release]
        if release.generator:
            code = self.code(f"stp.fetch.generators.{release.generator}")
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

    def submission(self, cell: CellKey) -> Submission | None:
        """The predictions of a cell that were made elsewhere, if its model lives there."""
        if self.config.models[cell.model].fit != EXTERNAL:
            return None
        place = (cell.dimension, cell.trained_on, cell.train_subset, cell.tested_on, cell.subset)
        return self.recipes.submission(cell.model, *place, cell.setting)

    def members(self, cell: CellKey) -> tuple[int, str | None]:
        """How many forecasts of each clip there are, and what is scored of several."""
        given = self.submission(cell)
        if given is not None:
            return given.members, given.statistic
        return self.recipes.members(cell.model, cell.trained_on, cell.variant)

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
        core: str,
        *named: str,
        dataset: str,
        dimension: str | None = None,
        perceptual: bool = False,
    ) -> Artefact:
        """Fingerprint an artefact and build its path, below a folder of its own.

        Args:
            named: modules besides the core that are chosen by name.
        """
        made_of = {
            key: value.identity if isinstance(value, Raw) else value.fingerprint
            for key, value in inputs.items()
        }
        code, kind = self.code(core, *named), self.recipes.samples(dataset)
        recipe = {**recipe, "versions": self._versions} if self._versions else recipe
        fingerprint = fingerprint_of(stage, code.fingerprint, recipe, made_of)
        path = f"{FOLDERS[stage]}/{folder}/{fingerprint}"
        if path not in self._artefacts:
            self._artefacts[path] = Artefact(
                stage, path, label, recipe, inputs, code, core, kind, dataset, dimension, perceptual
            )
        return self._artefacts[path]

    def _with_reads(self, recipe: Json, model: str) -> Json:
        reads = self.reads(model)
        return {**recipe, "reads": reads} if reads else recipe

    def _virtual(self, name: str) -> list[str]:
        renderer = self.config.datasets[name].virtual_clips
        return [f"stp.data.{renderer}"] if renderer else []

    def data(self, name: str) -> Artefact:
        """The prepared data of a dataset."""
        if name not in self._data:
            recipe = self.recipes.prepare(name)
            core, inputs = f"stp.prepare.{recipe['reader']}", {"raw": self.raw(name)}
            self._data[name] = self._artefact(
                "prepare", name, name, recipe, inputs, core, *self._virtual(name), dataset=name
            )
        return self._data[name]

    def trained(
        self,
        model: str,
        name: str,
        seed: int | None,
        subset: str = "all",
        variant: str = "default",
        lead: int | None = None,
    ) -> Artefact | None:
        """The trained model of a cell, or of one lead time of it; None: nothing is fitted here."""
        key = (model, name, seed, subset, variant, lead)
        if key not in self._trained:
            named = self.recipes.variant(model, variant)
            fits = self.config.models[model].fit in self.recipes.samples(name).train
            given = named is not None and named.is_given
            self._trained[key] = self._train(*key) if fits and not given else None
        return self._trained[key]

    def _train(
        self,
        model: str,
        name: str,
        seed: int | None,
        subset: str,
        variant: str,
        lead: int | None,
    ) -> Artefact:
        recipe = self.recipes.train(model, name, seed, subset, variant, lead)
        recipe = self._with_reads(recipe, model)
        parts = [part for part in (subset, variant) if part not in ("all", "default")]
        parts += [] if lead is None else [f"lead {lead}"]
        label = ", ".join([f"{model} on {name}", *parts])
        kind, given = self.recipes.samples(name), self.given_weights(model, name)
        chosen = self._chosen(model, name, variant, recipe)
        return self._artefact(
            "train",
            f"{name}/{model}/{variant_name(variant, lead)}/{seed_name(seed)}",
            label if seed is None else f"{label}, seed {seed}",
            recipe,
            {"data": self.data(name), **({"weights": given} if given else {})},
            kind.train[recipe["fit"]],
            *self._virtual(name),
            *chosen,
            f"{kind.models}.{model}",
            dataset=name,
        )

    def _chosen(self, model: str, name: str, variant: str, recipe: Json) -> list[str]:
        """Check the options of a training, whatever its seed; name the modules that they choose."""
        key = model, name, variant
        if key not in self._parts:
            options = self.recipes.samples(name).train_options.get(recipe["fit"])
            if options is not None:
                check_options(options, recipe["train"], f"training of {model} on {name}")
            self._parts[key] = modules(recipe["train"]) if options is TrainOptions else []
        return self._parts[key]

    def _models(self, cell: CellKey) -> dict[str, Artefact]:
        """The trained models of a cell, as inputs of its forecasts: one, or one for each lead."""
        about = (cell.model, cell.trained_on, cell.seed, cell.train_subset, cell.variant)
        horizon = setting_of(cell.setting)["horizon"]
        leads, per_lead = self.recipes.leads(cell.model, cell.variant, horizon)
        if not per_lead:
            model = self.trained(*about)
            return {"model": model} if model else {}
        found = {f"model-lead-{lead}": self.trained(*about, lead) for lead in leads}
        return {name: model for name, model in found.items() if model}

    def _make(self, cell: CellKey, keep: int | None) -> CellArtefacts:
        kind, data = self.recipes.samples(cell.tested_on), self.data(cell.tested_on)
        models, given = self._models(cell), self.submission(cell)
        folder, label, setting = cell.path, str(cell), setting_of(cell.setting)
        samples, statistic = self.members(cell)
        made_of: dict[str, Artefact | Raw] = {"data": data, **models}
        module = f"{kind.models}.{cell.model}"
        if given is not None:
            assert kind.imported
            recipe, core = self.recipes.imported(given, cell.model), [kind.imported]
            made_of[EXTERNAL] = self.submitted(given)
        else:
            recipe = self.recipes.predict(
                cell.model, cell.trained_on, cell.tested_on, cell.subset, setting, cell.variant
            )
            recipe = self._with_reads(recipe, cell.model)
            core = [kind.predict, module]
            check_options(kind.predict_options, recipe["predict"], f"prediction of {label}")
            released = None if models else self.given_weights(cell.model, cell.trained_on)
            made_of |= {WEIGHTS: released} if released else {}
        predictions = None
        if keep is None:
            predictions = self._artefact(
                "predict", folder, label, recipe, made_of, *core, dataset=cell.tested_on,
                dimension=cell.dimension,
            )  # fmt: skip

        features: dict[str, Artefact] = {}

        def scores(perceptual: bool) -> Artefact:
            conventions = self.recipes.scored(cell.tested_on, perceptual, samples)
            own = self.recipes.score(dict(vars(cell)), setting, conventions, statistic)
            place, what = (
                (f"{folder}/{PERCEPTUAL}", f"{label}, perceptual")
                if perceptual
                else (folder, label)
            )
            roots = [kind.score, *_modules(conventions)]
            looked = self._features(cell, conventions, recipe, predictions, made_of)
            inputs: Mapping[str, Artefact | Raw] = {**made_of, **looked}
            if predictions is None:
                assert kind.rollout
                roots = [kind.rollout, *_modules(conventions), module]
                own = {**own, "rollout": recipe, **({} if perceptual else {"keep": keep})}
            else:
                inputs = {"data": data, "predictions": predictions, **looked}
            features.update(looked)
            return self._artefact(
                "score", place, what, own, inputs, *roots, dataset=cell.tested_on,
                dimension=cell.dimension, perceptual=perceptual,
            )  # fmt: skip

        seen = self.recipes.scored(cell.tested_on, True, samples)
        plain = scores(perceptual=False)
        perceptual = scores(perceptual=True) if seen else None
        return CellArtefacts(
            cell, data, tuple(models.values()), predictions, plain, perceptual, keep,
            tuple(features.values()),
        )  # fmt: skip

    def _features(
        self,
        cell: CellKey,
        conventions: list[str],
        forecast: Json,
        predictions: Artefact | None,
        made_of: Mapping[str, Artefact | Raw],
    ) -> dict[str, Artefact]:
        """What networks see of a cell's clips, as inputs of scores.

        What was observed is looked at once for all cells that are tested on the same clips.

        Args:
            cell: whose scores need it.
            conventions: that are scored.
            forecast: the recipe of the cell's forecasts.
            predictions: stored ones; None: they are made again, from ``made_of``.
            made_of: what forecasts are made from, the data among it.
        """
        looks, _ = self.recipes.looked_through(conventions)
        # Of clips that lack frames there are no distances.
        if not looks or len(forecast.get("leads", ())) not in (0, forecast["lead_times"]):
            return {}
        kind, found = self.recipes.samples(cell.tested_on), {}
        setting = {
            k: v for k, v in setting_of(cell.setting).items() if k in ("horizon", "interval")
        }
        clips = f"{cell.tested_on}/{cell.subset}/{setting_name(setting)}"
        for seen in {one.name: one for one in looks.values()}.values():
            assert kind.features and kind.features_rollout
            recipe, what = self.recipes.features(seen, forecast), f"{seen.network} {seen.layer}"
            about = f"{what} of {seen.frames.replace('_', ' ')}"
            found[f"{seen.name}.observed"] = self._artefact(
                "features", f"data/{clips}/{seen.name}", f"{about}, {clips}", recipe,
                {"data": made_of["data"]}, kind.features, seen.code, dataset=cell.tested_on,
            )  # fmt: skip
            samples, statistic = self.members(cell)
            if samples > 1 and statistic == "ensemble_mean":
                recipe = {**recipe, "member": "mean"}
            roots, inputs = [kind.features, seen.code], made_of
            if predictions is not None:
                inputs = {"data": made_of["data"], "predictions": predictions}
            else:
                if "member" not in recipe:  # the first is what the others do not change
                    drawn = {k: v for k, v in forecast["predict"].items() if k != "samples"}
                    forecast = {**forecast, "predict": drawn}
                recipe = {**recipe, "rollout": forecast}
                roots = [kind.features_rollout, seen.code, f"{kind.models}.{cell.model}"]
            found[f"{seen.name}.predicted"] = self._artefact(
                "features", f"predictions/{cell.path}/{seen.name}", f"{about}, {cell}", recipe,
                inputs, *roots, dataset=cell.tested_on, dimension=cell.dimension,
            )  # fmt: skip
        return found

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
        if artefact.stage != "train" or artefact.recipe["fit"] != "sgd" or not artefact.kind.on_gpu:
            return 1
        runtime = self.config.scale.runtime
        return max(1, int(runtime.get("ranks") or runtime.get("gpus") or 0))

    def gpus(self, artefact: Artefact) -> int:
        """GPUs of a job: for networks only; a forecast needs one, however many trained it."""
        network = artefact.forecast or (artefact.recipe if artefact.stage == "train" else None)
        # Distances of sets of clips are made from features; other perceptual scores look.
        needs = artefact.stage == "features"
        needs = needs or (artefact.is_perceptual and "weights" in artefact.recipe)
        if network is not None and artefact.kind.on_gpu:
            needs = needs or self.config.models[network["model"]].fit == "sgd"
        if not needs:
            return 0
        gpus = int(self.config.scale.runtime.get("gpus", 0))
        return gpus if artefact.stage == "train" else min(gpus, 1)
