"""Make the recipes (all settings) of all artefacts, such as trained models, of a configuration.

Every value of a recipe may influence the artefact, and is therefore part of the fingerprint.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from stp.core.errors import ConfigurationError
from stp.core.fingerprint import digest
from stp.core.json_files import Json
from stp.core.options import as_json
from stp.options.features import FeatureOptions
from stp.options.score import ScoreOptions, Statistic
from stp.options.videos import VideoOptions
from stp.plan import named_class
from stp.plan.cell_key import CellKey
from stp.plan.checked_config import check_known, in_order, merge
from stp.plan.config import Config
from stp.plan.grid import Case
from stp.plan.metric import NetworkFeatures
from stp.plan.model import Leads, ModelSettings, PerDataset, Submission, Variant, Weights
from stp.plan.recipe_records import NetworkRecipe, PredictRecipe, PrepareRecipe, TrainRecipe
from stp.plan.scored_conventions import ScoredConventions
from stp.plan.setting import setting_name, setting_of
from stp.tasks import task as tasks
from stp.tasks.task import Task


class Recipes(ScoredConventions):
    """Builds the recipes (all settings of one artefact each) of a configuration.

    Args:
        config: the checked configuration.
        weights: checksums of the weights on this machine, by the name of the network.
    """

    def __init__(
        self, config: Config, weights: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        super().__init__(config, weights or {})
        self._settings: dict[tuple[str, str, str, str], Json] = {}
        self._prepare: dict[tuple[str, str], PrepareRecipe] = {}
        self._submissions: dict[str, dict[tuple[str, ...], Submission]] = {}
        self._networks: dict[tuple[str, str, str], NetworkRecipe] = {}
        self._classes: dict[str, str | None] = {}
        self._members: dict[tuple[str, str, str], tuple[int, Statistic | None]] = {}

    def settings(self, model: str, dataset: str, key: str, variant: str = "default") -> Json:
        """Merge the settings of a model for a dataset.

        Settings of the scale override those of the model's own entry, settings for the dataset
        override those for all datasets, and settings of a variant override all others.

        Args:
            model: name of the model.
            dataset: name of the dataset.
            key: options, train or predict.
            variant: variant of the model.
        """
        arguments = model, dataset, key, variant
        if arguments not in self._settings:
            self._settings[arguments] = self._resolve(*arguments)
        return self._settings[arguments]

    def variant(self, model: str, name: str) -> Variant | None:
        """A variant (named set of options) of a model; None for the default.

        Raises:
            StpError: the model has no such variant.
        """
        if name == "default":
            return None
        variants = self.config.models[model].variants
        check_known(name, variants, f"variant of {model}", "the scale file")
        return variants[name]

    def _resolve(self, model: str, dataset: str, key: str, variant: str) -> Json:
        scale = self.config.scale
        layers = _settings_of(self.config.models[model], key, dataset)
        layers += [{"train": scale.train, "predict": scale.predict}.get(key, {})]
        layers += _settings_of(scale.models.get(model), key, dataset)
        entry = self.variant(model, variant)
        layers += [getattr(entry, key)] if entry else []
        if entry and entry.is_given and key == "options":
            check_known(dataset, entry.datasets, f"dataset of {model}, {variant}", "the scale file")
            layers.append(entry.datasets[dataset])
        resolved: Json = {}
        for layer in layers:
            resolved = merge(_without_replaced(resolved, layer), layer)
        return resolved

    def prepare(self, name: str, release: str | None = None) -> PrepareRecipe:
        """Make the recipe (all settings) of a prepared dataset.

        Args:
            name: name of the dataset.
            release: name of the release; None for the one that the dataset's entry chooses.
        """
        dataset = self.config.datasets[name]
        release = release or dataset.release
        if (name, release) not in self._prepare:
            declared = dataset.releases[release]
            self._prepare[name, release] = PrepareRecipe(
                dataset=name,
                reader=dataset.reader or name,
                release=release,
                source=declared.source,
                context=dataset.context,
                horizon=dataset.horizon,
                units=dataset.units,
                options=in_order(merge(dataset.prepare, declared.prepare)),
                **dataset.samples.shape_recipe(dataset.shape),
            )
        return self._prepare[name, release]

    def prepare_digest(self, name: str) -> str:
        """Hash of how a dataset is prepared; imported predictions state it."""
        return digest(as_json(self.prepare(name)))

    def samples(self, dataset: str) -> Task:
        """The task of a dataset: whether its samples are frames, tracks or opinions."""
        return self.config.datasets[dataset].samples

    def class_of(self, model: str) -> str | None:
        """A model's class, ``package.module:Class``; None for a class in ``stp.models``."""
        if model not in self._classes:
            entry = self.config.models[model]
            task, name = tasks.find(entry.kind), entry.class_
            if name is None and task.takes_class(entry.fit):
                name = named_class.of_suite(task.models, model)
            self._classes[model] = name
        return self._classes[model]

    def _network(self, model: str, name: str, variant: str) -> NetworkRecipe:
        if (model, name, variant) not in self._networks:
            dataset = self.config.datasets[name]
            layer = self.variant(model, variant)
            self._networks[model, name, variant] = NetworkRecipe(
                model=model,
                class_=self.class_of(model),
                options=self.settings(model, name, "options", variant),
                context=dataset.context,
                horizon=self._trained_horizon(model, name, variant),
                channels=layer.channels if layer else (),
                **dataset.samples.shape_recipe(dataset.shape),
            )
        return self._networks[model, name, variant]

    def _trained_horizon(self, model: str, name: str, variant: str) -> int:
        dataset = self.config.datasets[name]
        if self.config.models[model].fit != "sgd" or not dataset.samples.has_shape:
            return dataset.horizon
        horizon = self.settings(model, name, "train", variant).get("horizon")
        if not isinstance(horizon, int):  # None, or refused with the options of the training
            return dataset.horizon
        if not 1 <= horizon <= dataset.horizon:
            raise ConfigurationError(
                f"{model} on {name}, {variant}: train.horizon is {horizon}",
                expected=f"1 to {dataset.horizon}, the horizon of the dataset",
            )
        return horizon

    def _layers(self, model: str, dataset: str) -> Iterator[PerDataset]:
        """Yield the settings of a model by descending priority.

        Settings of the scale precede those of the model's own entry, and within both, settings for
        the dataset precede those for all datasets.
        """
        for settings in (self.config.scale.models.get(model), self.config.models[model]):
            if settings is not None:
                if dataset in settings.datasets:
                    yield settings.datasets[dataset]
                yield settings

    def weights(self, model: str, dataset: str) -> Weights | None:
        """Weights that initialise or replace the training of a model on a dataset."""
        layers = self._layers(model, dataset)
        return next((layer.weights for layer in layers if layer.weights is not None), None)

    def leads(self, model: str, variant: str, horizon: int) -> Leads:
        """Find which lead times a model forecasts in a test.

        Lead times that the variant declares override those of the scale, and those of the scale
        override those of the model's own entry.

        Args:
            model: name of the model.
            variant: variant of the model.
            horizon: largest lead time of the test; larger declared lead times are left out.

        Returns:
            the declared lead times, and whether each has its own network (``per_lead``) and those
            between them are ``interpolated``. If none are declared, the model forecasts all lead
            times: ``lead_times`` is empty, and both flags are False.

        Raises:
            ConfigurationError: none of the declared lead times is within the horizon.
        """
        layers: tuple[Leads | None, ...] = (
            self.variant(model, variant),
            self.config.scale.models.get(model),
            self.config.models[model],
        )
        declared = next((layer for layer in layers if layer and layer.lead_times), None)
        if declared is None:
            return Leads()
        leads = tuple(lead for lead in declared.lead_times if lead <= horizon)
        if not leads:
            raise ConfigurationError(
                f"{model}, {variant}: its lead times are {list(declared.lead_times)}",
                expected=f"at least one within the horizon, {horizon}",
            )
        return Leads(
            lead_times=leads, per_lead=declared.per_lead, interpolated=declared.interpolated
        )

    def train(
        self,
        model: str,
        name: str,
        seed: int | None,
        subset: str = "all",
        variant: str = "default",
        lead: int | None = None,
    ) -> TrainRecipe:
        """Make the recipe (all settings) of the training of a model.

        Args:
            model: name of the model.
            name: name of the dataset.
            seed: seed of the training.
            subset: subset of the training clips.
            variant: variant of the model.
            lead: the only lead time that the network forecasts; None for the whole horizon.

        Raises:
            ConfigurationError: weights or a lead time are set, but the kind of fit uses none.
        """
        train = self.settings(model, name, "train", variant)
        fit = self.config.models[model].fit
        if fit == "closed_form":  # one pass over the data has no further settings
            train = {key: train[key] for key in ("threads", "max_clips") if key in train}
        weights = self.weights(model, name)
        if weights is not None:
            self._check_descent(model, name, "weights")
        network = self._network(model, name, variant)
        if lead is not None:
            self._check_descent(model, name, "per_lead")
            if train.get("horizon", 1) != 1:
                raise ConfigurationError(
                    f"{model} on {name}, {variant}: train.horizon is {train['horizon']} with "
                    "per_lead",
                    expected="1, or none: each network is trained on one lead time",
                )
            network = replace(network, horizon=1)
        return TrainRecipe(
            **vars(network),
            fit=fit,
            seed=seed,
            train=train,
            weights=weights.use if weights else None,
            lead=lead,
            train_subset=subset,
        )

    def _check_descent(self, model: str, dataset: str, key: str) -> None:
        """Refuse a key that has an effect only for networks that forecast frames."""
        if self.config.models[model].fit != "sgd" or not self.samples(dataset).has_shape:
            raise ConfigurationError(
                f"{model} on {dataset}: {key} is set",
                expected=f"{key} of models of frames that are trained by gradient descent only",
            )

    def predict(
        self,
        model: str,
        trained_on: str,
        tested_on: str,
        subset: str,
        setting: Mapping[str, int],
        variant: str = "default",
    ) -> PredictRecipe:
        """Make the recipe (all settings) of the predictions of one model in one test.

        Args:
            model: name of the model.
            trained_on: dataset of the training.
            tested_on: dataset of the test.
            subset: split or subset of the tested dataset.
            setting: value of ``horizon``, and values of the other `settings` of the task that are
                set.
            variant: variant of the model.

        Raises:
            ConfigurationError: none of the model's lead times is within the horizon; the training
                stores no snapshot after the ``update`` in `setting`; or lead times or an intensity
                are set for a model that has none.
        """
        predict = self.settings(model, trained_on, "predict", variant)
        # 1 member is the default: recipes of other models do not contain it.
        single = {key for key in ("samples", "trainings") if predict.get(key) == 1}
        predict = {key: value for key, value in predict.items() if key not in single}
        task, network = self.samples(tested_on), self._network(model, trained_on, variant)
        leads = self.leads(model, variant, setting["horizon"])
        if leads.lead_times and not task.has_shape:
            raise ConfigurationError(
                f"{model}, {variant}: lead_times is set",
                expected="lead_times of models of frames only",
            )
        if not task.has_shape:
            context = self.config.datasets[tested_on].context
            network = replace(network, horizon=None, context=context)
        self._check_intensity(model, trained_on, tested_on, variant, setting.get("intensity"))
        if "update" in setting:
            self._check_snapshot(model, trained_on, variant, setting["update"])
        if leads.per_lead:
            network = replace(network, horizon=1)
        settings: Json = {key: setting[key] for key in task.settings if key in setting}
        return PredictRecipe(
            **vars(network),
            per_lead=leads.per_lead,
            leads=leads.lead_times,
            interpolated=leads.interpolated,
            lead_times=setting["horizon"],
            split=subset,
            predict=predict,
            source=self.config.models[model].source,
            **settings,
        )

    def _check_intensity(
        self, model: str, trained_on: str, tested_on: str, variant: str, intensity: int | None
    ) -> None:
        """Refuse an intensity that does not fit the model.

        A distortion needs clips without context frames and one of its intensities; other models
        need context frames and have no intensity.
        """
        options = self.settings(model, trained_on, "options", variant)
        intensities = len(options.get("intensities", ()))
        context = self.config.datasets[tested_on].context
        if bool(intensities) == bool(context):
            raise ConfigurationError(
                f"{model} on {tested_on}: context is {context}",
                expected="0 for distortions, 1 or more for all other models",
                remedy=f"set `context: {0 if intensities else 2}` of {tested_on} in the scale "
                f"file, or remove {model}",
            )
        if (intensity is None) == bool(intensities) or (intensity or 0) > intensities:
            raise ConfigurationError(
                f"{model} on {tested_on}: intensity is {intensity}",
                expected=f"1 to {intensities}" if intensities else "none: it distorts nothing",
                remedy="change `setting: {intensity: ...}` in the scale file",
            )

    def _check_snapshot(self, model: str, dataset: str, variant: str, update: int) -> None:
        snapshots = self.settings(model, dataset, "train", variant).get("snapshots", ())
        if self.config.models[model].fit != "sgd" or update not in snapshots:
            raise ConfigurationError(
                f"{model} on {dataset}, {variant}: there is no snapshot after update {update}",
                expected=f"one of {', '.join(map(str, snapshots)) or 'none: it has no snapshots'}",
                remedy=f"add {update} to train.snapshots of the model, or remove update-{update} "
                "from the scale file",
            )

    def setting(self, case: Case) -> str:
        """Name what an evaluation changes of the protocol, such as ``horizon-30+interval-2``."""
        horizon = self.config.datasets[case.tested_on].horizon
        return setting_name({"horizon": horizon, **case.setting})

    def submission(
        self,
        model: str,
        dimension: str,
        trained_on: str,
        train_subset: str,
        tested_on: str,
        subset: str,
        setting: str,
    ) -> Submission | None:
        """The imported predictions of one model in one test, if made for the data of this scale."""
        if model not in self._submissions:
            submissions = self.config.models[model].submissions
            self._submissions[model] = {submission.cell: submission for submission in submissions}
        data = self.prepare_digest(tested_on)
        cell = (dimension, trained_on, train_subset, tested_on, subset, setting, data)
        return self._submissions[model].get(cell)

    def import_recipe(self, submission: Submission, model: str) -> PredictRecipe:
        """Make the recipe (all settings) of imported predictions."""
        dataset = self.config.datasets[submission.tested_on]
        setting = setting_of(submission.setting)
        return PredictRecipe(
            model=model,
            options={},
            shape=dataset.shape,
            context=dataset.context,
            lead_times=setting["horizon"],
            split=submission.subset,
            predict={"samples": submission.members} if submission.members > 1 else {},
            interval=setting.get("interval"),
            submission={"windows": submission.windows},
        )

    def members(
        self, model: str, trained_on: str, variant: str = "default"
    ) -> tuple[int, Statistic | None]:
        """Find how many forecasts a model makes of each clip, and how their scores become one.

        Args:
            model: name of the model.
            trained_on: dataset of the training.
            variant: variant of the model.

        Returns:
            number of forecasts; and ``mean_of_members``, ``ensemble_mean`` (score of the mean
            forecast) or ``best_of_members``, None for one forecast.

        Raises:
            ConfigurationError: several forecasts are set for a model that always forecasts the
                same.
        """
        key = model, trained_on, variant
        if key not in self._members:
            predict = self.settings(model, trained_on, "predict", variant)
            samples, trainings = (int(predict.get(key, 1)) for key in ("samples", "trainings"))
            if samples > 1 and not self.config.models[model].is_sampled:
                raise ConfigurationError(
                    f"{model} on {trained_on}: predict.samples is {samples}",
                    expected="1: it always forecasts the same (is_sampled in config/models)",
                    remedy="remove predict.samples, or set it for a model that draws forecasts",
                )
            samples = max(samples, trainings)
            statistic = self._statistic(model, trained_on) if samples > 1 else None
            self._members[key] = samples, statistic
        return self._members[key]

    def _statistic(self, model: str, trained_on: str) -> Statistic:
        layers = self._layers(model, trained_on)
        statistics = (layer.statistic for layer in layers if layer.statistic is not None)
        return next(statistics, "mean_of_members")

    def features(self, features: NetworkFeatures, forecast: PredictRecipe) -> FeatureOptions:
        """Make the recipe (all settings) of network features of predicted or observed clips.

        Args:
            features: network, layer and frames.
            forecast: the recipe of the forecasts.
        """
        return FeatureOptions(
            network=features.network,
            module=features.module or features.network,
            layer=features.layer,
            frames=features.frames,
            weights=dict(self._at_hand[features.network]) if features.seed is None else {},
            seed=features.seed,
            split=forecast.split,
            lead_times=forecast.lead_times,
            interval=forecast.interval or 1,
        )

    def video_features(self, network: str, dataset: str) -> VideoOptions | None:
        """Make the recipe (settings) of network features of videos; None without the weights."""
        if network not in self._at_hand:
            return None
        return VideoOptions(
            network=network,
            weights=dict(self._at_hand[network]),
            context=self.config.datasets[dataset].context,
        )

    def score(
        self,
        cell: CellKey,
        conventions: list[str],
        statistic: Statistic | None = None,
    ) -> ScoreOptions:
        """Make the recipe (all settings) of the scores of one model in one test.

        Args:
            cell: key of the cell.
            conventions: names of the conventions to compute.
            statistic: how the scores of several forecasts of a clip become one, such as
                ``best_of_members``; None for one forecast.
        """
        features, networks = self.networks_of(conventions)
        directions = conventions if statistic == "best_of_members" else ()
        return ScoreOptions(
            cell=dict(vars(cell)),
            conventions={name: self.convention(name).definition for name in conventions},
            split=cell.subset,
            interval=setting_of(cell.setting).get("interval", 1),
            bootstrap=self.config.scale.bootstrap,
            statistic=statistic,
            higher_is_better={name: self._is_higher_better(name) for name in directions},
            weights={name: dict(self._at_hand[name]) for name in networks},
            features={name: used.name for name, used in features.items()},
        )


def _settings_of(settings: ModelSettings | None, key: str, dataset: str) -> list[Json]:
    if settings is None:
        return []
    layers = [settings, *([settings.datasets[dataset]] if dataset in settings.datasets else [])]
    return [getattr(layer, key) for layer in layers]


def _without_replaced(settings: Json, layer: Json) -> Json:
    """Remove a schedule or loss that a layer replaces, so that options of both are not mixed."""
    return {
        key: value
        for key, value in settings.items()
        if key not in ("schedule", "loss") or key not in layer or set(value) == set(layer[key])
    }
