"""Plan the artefacts (folders that jobs write) of cells: inputs, code, recipes and folders.

A cell is one model, trained on one dataset, tested on one dataset, in one setting, with one seed.
No other module builds paths of artefacts.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from stp.core import named_modules, provenance
from stp.core.errors import ConfigurationError
from stp.core.json_files import Json
from stp.core.lock import WEIGHTS
from stp.core.options import as_json
from stp.options.conventions import modules_of
from stp.options.named import modules
from stp.options.score import Statistic
from stp.options.train import TrainOptions
from stp.plan import named_class
from stp.plan.accepted import Accepted
from stp.plan.artefacts import (
    EXTERNAL,
    FOLDERS,
    PERCEPTUAL,
    READ,
    Artefact,
    CellArtefacts,
    Raw,
    fingerprint_of,
)
from stp.plan.cell_key import CellKey, seed_name
from stp.plan.code_fingerprint import CodeOfPlan, entries_of
from stp.plan.metric import NetworkFeatures
from stp.plan.model import Submission
from stp.plan.model_options import check_model_options, check_options
from stp.plan.raw_releases import Raws
from stp.plan.recipe_records import NetworkRecipe, PredictRecipe, TrainRecipe
from stp.plan.recipes import Recipes
from stp.plan.setting import check_path, join_parts, setting_name, setting_of
from stp.tasks.task import Task


def variant_name(variant: str, lead: int | None) -> str:
    """Name of a variant in the path of a trained model; with one lead time: ``default+lead-5``."""
    return variant if lead is None else join_parts(variant, f"lead-{lead}")


class _Forecasts(NamedTuple):
    """The forecasts of a cell, stored or not.

    Attributes:
        recipe: recipe of the forecasts.
        sources: artefacts and raw files that the forecasts are made from, including the prepared
            data.
        core: full name of the module that stores the forecasts.
        scoring_core: full name of the module that scores the forecasts without storing them; None
            if there is none.
        modules: full names of the modules of the model, or of the source that reads the forecasts.
        entries: files of the configuration that name these modules.
        features: network features among the sources.
    """

    recipe: PredictRecipe
    sources: Mapping[str, Artefact | Raw]
    core: str
    scoring_core: str | None
    modules: list[str]
    entries: tuple[str, ...]
    features: Mapping[str, Artefact] = {}


class Walk:
    """Plans the artefacts (folders that jobs write) that cells need, each once.

    A cell is one model in one test. Artefacts are built on demand, with those they depend on.

    Args:
        recipes: recipes of the plan.
        code: code of the plan.
        raws: raw files of the plan.
        accepted: artefacts of older code that count as current, by the new fingerprint.

    Attributes:
        artefacts: artefacts by folder, in the order in which they can be made.
        prepared: prepared data, by dataset.
    """

    def __init__(
        self, recipes: Recipes, code: CodeOfPlan, raws: Raws, accepted: Mapping[str, Accepted]
    ) -> None:
        self.config = recipes.config
        self.recipes = recipes
        self.code = code
        self.raws = raws
        self.accepted = accepted
        self.artefacts: dict[str, Artefact] = {}
        self.prepared: dict[str, Artefact] = {}
        self._versions = {name: provenance.version_of(name) for name in self.config.scale.versions}
        self._parts: dict[tuple[str, str, str], list[str]] = {}
        self._modules: dict[tuple[str, ...], list[str]] = {}
        self._trained: dict[tuple[str, str, int | None, str, str, int | None], Artefact | None] = {}

    def _artefact(
        self,
        stage: str,
        folder: str,
        label: str,
        recipe: Json,
        inputs: Mapping[str, Artefact | Raw],
        core: str,
        *modules: str,
        dataset: str,
        dimension: str | None = None,
        perceptual: bool = False,
        entries: tuple[str, ...] = (),
    ) -> Artefact:
        """Fingerprint an artefact, and build its path.

        Args:
            modules: full names of modules, besides the core, that are chosen by name and not
                imported statically.
            entries: files of the configuration that name some of these modules.
        """
        fingerprints = {
            key: value.identity if isinstance(value, Raw) else value.fingerprint
            for key, value in inputs.items()
        }
        code, kind = self.code.of(core, *modules), self.recipes.samples(dataset)
        reads = self.code.declared_checksums(entries)
        recipe = {**recipe, "reads": reads} if reads else recipe
        environment = self.code.environment(entries)
        recipe = {**recipe, "environment": environment} if environment else recipe
        recipe = {**recipe, "versions": self._versions} if self._versions else recipe
        fingerprint = fingerprint_of(stage, code.fingerprint, recipe, fingerprints)
        address = f"{FOLDERS[stage]}/{folder}"
        older = self.accepted.get(fingerprint)
        if older is not None and older.address == address:
            fingerprint = older.old
        else:
            older = None
        path = f"{address}/{fingerprint}"
        if path not in self.artefacts:
            check_path(path, label)
            self.artefacts[path] = Artefact(
                stage, path, label, recipe, inputs, code, core, kind, dataset, dimension,
                perceptual, entries, older.text if older else None,
            )  # fmt: skip
        return self.artefacts[path]

    def _virtual(self, name: str) -> list[str]:
        renderer = self.config.datasets[name].virtual_clips
        return [f"stp.data.{renderer}"] if renderer else []

    def data(self, name: str) -> Artefact:
        """Add the prepared data of a dataset to the plan."""
        if name not in self.prepared:
            recipe = self.recipes.prepare(name)
            core = named_modules.reader(recipe.reader, self.code.source)
            inputs = {"raw": self.raws.of_dataset(name)}
            self.prepared[name] = self._artefact(
                "prepare", name, name, as_json(recipe), inputs, core, *self._virtual(name),
                dataset=name, entries=entries_of("datasets", name),
            )  # fmt: skip
        return self.prepared[name]

    def add_trained_model(
        self,
        model: str,
        name: str,
        seed: int | None,
        subset: str = "all",
        variant: str = "default",
        lead: int | None = None,
    ) -> Artefact | None:
        """Add a trained model to the plan; None if the model is not trained on the dataset.

        Args:
            model: name of the model.
            name: name of the dataset.
            seed: seed of the training; None if the model has none.
            subset: name of the training subset.
            variant: name of the variant of the model.
            lead: lead time in steps, for models that are trained for one lead time; None for
                others.
        """
        key = (model, name, seed, subset, variant, lead)
        if key not in self._trained:
            entry = self.recipes.variant(model, variant)
            is_fitted = self.config.models[model].fit in self.recipes.samples(name).fits
            is_given = entry is not None and entry.is_given
            self._trained[key] = self._train(*key) if is_fitted and not is_given else None
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
        parts = [part for part in (subset, variant) if part not in ("all", "default")]
        parts += [] if lead is None else [f"lead {lead}"]
        label = ", ".join([f"{model} on {name}", *parts])
        kind, weights = self.recipes.samples(name), self.raws.pretrained_weights(model, name)
        fit = kind.fits[recipe.fit]
        self._check_options(kind, model, recipe, label)
        chosen, virtual = self._training_modules(recipe, name, variant), self._virtual(name)
        return self._artefact(
            "train",
            f"{name}/{model}/{variant_name(variant, lead)}/{seed_name(seed)}",
            label if seed is None else f"{label}, seed {seed}",
            as_json(recipe),
            {"data": self.data(name), **({"weights": weights} if weights else {})},
            fit.given if weights and fit.given else fit.core,
            *virtual,
            *chosen,
            *self._code_of(kind, model),
            dataset=name,
            entries=entries_of("models", model) + (entries_of("datasets", name) if virtual else ()),
        )

    def _code_of(self, kind: Task, model: str) -> list[str]:
        """Module of a model; empty for another package, whose files are fingerprinted instead."""
        class_name = self.recipes.class_of(model)
        if class_name is None:
            return [f"{kind.models}.{model}"]
        return [named_class.module_of(class_name)] if named_class.is_ours(class_name) else []

    def _check_options(self, kind: Task, model: str, recipe: NetworkRecipe, label: str) -> None:
        source = self.code.source.joinpath(*kind.models.split("."), f"{model}.py")
        name, class_name = kind.model_class, self.recipes.class_of(model)
        if class_name is not None:
            (where,) = entries_of("models", model)
            source = named_class.source_of(class_name, f"{where}: class")
            name = class_name.partition(":")[2]
        check_model_options(source, name, recipe.options, label)

    def _training_modules(self, recipe: TrainRecipe, dataset: str, variant: str) -> list[str]:
        """Check the settings of a training run, once for all seeds, and list modules they name."""
        key = recipe.model, dataset, variant
        if key not in self._parts:
            options = self.recipes.samples(dataset).fits[recipe.fit].options
            if options is not None:
                check_options(options, recipe.train, f"training of {recipe.model} on {dataset}")
            self._parts[key] = modules(recipe.train) if options is TrainOptions else []
        return self._parts[key]

    def submission(self, cell: CellKey) -> Submission | None:
        """Find the declaration of the imported predictions of a cell (one model in one test).

        Returns:
            the declaration; None if the model is not an external one, or if its predictions for the
            prepared data of this plan have not been imported.
        """
        if self.config.models[cell.model].fit != EXTERNAL:
            return None
        key = (cell.dimension, cell.trained_on, cell.train_subset, cell.tested_on, cell.subset)
        return self.recipes.submission(cell.model, *key, cell.setting)

    def members(self, cell: CellKey) -> tuple[int, Statistic | None]:
        """Number of forecasts of each clip, and how their scores become one.

        The latter is ``mean_of_members``, ``ensemble_mean`` or ``best_of_members``; None for one
        forecast of each clip.
        """
        submission = self.submission(cell)
        if submission is not None:
            return submission.members, submission.statistic
        return self.recipes.members(cell.model, cell.trained_on, cell.variant)

    def _models(self, cell: CellKey) -> dict[str, Artefact]:
        """Build the trained models of a cell, the inputs of its forecasts.

        There is one model, or one for each lead time or member.
        """
        entry = self.recipes.variant(cell.model, cell.variant)
        variant = cell.variant if entry is None or entry.has_trainings else "default"
        training = (cell.model, cell.trained_on, cell.seed, cell.train_subset, variant)
        horizon = setting_of(cell.setting)["horizon"]
        leads = self.recipes.leads(cell.model, cell.variant, horizon)
        predict = self.recipes.settings(cell.model, cell.trained_on, "predict", cell.variant)
        if (members := predict.get("trainings", 1)) > 1:
            return self._members(cell, members, variant, leads.per_lead)
        if not leads.per_lead:
            model = self.add_trained_model(*training)
            return {"model": model} if model else {}
        models = {
            f"model-lead-{lead}": self.add_trained_model(*training, lead)
            for lead in leads.lead_times
        }
        return {name: model for name, model in models.items() if model}

    def _members(
        self, cell: CellKey, members: int, variant: str, per_lead: bool
    ) -> dict[str, Artefact]:
        """Build the training runs of an ensemble; members' seeds count up from the cell's seed."""
        if cell.seed is None or per_lead:
            raise ConfigurationError(
                f"{cell}: predict.trainings is {members}",
                expected="predict.trainings of models that are trained by gradient descent, with "
                "one network for all lead times",
            )
        rest = (cell.train_subset, variant)
        models = {
            f"model-member-{n}": self.add_trained_model(
                cell.model, cell.trained_on, cell.seed + n, *rest
            )
            for n in range(members)
        }
        return {name: model for name, model in models.items() if model}

    def cell(self, cell: CellKey, keep: int | tuple[str, ...] | None) -> CellArtefacts:
        """Plan all artefacts of a cell (one model in one test), from data to scores.

        Args:
            cell: key of the cell.
            keep: number of forecasts to store, or names of the clips whose forecasts are stored;
                all others are only scored. None to store all.
        """
        data, models = self.data(cell.tested_on), self._models(cell)
        forecasts, predictions = self._forecasts(cell, data, models), None
        stored = list(keep) if isinstance(keep, tuple) else keep
        if stored is None:
            predictions = self._artefact(
                "predict", cell.path, str(cell), as_json(forecasts.recipe), forecasts.sources,
                forecasts.core, *forecasts.modules,
                dataset=cell.tested_on, dimension=cell.dimension, entries=forecasts.entries,
            )  # fmt: skip
        features = dict(forecasts.features)
        plain = self._scores(cell, forecasts, predictions, stored, features, perceptual=False)
        samples, _ = self.members(cell)
        perceptual = None
        if self.recipes.job_conventions(cell.tested_on, True, samples):
            perceptual = self._scores(
                cell, forecasts, predictions, stored, features, perceptual=True
            )
        return CellArtefacts(
            cell, data, tuple(models.values()), predictions, plain, perceptual,
            len(stored) if isinstance(stored, list) else stored,
            tuple(features.values()),
        )  # fmt: skip

    def _forecasts(
        self, cell: CellKey, data: Artefact, models: Mapping[str, Artefact]
    ) -> _Forecasts:
        kind, submission = self.recipes.samples(cell.tested_on), self.submission(cell)
        sources: dict[str, Artefact | Raw] = {"data": data, **models}
        if submission is not None:
            assert kind.cores.imported
            sources[EXTERNAL] = self.raws.raw_submission(submission)
            recipe = self.recipes.import_recipe(submission, cell.model)
            return _Forecasts(recipe, sources, kind.cores.imported, None, [], ())
        recipe = self.recipes.predict(
            cell.model, cell.trained_on, cell.tested_on, cell.subset, setting_of(cell.setting),
            cell.variant,
        )  # fmt: skip
        check_options(kind.predict_options, recipe.predict, f"prediction of {cell}")
        self._check_options(kind, cell.model, recipe, str(cell))
        released = None if models else self.raws.pretrained_weights(cell.model, cell.trained_on)
        sources |= {WEIGHTS: released} if released else {}
        entry, scoring_core = self.config.models[cell.model], kind.cores.rollout
        modules, features = self._code_of(kind, cell.model), {}
        if entry.source is not None:
            modules = [f"{kind.sources}.{entry.source}"]
        if entry.network is not None:
            features = self._video_features(entry.network, cell, data)
            sources |= features
        if entry.fit == READ:
            scoring_core = kind.cores.read
            archive = self.raws.archive(cell.model, cell.tested_on)
            sources |= {"archive": archive} if archive else {}
        entries = entries_of("models", cell.model)
        return _Forecasts(
            recipe, sources, kind.cores.predict, scoring_core, modules, entries, features
        )

    def _scores(
        self,
        cell: CellKey,
        forecasts: _Forecasts,
        predictions: Artefact | None,
        stored: int | list[str] | None,
        features: dict[str, Artefact],
        *,
        perceptual: bool,
    ) -> Artefact:
        """Build the scores of a cell; features that the scores need are added to `features`."""
        kind, (samples, statistic) = self.recipes.samples(cell.tested_on), self.members(cell)
        conventions = self.recipes.job_conventions(cell.tested_on, perceptual, samples)
        recipe = as_json(self.recipes.score(cell, conventions, statistic))
        folder, addition = (f"/{PERCEPTUAL}", ", perceptual") if perceptual else ("", "")
        metrics = sorted({name.partition(".")[0] for name in conventions})
        computing = self._computing(recipe["conventions"])
        roots, entries = [kind.cores.score, *computing], entries_of("conventions", *metrics)
        needed = self._features(cell, conventions, forecasts.recipe, predictions, forecasts.sources)
        features.update(needed)
        inputs: Mapping[str, Artefact | Raw] = {**forecasts.sources, **needed}
        if predictions is None:
            assert forecasts.scoring_core
            roots = [forecasts.scoring_core, *computing, *forecasts.modules]
            entries += forecasts.entries
            recipe |= {"rollout": as_json(forecasts.recipe)}
            recipe |= {} if perceptual else {"keep": stored}
        else:
            data = forecasts.sources["data"]
            inputs = {"data": data, "predictions": predictions, **needed}
        return self._artefact(
            "score", f"{cell.path}{folder}", f"{cell}{addition}", recipe, inputs, *roots,
            dataset=cell.tested_on, dimension=cell.dimension, perceptual=perceptual,
            entries=entries,
        )  # fmt: skip

    def _computing(self, conventions: Mapping[str, Json]) -> list[str]:
        key = tuple(conventions)
        if key not in self._modules:
            source = self.code.source
            modules = (modules_of(definition, source) for definition in conventions.values())
            self._modules[key] = sorted({module for names in modules for module in names})
        return self._modules[key]

    def _video_features(self, network: str, cell: CellKey, data: Artefact) -> dict[str, Artefact]:
        """Build the network features of a dataset's videos; empty without the weights."""
        kind, name = self.recipes.samples(cell.tested_on), cell.tested_on
        recipe = self.recipes.video_features(network, name)
        if recipe is None:
            return {}
        assert kind.cores.video_features
        horizon = setting_name({"horizon": self.config.datasets[name].horizon})
        artefact = self._artefact(
            "features", f"data/{name}/all/{horizon}/videos/{network}.maps", f"{network} of {name}",
            as_json(recipe), {"data": data}, kind.cores.video_features, dataset=name,
        )  # fmt: skip
        return {"features": artefact}

    def _features(
        self,
        cell: CellKey,
        conventions: list[str],
        forecast: PredictRecipe,
        predictions: Artefact | None,
        sources: Mapping[str, Artefact | Raw],
    ) -> dict[str, Artefact]:
        """Build the network features of a cell's clips, which are inputs of its scores.

        Features of observed clips are computed once for all cells tested on the same clips.

        Args:
            cell: cell whose scores need the features.
            conventions: the conventions to score.
            forecast: the recipe of the cell's forecasts.
            predictions: stored predictions; None if forecasts are computed again from ``sources``.
            sources: the inputs of the forecasts, including the prepared data.
        """
        used, _ = self.recipes.networks_of(conventions)
        # Clips without some of their frames have no distances.
        if not used or len(forecast.leads) not in (0, forecast.lead_times):
            return {}
        kind, artefacts = self.recipes.samples(cell.tested_on), {}
        cores = kind.cores
        setting = {
            k: v for k, v in setting_of(cell.setting).items() if k in ("horizon", "interval")
        }
        clips = f"{cell.tested_on}/{cell.subset}/{setting_name(setting)}"
        for features in {features.name: features for features in used.values()}.values():
            assert cores.features and cores.features_rollout and cores.features_read
            options = self.recipes.features(features, forecast)
            about = f"{features.network} {features.layer} of {features.frames.replace('_', ' ')}"
            artefacts[f"{features.name}.observed"] = self._artefact(
                "features", f"data/{clips}/{features.name}", f"{about}, {clips}", as_json(options),
                {"data": sources["data"]}, cores.features, features.code, dataset=cell.tested_on,
                entries=self._entries_of_network(features),
            )  # fmt: skip
            samples, statistic = self.members(cell)
            if samples > 1 and statistic == "ensemble_mean":
                options = replace(options, member="mean")
            recipe = as_json(options)
            roots, inputs = [cores.features, features.code], sources
            entries = self._entries_of_network(features)
            if predictions is not None:
                inputs = {"data": sources["data"], "predictions": predictions}
            else:
                if options.member == "first":  # the same one, however many are drawn
                    drawn = {k: v for k, v in forecast.predict.items() if k != "samples"}
                    forecast = replace(forecast, predict=drawn)
                recipe |= {"rollout": as_json(forecast)}
                core, modules = cores.features_rollout, self._code_of(kind, cell.model)
                if forecast.source is not None:
                    core, modules = cores.features_read, [f"{kind.sources}.{forecast.source}"]
                roots = [core, features.code, *modules]
                entries += entries_of("models", cell.model)
            artefacts[f"{features.name}.predicted"] = self._artefact(
                "features", f"predictions/{cell.path}/{features.name}", f"{about}, {cell}", recipe,
                inputs, *roots, dataset=cell.tested_on, dimension=cell.dimension, entries=entries,
            )  # fmt: skip
        return artefacts

    def _entries_of_network(self, features: NetworkFeatures) -> tuple[str, ...]:
        """Configuration files of all metrics that share the features of a network's module."""
        return entries_of("conventions", *sorted(self._metrics_by_network[features.code]))

    @cached_property
    def _metrics_by_network(self) -> dict[str, set[str]]:
        metrics: dict[str, set[str]] = {}
        for name, metric in self.config.metrics.items():
            for entry in metric.conventions.values():
                if entry.features:
                    metrics.setdefault(entry.features.code, set()).add(name)
        return metrics
