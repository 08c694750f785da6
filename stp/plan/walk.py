"""The walk from cells to artefacts: what each is made from, by which code, and where it lives.

Every path of an artefact is built here and nowhere else.
"""

from collections.abc import Mapping
from dataclasses import replace

from stp.core import named_modules, provenance
from stp.core.errors import StpError
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
from stp.plan.metric import Seen
from stp.plan.model import Submission
from stp.plan.model_options import check_model_options
from stp.plan.raw_releases import Raws
from stp.plan.recipe_records import NetworkRecipe, PredictRecipe, TrainRecipe
from stp.plan.recipes import Recipes, check_options
from stp.plan.setting import check_path, joined, setting_name, setting_of
from stp.tasks.task import Task


def variant_name(variant: str, lead: int | None) -> str:
    """Name a variant in the path of a trained model, such as ``default+lead-5``."""
    return variant if lead is None else joined(variant, f"lead-{lead}")


class Walk:
    """Makes the artefacts of cells, each once.

    Args:
        recipes: of the plan.
        code: of the plan.
        raws: of the plan.
        accepted: what stands for artefacts of newer code, by the fingerprint of these.

    Attributes:
        artefacts: by folder, in the order in which they can be made.
        prepared: the prepared data among them, by dataset.
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
        *named: str,
        dataset: str,
        dimension: str | None = None,
        perceptual: bool = False,
        entries: tuple[str, ...] = (),
    ) -> Artefact:
        """Fingerprint an artefact and build its path, below a folder of its own.

        Args:
            named: modules besides the core that are chosen by name, not imported statically.
            entries: files of the configuration that name some of these.
        """
        made_of = {
            key: value.identity if isinstance(value, Raw) else value.fingerprint
            for key, value in inputs.items()
        }
        code, kind = self.code.of(core, *named), self.recipes.samples(dataset)
        reads = self.code.declared(entries)
        recipe = {**recipe, "reads": reads} if reads else recipe
        environment = self.code.environment(entries)
        recipe = {**recipe, "environment": environment} if environment else recipe
        recipe = {**recipe, "versions": self._versions} if self._versions else recipe
        fingerprint = fingerprint_of(stage, code.fingerprint, recipe, made_of)
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
        """The prepared data of a dataset."""
        if name not in self.prepared:
            recipe = self.recipes.prepare(name)
            core = named_modules.reader(recipe.reader, self.code.source)
            inputs = {"raw": self.raws.of_dataset(name)}
            self.prepared[name] = self._artefact(
                "prepare", name, name, as_json(recipe), inputs, core, *self._virtual(name),
                dataset=name, entries=entries_of("datasets", name),
            )  # fmt: skip
        return self.prepared[name]

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
            fits = self.config.models[model].fit in self.recipes.samples(name).fits
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
        parts = [part for part in (subset, variant) if part not in ("all", "default")]
        parts += [] if lead is None else [f"lead {lead}"]
        label = ", ".join([f"{model} on {name}", *parts])
        kind, given = self.recipes.samples(name), self.raws.given_weights(model, name)
        fit = kind.fits[recipe.fit]
        self._check_options(kind, model, recipe, label)
        chosen, virtual = self._chosen(model, name, variant, recipe), self._virtual(name)
        return self._artefact(
            "train",
            f"{name}/{model}/{variant_name(variant, lead)}/{seed_name(seed)}",
            label if seed is None else f"{label}, seed {seed}",
            as_json(recipe),
            {"data": self.data(name), **({"weights": given} if given else {})},
            fit.given if given and fit.given else fit.core,
            *virtual,
            *chosen,
            *self._code_of(kind, model),
            dataset=name,
            entries=entries_of("models", model) + (entries_of("datasets", name) if virtual else ()),
        )

    def _code_of(self, kind: Task, model: str) -> list[str]:
        """The module of a model; of other packages none, whose content is declared."""
        named = self.recipes.class_of(model)
        if named is None:
            return [f"{kind.models}.{model}"]
        return [named_class.module_of(named)] if named_class.is_ours(named) else []

    def _check_options(self, kind: Task, model: str, recipe: NetworkRecipe, label: str) -> None:
        """Refuse options that a model does not have, and a class that does not exist."""
        source = self.code.source.joinpath(*kind.models.split("."), f"{model}.py")
        entry, named = kind.model_class, self.recipes.class_of(model)
        if named is not None:
            (where,) = entries_of("models", model)
            source, entry = named_class.source_of(named, f"{where}: class"), named.partition(":")[2]
        check_model_options(source, entry, recipe.options, label)

    def _chosen(self, model: str, name: str, variant: str, recipe: TrainRecipe) -> list[str]:
        """Check the options of a training, whatever its seed; name the modules that they choose."""
        key = model, name, variant
        if key not in self._parts:
            options = self.recipes.samples(name).fits[recipe.fit].options
            if options is not None:
                check_options(options, recipe.train, f"training of {model} on {name}")
            self._parts[key] = modules(recipe.train) if options is TrainOptions else []
        return self._parts[key]

    def submission(self, cell: CellKey) -> Submission | None:
        """The predictions of a cell that were made elsewhere, if its model lives there."""
        if self.config.models[cell.model].fit != EXTERNAL:
            return None
        place = (cell.dimension, cell.trained_on, cell.train_subset, cell.tested_on, cell.subset)
        return self.recipes.submission(cell.model, *place, cell.setting)

    def members(self, cell: CellKey) -> tuple[int, Statistic | None]:
        """How many forecasts of each clip there are, and what is scored of several."""
        given = self.submission(cell)
        if given is not None:
            return given.members, given.statistic
        return self.recipes.members(cell.model, cell.trained_on, cell.variant)

    def _models(self, cell: CellKey) -> dict[str, Artefact]:
        """The trained models of a cell, as inputs of its forecasts: one, or one for each lead time
        or member."""
        named = self.recipes.variant(cell.model, cell.variant)
        variant = cell.variant if named is None or named.has_trainings else "default"
        about = (cell.model, cell.trained_on, cell.seed, cell.train_subset, variant)
        horizon = setting_of(cell.setting)["horizon"]
        wanted = self.recipes.leads(cell.model, cell.variant, horizon)
        predict = self.recipes.settings(cell.model, cell.trained_on, "predict", cell.variant)
        if (members := predict.get("trainings", 1)) > 1:
            return self._members(cell, members, variant, wanted.per_lead)
        if not wanted.per_lead:
            model = self.trained(*about)
            return {"model": model} if model else {}
        found = {f"model-lead-{lead}": self.trained(*about, lead) for lead in wanted.lead_times}
        return {name: model for name, model in found.items() if model}

    def _members(
        self, cell: CellKey, members: int, variant: str, per_lead: bool
    ) -> dict[str, Artefact]:
        """The trainings that forecast a member each, with the cell's seed and the next ones."""
        if cell.seed is None or per_lead:
            raise StpError(
                f"{cell}: members of {members} trainings",
                expected="predict.trainings of models that learn by gradient descent, with one "
                "network for all lead times",
                remedy="take predict.trainings out of its configuration",
            )
        place = (cell.train_subset, variant)
        models = {
            f"model-member-{n}": self.trained(cell.model, cell.trained_on, cell.seed + n, *place)
            for n in range(members)
        }
        return {name: model for name, model in models.items() if model}

    def cell(self, cell: CellKey, keep: int | tuple[str, ...] | None) -> CellArtefacts:
        """All artefacts of a cell.

        Args:
            cell: the cell.
            keep: how many predictions are stored, or of which clips; None: all of them.
        """
        kind, data = self.recipes.samples(cell.tested_on), self.data(cell.tested_on)
        models, given = self._models(cell), self.submission(cell)
        features: dict[str, Artefact] = {}
        folder, label, setting = cell.path, str(cell), setting_of(cell.setting)
        samples, statistic = self.members(cell)
        made_of: dict[str, Artefact | Raw] = {"data": data, **models}
        facts = self.config.models[cell.model]
        modules, rollout = self._code_of(kind, cell.model), kind.cores.rollout
        entries = entries_of("models", cell.model)
        if given is not None:
            assert kind.cores.imported
            recipe, core = self.recipes.imported(given, cell.model), [kind.cores.imported]
            entries = ()
            made_of[EXTERNAL] = self.raws.submitted(given)
        else:
            recipe = self.recipes.predict(
                cell.model, cell.trained_on, cell.tested_on, cell.subset, setting, cell.variant
            )
            core = [kind.cores.predict, *modules]
            check_options(kind.predict_options, recipe.predict, f"prediction of {label}")
            self._check_options(kind, cell.model, recipe, label)
            released = None if models else self.raws.given_weights(cell.model, cell.trained_on)
            made_of |= {WEIGHTS: released} if released else {}
            if facts.source is not None:
                modules = [f"{kind.sources}.{facts.source}"]
                core = [kind.cores.predict, *modules]
            if facts.network is not None:
                looked_at = self._video_features(facts.network, cell, data)
                made_of |= looked_at
                features.update(looked_at)
            if facts.fit == READ:
                rollout = kind.cores.read
                archive = self.raws.archive(cell.model, cell.tested_on)
                made_of |= {"archive": archive} if archive else {}
        predictions, stored = None, list(keep) if isinstance(keep, tuple) else keep
        if stored is None:
            predictions = self._artefact(
                "predict", folder, label, as_json(recipe), made_of, *core,
                dataset=cell.tested_on, dimension=cell.dimension, entries=entries,
            )  # fmt: skip

        def scores(perceptual: bool) -> Artefact:
            conventions = self.recipes.scored(cell.tested_on, perceptual, samples)
            own = as_json(self.recipes.score(cell, conventions, statistic))
            place, what = (
                (f"{folder}/{PERCEPTUAL}", f"{label}, perceptual")
                if perceptual
                else (folder, label)
            )
            metrics = sorted({name.partition(".")[0] for name in conventions})
            computing = self._computing(own["conventions"])
            roots, declaring = [kind.cores.score, *computing], entries_of("conventions", *metrics)
            looked = self._features(cell, conventions, recipe, predictions, made_of)
            inputs: Mapping[str, Artefact | Raw] = {**made_of, **looked}
            if predictions is None:
                assert rollout
                roots = [rollout, *computing, *modules]
                declaring += entries
                own |= {"rollout": as_json(recipe), **({} if perceptual else {"keep": stored})}
            else:
                inputs = {"data": data, "predictions": predictions, **looked}
            features.update(looked)
            return self._artefact(
                "score", place, what, own, inputs, *roots, dataset=cell.tested_on,
                dimension=cell.dimension, perceptual=perceptual, entries=declaring,
            )  # fmt: skip

        seen = self.recipes.scored(cell.tested_on, True, samples)
        plain = scores(perceptual=False)
        perceptual = scores(perceptual=True) if seen else None
        return CellArtefacts(
            cell, data, tuple(models.values()), predictions, plain, perceptual,
            len(stored) if isinstance(stored, list) else stored,
            tuple(features.values()),
        )  # fmt: skip

    def _computing(self, conventions: Mapping[str, Json]) -> list[str]:
        """The modules that make conventions, sorted."""
        key = tuple(conventions)
        if key not in self._modules:
            source = self.code.source
            of_each = (modules_of(definition, source) for definition in conventions.values())
            self._modules[key] = sorted({module for of in of_each for module in of})
        return self._modules[key]

    def _video_features(self, network: str, cell: CellKey, data: Artefact) -> dict[str, Artefact]:
        """What a network sees of all videos of a dataset; nothing if its weights are not there."""
        kind, name = self.recipes.samples(cell.tested_on), cell.tested_on
        recipe = self.recipes.video_features(network, name)
        if recipe is None:
            return {}
        assert kind.cores.video_features
        horizon = setting_name({"horizon": self.config.datasets[name].horizon})
        found = self._artefact(
            "features", f"data/{name}/all/{horizon}/videos/{network}.maps", f"{network} of {name}",
            as_json(recipe), {"data": data}, kind.cores.video_features, dataset=name,
        )  # fmt: skip
        return {"features": found}

    def _features(
        self,
        cell: CellKey,
        conventions: list[str],
        forecast: PredictRecipe,
        predictions: Artefact | None,
        made_of: Mapping[str, Artefact | Raw],
    ) -> dict[str, Artefact]:
        """The network features of a cell's clips, as inputs of its scores.

        Features of observed clips are computed once for all cells tested on the same clips.

        Args:
            cell: whose scores need the features.
            conventions: the conventions to score.
            forecast: the recipe of the cell's forecasts.
            predictions: stored ones; None: they are made again, from ``made_of``.
            made_of: the inputs of the forecasts, data included.
        """
        looks, _ = self.recipes.looked_through(conventions)
        # Of clips that lack frames there are no distances.
        if not looks or len(forecast.leads) not in (0, forecast.lead_times):
            return {}
        kind, found = self.recipes.samples(cell.tested_on), {}
        cores = kind.cores
        setting = {
            k: v for k, v in setting_of(cell.setting).items() if k in ("horizon", "interval")
        }
        clips = f"{cell.tested_on}/{cell.subset}/{setting_name(setting)}"
        for seen in {one.name: one for one in looks.values()}.values():
            assert cores.features and cores.features_rollout and cores.features_read
            options = self.recipes.features(seen, forecast)
            about = f"{seen.network} {seen.layer} of {seen.frames.replace('_', ' ')}"
            found[f"{seen.name}.observed"] = self._artefact(
                "features", f"data/{clips}/{seen.name}", f"{about}, {clips}", as_json(options),
                {"data": made_of["data"]}, cores.features, seen.code, dataset=cell.tested_on,
                entries=self._entries_of_network(seen),
            )  # fmt: skip
            samples, statistic = self.members(cell)
            if samples > 1 and statistic == "ensemble_mean":
                options = replace(options, member="mean")
            recipe = as_json(options)
            roots, inputs = [cores.features, seen.code], made_of
            entries = self._entries_of_network(seen)
            if predictions is not None:
                inputs = {"data": made_of["data"], "predictions": predictions}
            else:
                if options.member == "first":  # the same one, however many are drawn
                    drawn = {k: v for k, v in forecast.predict.items() if k != "samples"}
                    forecast = replace(forecast, predict=drawn)
                recipe |= {"rollout": as_json(forecast)}
                core, modules = cores.features_rollout, self._code_of(kind, cell.model)
                if forecast.source is not None:
                    core, modules = cores.features_read, [f"{kind.sources}.{forecast.source}"]
                roots = [core, seen.code, *modules]
                entries += entries_of("models", cell.model)
            found[f"{seen.name}.predicted"] = self._artefact(
                "features", f"predictions/{cell.path}/{seen.name}", f"{about}, {cell}", recipe,
                inputs, *roots, dataset=cell.tested_on, dimension=cell.dimension, entries=entries,
            )  # fmt: skip
        return found

    def _entries_of_network(self, seen: Seen) -> tuple[str, ...]:
        """The metrics that name the module of a network: one artefact serves all of them."""
        named = [
            name
            for name, metric in self.config.metrics.items()
            if any(one.seen and one.seen.code == seen.code for one in metric.conventions.values())
        ]
        return entries_of("conventions", *sorted(named))
