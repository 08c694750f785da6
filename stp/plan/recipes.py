"""Recipes: all that is set for each artefact, resolved from the configuration.

Plain JSON values, of which every one may influence the artefact: they are part of its fingerprint.
What is asked twice is answered with the same object, so recipes are read and never changed.
"""

from collections.abc import Mapping
from typing import Any

from stp.core.errors import StpError
from stp.core.fingerprint import digest
from stp.options.train import TrainOptions
from stp.plan import named_class
from stp.plan.checked_config import Json, check_known, in_order, merge
from stp.plan.config import Config
from stp.plan.grid import Case
from stp.plan.metric import Seen
from stp.plan.model import Leads, Submission, Variant, Weights
from stp.plan.scored_conventions import ScoredConventions
from stp.plan.setting import setting_name, setting_of
from stp.tasks import task as tasks
from stp.tasks.task import Options, Task


class Recipes(ScoredConventions):
    """The recipes of a configuration.

    Args:
        config: the checked configuration.
        weights: checksums of the weights that are at hand, by the name of the network.
    """

    def __init__(
        self, config: Config, weights: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        super().__init__(config, weights or {})
        self._settings: dict[tuple[str, str, str, str], Json] = {}
        self._prepare: dict[tuple[str, str], Json] = {}
        self._submissions: dict[str, dict[tuple[str, ...], Submission]] = {}
        self._networks: dict[tuple[str, str, str], Json] = {}
        self._classes: dict[str, str | None] = {}
        self._members: dict[tuple[str, str, str], tuple[int, str | None]] = {}

    def settings(self, model: str, dataset: str, key: str, variant: str = "default") -> Json:
        """Resolve what a model sets for a dataset: options, train or predict.

        The scale wins over the paper's facts, the particular over the general, and a variant over
        all.
        """
        which = model, dataset, key, variant
        found = self._settings.get(which)
        if found is None:
            found = self._settings[which] = self._resolve(*which)
        return found

    def variant(self, model: str, name: str) -> Variant | None:
        """A variant of a model; None for the default.

        Raises:
            StpError: the model has no such variant.
        """
        if name == "default":
            return None
        known = self.config.models[model].variants
        check_known(name, known, f"variant of {model}", "the scale file")
        return known[name]

    def _resolve(self, model: str, dataset: str, key: str, variant: str) -> Json:
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
        named = self.variant(model, variant)
        layers += [getattr(named, key)] if named else []
        if named and named.is_given and key == "options":
            check_known(dataset, named.datasets, f"dataset of {model}, {variant}", "the scale file")
            layers.append(named.datasets[dataset])
        resolved: Json = {}
        for layer in layers:
            resolved = merge(_without_replaced(resolved, layer), layer)
        return resolved

    def prepare(self, name: str, of_release: str | None = None) -> Json:
        """The recipe of a prepared dataset, of the chosen release unless another one is named."""
        chosen = of_release or self.config.datasets[name].release
        if (name, chosen) not in self._prepare:
            dataset = self.config.datasets[name]
            release = dataset.releases[chosen]
            self._prepare[name, chosen] = {
                "dataset": name,
                "reader": dataset.reader or name,
                "release": chosen,
                "source": release.source,
                **dataset.samples.shape_recipe(dataset.shape),
                "context": dataset.context,
                "horizon": dataset.horizon,
                "units": dataset.units,
                "options": in_order(merge(dataset.prepare, release.prepare)),
            }
        return self._prepare[name, chosen]

    def samples(self, dataset: str) -> Task:
        """The kind of a dataset's samples."""
        return self.config.datasets[dataset].samples

    def class_of(self, model: str) -> str | None:
        """The class of a model, ``package.module:Class``, if it is none of the room of models."""
        if model not in self._classes:
            facts = self.config.models[model]
            task, named = tasks.find(facts.kind), facts.class_
            if named is None and task.takes_class(facts.fit):
                named = named_class.of_suite(task.models, model)
            self._classes[model] = named
        return self._classes[model]

    def _network(self, model: str, name: str, variant: str) -> Json:
        if (model, name, variant) not in self._networks:
            dataset = self.config.datasets[name]
            horizon = dataset.horizon
            if self.config.models[model].fit == "sgd" and dataset.samples.has_shape:
                horizon = self._trained_horizon(model, name, variant)
            named, chosen = self.variant(model, variant), self.class_of(model)
            self._networks[model, name, variant] = {
                "model": model,
                **({"class": chosen} if chosen else {}),
                "options": self.settings(model, name, "options", variant),
                **dataset.samples.shape_recipe(dataset.shape),
                "context": dataset.context,
                "horizon": horizon,
                **({"channels": list(named.channels)} if named and named.channels else {}),
            }
        return self._networks[model, name, variant]

    def _trained_horizon(self, model: str, name: str, variant: str) -> int:
        """How many lead times a network is trained on."""
        horizon = self.config.datasets[name].horizon
        given = self.settings(model, name, "train", variant).get("horizon")
        if not isinstance(given, int):  # the options of the training say what it may be
            return horizon
        if not 1 <= given <= horizon:
            raise StpError(
                f"{model} on {name}, {variant}: train.horizon is {given}",
                expected=f"1 to {horizon}, the horizon of the dataset",
                remedy="correct it in the scale file",
            )
        return given

    def weights(self, model: str, dataset: str) -> Weights | None:
        """The weights that the training of a model on a dataset is given, if there are any.

        The scale wins over the model's own entry, and the particular over the general.
        """
        for settings in (self.config.scale.models.get(model), self.config.models[model]):
            if settings is None:
                continue
            own = settings.datasets.get(dataset)
            given = own.weights if own is not None and own.weights else settings.weights
            if given is not None:
                return given
        return None

    def leads(self, model: str, variant: str, horizon: int) -> Leads:
        """The lead times that a model forecasts of a horizon, and how; none: all, by one network.

        A variant wins over the scale, and the scale over the model's own entry.

        Raises:
            StpError: none of its lead times is within the horizon.
        """
        layers = (
            self.variant(model, variant),
            self.config.scale.models.get(model),
            self.config.models[model],
        )
        found = next((one for one in layers if one is not None and one.lead_times), None)
        if found is None:
            return Leads()
        leads = tuple(lead for lead in found.lead_times if lead <= horizon)
        if not leads:
            raise StpError(
                f"{model}, {variant}: it forecasts the lead times {list(found.lead_times)}, and "
                f"the horizon is {horizon}",
                expected="at least one of them within the horizon",
                remedy="set a longer horizon, or take the model out",
            )
        return Leads(lead_times=leads, per_lead=found.per_lead, interpolated=found.interpolated)

    def train(
        self,
        model: str,
        name: str,
        seed: int | None,
        subset: str = "all",
        variant: str = "default",
        lead: int | None = None,
    ) -> Json:
        """The recipe of a trained model.

        Args:
            model: its name.
            name: of the dataset.
            seed: of the training.
            subset: of the training clips.
            variant: of the model.
            lead: the lead time that it forecasts alone; None: all of the dataset's horizon.

        Raises:
            StpError: weights or a lead time are named that its fit has no use for.
        """
        train = self.settings(model, name, "train", variant)
        fit = self.config.models[model].fit
        if fit == "closed_form":  # one pass over the data: only how much of it and how
            train = {key: train[key] for key in ("threads", "max_clips") if key in train}
        recipe = {**self._network(model, name, variant), "fit": fit, "seed": seed, "train": train}
        weights = self.weights(model, name)
        if weights is not None:
            if fit != "sgd" or not self.samples(name).has_shape:
                raise StpError(
                    f"{model} on {name} is given weights, but has none",
                    expected="weights for models that are trained by gradient descent",
                    remedy="take weights out of its configuration",
                )
            recipe["weights"] = weights.use
        if lead is not None:
            if fit != "sgd" or not self.samples(name).has_shape:
                raise StpError(
                    f"{model} on {name}: a network for each lead time",
                    expected="per_lead of models of frames that learn by gradient descent",
                    remedy="take per_lead out of its configuration",
                )
            if recipe["train"].get("horizon", 1) != 1:
                raise StpError(
                    f"{model} on {name}, {variant}: a network for each lead time, trained on "
                    f"{recipe['train']['horizon']} lead times",
                    expected="train.horizon 1, or none",
                    remedy="take per_lead or train.horizon out of its configuration",
                )
            recipe |= {"horizon": 1, "lead": lead}
        return recipe if subset == "all" else {**recipe, "train_subset": subset}

    def predict(
        self,
        model: str,
        trained_on: str,
        tested_on: str,
        subset: str,
        setting: Mapping[str, int],
        variant: str = "default",
    ) -> Json:
        """The recipe of a cell's predictions.

        Args:
            model: its name.
            trained_on: the dataset of its training.
            tested_on: the dataset of the test.
            subset: split or subset of the tested dataset.
            setting: horizon, and what else there is.
            variant: of the model.

        Raises:
            StpError: none of its lead times is within the horizon, or its training leaves no such
                snapshot.
        """
        predict = self.settings(model, trained_on, "predict", variant)
        # One is what everybody else has who says nothing.
        one = {key for key in ("samples", "trainings") if predict.get(key) == 1}
        predict = {key: value for key, value in predict.items() if key not in one}
        samples, context = self.samples(tested_on), self.config.datasets[tested_on].context
        network = samples.predicting(self._network(model, trained_on, variant), context)
        leads = self.leads(model, variant, setting["horizon"])
        if leads.lead_times and not samples.has_shape:
            raise StpError(
                f"{model}, {variant}: lead times of tracks",
                expected="lead_times of models of frames",
                remedy="take lead_times out of its configuration",
            )
        self._check_intensity(model, trained_on, tested_on, variant, setting.get("intensity"))
        if "update" in setting:
            self._check_snapshot(model, trained_on, variant, setting["update"])
        return {
            **network,
            **({"horizon": 1, "per_lead": True} if leads.per_lead else {}),
            **({"leads": list(leads.lead_times)} if leads.lead_times else {}),
            **({"interpolated": True} if leads.interpolated else {}),
            "lead_times": setting["horizon"],
            "split": subset,
            "predict": predict,
            **{key: setting[key] for key in samples.settings if key in setting},
        }

    def _check_intensity(
        self, model: str, trained_on: str, tested_on: str, variant: str, intensity: int | None
    ) -> None:
        """Refuse a distortion of clips with context, any other model without, and no intensity."""
        known = len(self.settings(model, trained_on, "options", variant).get("intensities", ()))
        context = self.config.datasets[tested_on].context
        if bool(known) == bool(context):
            raise StpError(
                f"{model} on {tested_on}, which has {context} context frames",
                expected="none for distortions, which see whole clips; some for all other models",
                remedy=f"set `context: {0 if known else 2}` of {tested_on} in the scale file, or "
                f"take {model} out",
            )
        if (intensity is None) == bool(known) or (intensity or 0) > known:
            raise StpError(
                f"{model} on {tested_on}: intensity {intensity}",
                expected=f"1 to {known}" if known else "no intensity: it distorts nothing",
                remedy="correct `setting: {intensity: ...}` in the scale file",
            )

    def _check_snapshot(self, model: str, dataset: str, variant: str, update: int) -> None:
        """Refuse weights after an update that the training does not keep."""
        kept = self.settings(model, dataset, "train", variant).get("snapshots", ())
        if self.config.models[model].fit != "sgd" or update not in kept:
            raise StpError(
                f"{model} on {dataset}, {variant}: weights after update {update} are asked for",
                expected=f"one of its snapshots: {', '.join(map(str, kept)) or 'it has none'}",
                remedy=f"add {update} to train.snapshots of the model, or take update-{update} out "
                "of the scale file",
            )

    def setting(self, case: Case) -> str:
        """Name the setting of a case, such as ``horizon-30+interval-2``."""
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
        """The predictions of a cell that were made elsewhere, about the data of this scale."""
        if model not in self._submissions:
            given = self.config.models[model].submissions
            self._submissions[model] = {one.cell: one for one in given}
        data = digest(self.prepare(tested_on))
        place = (dimension, trained_on, train_subset, tested_on, subset, setting, data)
        return self._submissions[model].get(place)

    def imported(self, submission: Submission, model: str) -> Json:
        """The recipe of predictions that were made elsewhere."""
        dataset = self.config.datasets[submission.tested_on]
        setting = setting_of(submission.setting)
        recipe = {
            "model": model,
            "shape": list(dataset.shape),
            "context": dataset.context,
            "lead_times": setting["horizon"],
            "split": submission.subset,
            "predict": {"samples": submission.members} if submission.members > 1 else {},
            "submission": {"windows": submission.windows},
        }
        if "interval" in setting:
            recipe["interval"] = setting["interval"]
        return recipe

    def members(
        self, model: str, trained_on: str, variant: str = "default"
    ) -> tuple[int, str | None]:
        """How many forecasts of each clip there are, and what is scored of several.

        Raises:
            StpError: several are wanted of a model that draws none.
        """
        found = self._members.get((model, trained_on, variant))
        if found is None:
            predict = self.settings(model, trained_on, "predict", variant)
            samples, trainings = (int(predict.get(key, 1)) for key in ("samples", "trainings"))
            if samples > 1 and not self.config.models[model].is_sampled:
                raise StpError(
                    f"prediction of {model} on {trained_on}: {samples} samples of each forecast "
                    "are asked for, but it always forecasts the same",
                    expected="samples of models that draw forecasts (is_sampled in config/models)",
                    remedy="take predict.samples out, or set it for such a model only",
                )
            samples = max(samples, trainings)
            statistic = self._statistic(model, trained_on) if samples > 1 else None
            found = self._members[model, trained_on, variant] = samples, statistic
        return found

    def _statistic(self, model: str, trained_on: str) -> str:
        """The scale wins over the model's own entry, and the particular over the general."""
        for settings in (self.config.scale.models.get(model), self.config.models[model]):
            if settings is not None:
                own = settings.datasets.get(trained_on)
                found = (own and own.statistic) or settings.statistic
                if found is not None:
                    return found
        return "mean_of_members"

    def features(self, seen: Seen, forecast: Json) -> Json:
        """The recipe of what a network sees of the clips that forecasts are about.

        Args:
            seen: network, layer and frames.
            forecast: the recipe of the forecasts.
        """
        return {
            "network": seen.network,
            "module": seen.module or seen.network,
            "layer": seen.layer,
            "frames": seen.frames,
            **(
                {"weights": dict(self._at_hand[seen.network])}
                if seen.seed is None
                else {"seed": seen.seed}
            ),
            "split": forecast["split"],
            "lead_times": forecast["lead_times"],
            **({"interval": forecast["interval"]} if "interval" in forecast else {}),
            "threads": 1,
        }

    def video_features(self, network: str, dataset: str) -> Json | None:
        """The recipe of what a network sees of a dataset's videos; None without its weights."""
        if network not in self._at_hand:
            return None
        return {
            "network": network,
            "weights": dict(self._at_hand[network]),
            "context": self.config.datasets[dataset].context,
            "threads": 1,
        }

    def score(
        self,
        cell: Json,
        setting: Mapping[str, int],
        conventions: list[str],
        statistic: str | None = None,
    ) -> Json:
        """The recipe of a cell's scores.

        Args:
            cell: its keys.
            setting: horizon, and interval where it is one.
            conventions: to compute.
            statistic: what is scored of several forecasts of a clip.
        """
        looks, networks = self.looked_through(conventions)
        weights = {name: dict(self._at_hand[name]) for name in networks}
        return {
            **({"weights": weights} if weights else {}),
            **({"features": {name: seen.name for name, seen in looks.items()}} if looks else {}),
            **({"interval": setting["interval"]} if "interval" in setting else {}),
            **({"statistic": statistic} if statistic else {}),
            **(
                {"higher_is_better": {name: self._is_higher_better(name) for name in conventions}}
                if statistic == "best_of_members"
                else {}
            ),
            "cell": cell,
            "conventions": {name: self.convention(name).definition for name in conventions},
            "split": cell["subset"],
            "bootstrap": self.config.scale.bootstrap.model_dump(),
            "threads": 1,
        }


def _without_replaced(settings: Json, layer: Mapping[str, Any]) -> Json:
    """Leave out a schedule or loss in favour of another one: their options are not mixed."""
    return {
        key: value
        for key, value in settings.items()
        if key not in ("schedule", "loss") or key not in layer or set(value) == set(layer[key])
    }


def check_options(
    kind: Options,
    given: dict[str, Any],
    label: str,
) -> None:
    """Refuse a recipe now, in seconds, that its job would refuse after hours of waiting.

    Raises:
        StpError: a key is unknown, or its value out of range.
    """
    try:
        options = kind.from_recipe(given)
        if isinstance(options, TrainOptions):
            options.learning_rate(0, 100)
    except StpError as error:
        raise StpError(
            f"{label}: {error.what}", expected=error.expected, remedy=error.remedy
        ) from None
