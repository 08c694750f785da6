"""Recipes: all that is set for each artefact, resolved from the configuration.

Plain JSON values, of which every one may influence the artefact: they are part of its fingerprint.
What is asked twice is answered with the same object, so recipes are read and never changed.
"""

from collections.abc import Mapping
from typing import Any

from stp.core.errors import StpError
from stp.core.fingerprint import digest
from stp.kinds.kind import Kind, Options
from stp.options.train import TrainOptions
from stp.plan.config import Config
from stp.plan.dataset import Dataset
from stp.plan.metric import Metric
from stp.plan.model import Submission, Variant, Weights
from stp.plan.scale import Case
from stp.plan.setting import EXPECTED_SHOWN, read_shown, setting_name, setting_of
from stp.plan.strict import Json, check_known, merge


class Recipes:
    """The recipes of a configuration.

    Args:
        config: the checked configuration.
        weights: checksums of the weights that are at hand, by the name of the network.
    """

    def __init__(
        self, config: Config, weights: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        self.config = config
        self._at_hand = dict(weights or {})
        self._settings: dict[tuple[str, str, str, str], Json] = {}
        self._prepare: dict[tuple[str, str], Json] = {}
        self._submissions: dict[str, dict[tuple[str, ...], Submission]] = {}
        self._networks: dict[tuple[str, str, str], Json] = {}
        self._conventions: dict[tuple[str, bool], list[str]] = {}
        self._scored: dict[tuple[str, bool, bool], list[str]] = {}
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
                **_shape(dataset),
                "context": dataset.context,
                "horizon": dataset.horizon,
                "units": dataset.units,
                "options": merge(dataset.prepare, release.prepare),
            }
        return self._prepare[name, chosen]

    def samples(self, dataset: str) -> Kind:
        """The kind of a dataset's samples."""
        return self.config.datasets[dataset].samples

    def _network(self, model: str, name: str, variant: str) -> Json:
        if (model, name, variant) not in self._networks:
            dataset = self.config.datasets[name]
            self._networks[model, name, variant] = {
                "model": model,
                "options": self.settings(model, name, "options", variant),
                **_shape(dataset),
                "context": dataset.context,
                "horizon": dataset.horizon,
            }
        return self._networks[model, name, variant]

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

    def train(
        self,
        model: str,
        name: str,
        seed: int | None,
        subset: str = "all",
        variant: str = "default",
    ) -> Json:
        """The recipe of a trained model."""
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
        """
        predict = self.settings(model, trained_on, "predict", variant)
        if predict.get("samples") == 1:  # one is what everybody else has who says nothing
            predict = {key: value for key, value in predict.items() if key != "samples"}
        samples, network = self.samples(tested_on), self._network(model, trained_on, variant)
        if not samples.trained_context:
            network = {key: value for key, value in network.items() if key != "horizon"}
            network |= {"context": self.config.datasets[tested_on].context}
        return {
            **network,
            "lead_times": setting["horizon"],
            "split": subset,
            "predict": predict,
            **{key: setting[key] for key in samples.settings if key in setting},
        }

    def setting(self, case: Case) -> str:
        """Name the setting of a case, such as ``horizon-30,interval-2``."""
        tested_on = case.tested_on or case.trained_on
        setting = {"horizon": self.config.datasets[tested_on].horizon}
        return setting_name(setting | case.setting.model_dump(exclude_none=True))

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
            samples = int(self.settings(model, trained_on, "predict", variant).get("samples", 1))
            if samples > 1 and not self.config.models[model].is_sampled:
                raise StpError(
                    f"prediction of {model} on {trained_on}: {samples} samples of each forecast "
                    "are asked for, but it always forecasts the same",
                    expected="samples of models that draw forecasts (is_sampled in config/models)",
                    remedy="take predict.samples out, or set it for such a model only",
                )
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

    def conventions(self, dataset: str, samples: int = 1) -> list[str]:
        """List the conventions that are scored on a dataset, the table's columns first.

        Args:
            dataset: of the test.
            samples: forecasts of each clip.

        Raises:
            StpError: a convention is not declared in config/conventions.
        """
        if (dataset, samples > 1) in self._conventions:
            return self._conventions[dataset, samples > 1]
        row = self.config.suite.datasets.get(dataset, "")
        where = (
            f"config/suites/{self.config.scale.suite}.yaml"
            if row
            else f"config/datasets/{dataset}.yaml: metrics"
        )
        wanted = [
            *(_convention(shown, where) for shown in self.columns(dataset).values()),
            *self.config.suite.also.get(row, ()),
            *(self.config.suite.ensembles.get(row, ()) if samples > 1 else ()),
            *(self.sampled_columns(dataset).values() if samples > 1 else ()),
        ]
        for convention in wanted:
            metric, _, choice = convention.partition(".")
            check_known(metric, self.config.metrics, "metric", where)
            known = self.config.metrics[metric].conventions
            check_known(choice, known, f"convention of {metric}", where)
        self._conventions[dataset, samples > 1] = list(dict.fromkeys(wanted))
        return self._conventions[dataset, samples > 1]

    def columns(self, dataset: str) -> dict[str, str]:
        """Column of a dataset's table -> what it shows, see `stp.plan.setting.read_shown`.

        On your own data they are called alike.
        """
        row = self.config.suite.datasets.get(dataset)
        if row is None:
            return {name: name for name in self.config.datasets[dataset].metrics}
        return self.config.suite.columns[row]

    def sampled_columns(self, dataset: str) -> dict[str, str]:
        """Further columns of models that draw several forecasts -> convention."""
        row = self.config.suite.datasets.get(dataset, "")
        return self.config.suite.sampled.get(row, {})

    def metric(self, convention: str) -> Metric:
        """What is known about the metric of a convention, such as ``ssim.range2``."""
        return self.config.metrics[convention.partition(".")[0]]

    def _is_higher_better(self, convention: str) -> bool | None:
        return self.metric(convention).is_higher_better(convention.partition(".")[2])

    def network(self, convention: str) -> str | None:
        """The network that a convention looks through, if it does."""
        return self.metric(convention).weights.get(convention.partition(".")[2])

    def why_unavailable(self, convention: str) -> str:
        """Why nothing is scored with a convention here; nothing if it is."""
        metric, network = self.metric(convention), self.network(convention)
        if not metric.available:
            return metric.reason
        if network is not None and network not in self._at_hand:
            return f"the weights of {network} are not there (see `stp weights`)"
        return ""

    def scored(self, dataset: str, perceptual: bool, samples: int = 1) -> list[str]:
        """List the conventions of one of a cell's two score jobs.

        Args:
            dataset: of the test.
            perceptual: those that a GPU computes, or all others.
            samples: forecasts of each clip.
        """
        key = dataset, perceptual, samples > 1
        if key not in self._scored:
            self._scored[key] = [
                name
                for name in self.conventions(dataset, samples)
                if self.metric(name).perceptual == perceptual and not self.why_unavailable(name)
            ]
        return self._scored[key]

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
        networks = sorted({network for name in conventions if (network := self.network(name))})
        weights = {name: dict(self._at_hand[name]) for name in networks}
        return {
            **({"weights": weights} if weights else {}),
            **({"interval": setting["interval"]} if "interval" in setting else {}),
            **({"statistic": statistic} if statistic else {}),
            **(
                {"higher_is_better": {name: self._is_higher_better(name) for name in conventions}}
                if statistic == "best_of_members"
                else {}
            ),
            "cell": cell,
            # The order of a table's columns is no matter of the scores.
            "conventions": sorted(conventions),
            "split": cell["subset"],
            "bootstrap": self.config.scale.bootstrap.model_dump(),
            "threads": 1,
        }


def _shape(dataset: Dataset) -> Json:
    """The shape of frames; tracks have none, and say so."""
    return {"shape": list(dataset.shape)} if dataset.samples.has_shape else {"kind": dataset.kind}


def _convention(shown: str, where: str) -> str:
    """The convention that a column shows, maybe at one threshold or lead time."""
    try:
        return read_shown(shown).convention
    except ValueError:
        raise StpError(
            f"{where}: {shown!r} is nothing that a column may show",
            expected=EXPECTED_SHOWN,
            remedy="write it so",
        ) from None


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
