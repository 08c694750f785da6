"""Compute the work, memory and result size of jobs, without torch and without data.

They follow from recipes and facts (clips of a dataset, size of a network). The work of networks is
measured in 10^9 multiply-adds, and all other work in MB (10^6 bytes) or 10^6 values.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from stp.options.predict import PredictOptions
from stp.options.train import TrainOptions
from stp.plan.artefacts import Artefact, Raw
from stp.plan.cells import Plan
from stp.plan.model import Size
from stp.run.costs.facts import FLOAT, MB, Facts, stored_frame_mb

TRAINING = 3
"""Work of a training step in forecasts: one for the forward pass, two for the backward pass."""

# Facts are about Moving-MNIST, 10 -> 10 frames of 1 x 64 x 64. Fitted to the multiply-adds of
# ConvLSTM and SimVPv2, counted for the shapes of all 14 datasets: within 7 %, but for SimVPv2 on
# the 69 channels of WeatherBench (35 % high).
REFERENCE_PIXELS = 64 * 64
REFERENCE_STEPS = 19
REFERENCE_CONTEXT = 10
REFERENCE_LEADS = 10
PER_CHANNEL = 0.005
"""Share of a network's work that each further channel of a frame adds. It is small, as only the
first and the last layer see these channels, and the other layers are far wider."""
PASS_SHARE = 0.5
"""Share of the work of a pass that does not depend on its number of context frames."""


LOOK_GMACS = 1.74
"""10^9 multiply-adds of I3D per frame of 224 x 224 in clips of 16 frames, counted from the
module."""
LOOK_PIXELS = 224 * 224
LOOK_FEATURES = 400
LOOK_MB = 800.0
"""Memory in MB of a block of clips in the first layers of I3D: 32 frames of 25 MB."""
TRIAL_MB = 20.0
"""Work of a trial of a calibration, in MB of processed frames: about 0.1 s."""
PEOPLE_MB = 10.0
"""Assumed size of a table of people, in MB."""


@dataclass(frozen=True)
class Work:
    """Amount of work of a job, with its sizes in memory and on disk.

    Attributes:
        rate: name of the rate in config/costs.yaml by which `amount` is divided.
        amount: amount of work, in the unit of `rate`.
        reading_mb: size of the stored frames that the job reads, in MB.
        bytes: size of the result in bytes.
        batch_mb: size of the data that the job has in memory at once, in MB: usually a batch of
            float32 frames; in a preparation, at most all raw and prepared data.
        weights_mb: size of the weights of the network, in MB.
        activations_mb: size of the activations for the backward pass, for the clips computed at
            once, in MB.
        is_counted: whether activations were counted on the network, rather than assumed.
        gpu_gmacs_per_s: speed of the network on a GPU, in 10^9 multiply-adds per second; None if
            the configuration has none.
        scored_mvalues: number of predicted values that the job scores, times the number of
            conventions, in 10^6.
        block_mb: size of the float32 frames that are scored together, in MB, if forecasts are
            scored in the job that makes them; else 0.
        trained: number of training clips, times the number of epochs; 0 for other jobs.
        validated: number of validation clips, times the number of validations; 0 for other jobs.
        forecasts: number of forecasts; a forecast over n times the horizon of the training counts n
            times.
        unknown: assumptions for missing facts, in words.
    """

    rate: str
    amount: float
    reading_mb: float = 0.0
    bytes: float = 0.0
    batch_mb: float = 0.0
    weights_mb: float = 0.0
    activations_mb: float = 0.0
    is_counted: bool = False
    gpu_gmacs_per_s: float | None = None
    scored_mvalues: float = 0.0
    block_mb: float = 0.0
    trained: float = 0.0
    validated: float = 0.0
    forecasts: float = 0.0
    unknown: tuple[str, ...] = ()


class Workload:
    """Computes the amount of work of all jobs of a plan, from which their durations are estimated.

    The amount is measured in multiply-adds of networks, or in MB of data; see `Work`.

    Args:
        plan: the plan.
        facts: facts about the datasets and models of the plan.
        per_gmac, per_mb: constants from which the memory of a clip's activations is estimated for
            models whose activations were not counted: ``per_gmac`` x (10^9 multiply-adds of a
            forecast) + ``per_mb`` x (MB of a clip's float32 frames), in MB.
    """

    def __init__(self, plan: Plan, facts: Facts, per_gmac: float, per_mb: float) -> None:
        self.plan, self.facts = plan, facts
        self.per_gmac, self.per_mb = per_gmac, per_mb

    def of(self, artefact: Artefact) -> Work:
        """Compute how much the job that makes an artefact has to do, and the sizes it handles.

        Returns:
            the amount of work: multiply-adds of networks, MB of frames, or scored values; and sizes
            in memory and on disk. See `Work`.
        """
        if artefact.kind.is_light:
            return self._light(artefact)
        work: Work = getattr(self, f"_{artefact.stage}")(artefact)
        return work

    def of_raw(self, raw: Raw) -> Work:
        """Compute the work of fetching raw files: their size, downloaded or generated.

        The size of generated files is taken from the prepared data.
        """
        raw_mb, unknown = self.facts.raw_mb(raw)
        rate = "generate_mb" if raw.declared.generator else "download_mb"
        own_paths = _paths(raw)
        # Files of several releases together, as of a multi-model mean, are stored once.
        shared = {path for paths in self._release_paths if paths < own_paths for path in paths}
        stored_bytes = 0.0 if own_paths and own_paths <= shared else raw_mb * MB
        return Work(rate, raw_mb, bytes=stored_bytes, unknown=unknown)

    @cached_property
    def _release_paths(self) -> set[frozenset[str]]:
        """Paths of the raw files of each release that the plan reads."""
        read = (
            value for artefact in self.plan.artefacts.values() for value in artefact.inputs.values()
        )
        return {_paths(raw) for raw in read if isinstance(raw, Raw)}

    def _prepare(self, artefact: Artefact) -> Work:
        raw = artefact.inputs["raw"]
        assert isinstance(raw, Raw)
        prepared = self.facts.prepared_mb(artefact)
        raw_mb, unknown = self.facts.raw_mb(raw)
        return Work(
            "prepare_mb",
            raw_mb + prepared,
            bytes=prepared * MB,
            batch_mb=raw_mb + prepared,
            unknown=unknown + self.facts.clips(artefact).assumed,
        )

    def _light(self, artefact: Artefact) -> Work:
        """The work of jobs on tracks and opinions, which take only seconds."""
        trials = artefact.recipe.get("train", {}).get("trials", 0)
        return Work(
            "frames_mb",
            TRIAL_MB * trials,
            bytes=PEOPLE_MB * MB,
            batch_mb=PEOPLE_MB,
            unknown=(f"{artefact.kind.name}: seconds, or minutes of calibration or networks",),
        )

    def _train(self, artefact: Artefact) -> Work:
        recipe, data = artefact.recipe, _data(artefact)
        name, train = data.recipe["dataset"], recipe["train"]
        counts, unknown = self.facts.clips(data)
        clips = min(counts["train"], train.get("max_clips") or counts["train"])
        clip_mb = _values(recipe, recipe["context"] + recipe["horizon"]) * FLOAT / MB
        if recipe.get("weights") == "replace":
            return Work("frames_mb", 0, bytes=0, unknown=unknown)
        if recipe["fit"] != "sgd":  # one pass over the training clips
            return Work("frames_mb", clips * clip_mb, bytes=clip_mb * MB, unknown=unknown)
        size, assumed = self.facts.size(recipe["model"], name)
        batch = min(train.get("batch_size", TrainOptions.batch_size), max(clips, 1))
        epochs = train.get("epochs", TrainOptions.epochs)
        if "iterations" in train:
            epochs = train["iterations"] * batch / max(clips, 1)
        trained_clips = epochs * clips
        validated = min(counts["val"], train.get("max_val_clips") or counts["val"])
        validated *= epochs / train.get("validate_every", TrainOptions.validate_every)
        gmacs = forecast_gmacs(size, recipe, 1 if size.steps == "told" else recipe["horizon"])
        activations = size.activations_mb
        if activations is None:
            activations = self.per_gmac * gmacs + self.per_mb * clip_mb
        else:
            activations *= gmacs / max(size.gmacs, 1e-9)
        at_once = min(batch, self.plan.config.scale.runtime.get("micro_batch") or batch)
        dataset = self.plan.config.datasets[name]
        frames_of_clip = recipe["context"] + recipe["horizon"]
        # Training of a network with the lead time as input reads one day of the future.
        trained = recipe["context"] + 1 if size.steps == "told" else frames_of_clip
        frames = trained * trained_clips + frames_of_clip * validated
        return Work(
            "gpu_gmacs" if self.plan.gpus(artefact) else "cpu_gmacs",
            gmacs * (TRAINING * trained_clips + validated),
            reading_mb=0.0 if dataset.virtual_clips else frames * stored_frame_mb(dataset),
            bytes=size.parameters * FLOAT * (1 + len(train.get("snapshots", ()))),
            batch_mb=batch * clip_mb,
            weights_mb=size.parameters * FLOAT / MB,
            activations_mb=at_once * activations,
            is_counted=size.activations_mb is not None,
            gpu_gmacs_per_s=size.gpu_gmacs_per_s,
            trained=trained_clips,
            validated=validated,
            unknown=unknown + assumed,
        )

    def _predict(self, artefact: Artefact) -> Work:
        recipe, data = artefact.forecast, _data(artefact)
        assert recipe is not None
        counts, unknown = self.facts.clips(data)
        clips, leads = counts[recipe["split"]], _leads(recipe)
        samples = _members(recipe)
        clip_mb = _values(recipe, recipe["context"] + samples * leads) * FLOAT / MB
        common: dict[str, Any] = {
            "bytes": clips * samples * _values(recipe, leads) * FLOAT,
            "batch_mb": recipe["predict"].get("batch_size", PredictOptions.batch_size) * clip_mb,
        }
        if self.plan.config.models[recipe["model"]].fit != "sgd":
            return Work("frames_mb", clips * clip_mb, unknown=unknown, **common)
        model = next(
            artefact_input
            for artefact_input in artefact.inputs.values()
            if isinstance(artefact_input, Artefact) and artefact_input.stage == "train"
        )
        size, assumed = self.facts.size(recipe["model"], _data(model).recipe["dataset"])
        if recipe.get("per_lead"):  # a network for each, of one frame
            gmacs = len(recipe["leads"]) * forecast_gmacs(size, recipe, 1)
        else:
            gmacs = forecast_gmacs(size, recipe, max(recipe.get("leads", [recipe["lead_times"]])))
        in_training = forecast_gmacs(size, model.recipe, model.recipe["horizon"])
        once = size.once_gmacs / max(size.gmacs, 1e-9)
        evaluations = once + (1 - once) * size.evaluations
        return Work(
            "gpu_gmacs" if self.plan.gpus(artefact) else "cpu_gmacs",
            clips * samples * gmacs * evaluations,
            reading_mb=clips * clip_mb,
            weights_mb=size.parameters * FLOAT / MB,
            gpu_gmacs_per_s=size.gpu_gmacs_per_s,
            forecasts=clips * samples * gmacs / max(in_training, 1e-9),
            unknown=unknown + assumed,
            **common,
        )

    def _score(self, artefact: Artefact) -> Work:
        recipe, data = artefact.recipe, _data(artefact)
        predicted = artefact.inputs.get("predictions")
        forecast = predicted.forecast if isinstance(predicted, Artefact) else artefact.forecast
        assert forecast is not None
        counts, unknown = self.facts.clips(data)
        clips, leads = counts[forecast["split"]], _leads(forecast)
        samples = _members(forecast)
        values = samples * _values(forecast, leads)
        conventions = len(recipe["conventions"])
        amount, block_mb = clips * values * conventions / 1e6, values * FLOAT / MB
        written = 2 * clips * leads * conventions * 8  # bytes for samples and for clusters
        if artefact.is_rollout:
            forecasting = self._predict(artefact)
            keep = recipe.get("keep", 0)
            stored = len(keep) if isinstance(keep, list) else keep
            written += min(stored, clips) * values * FLOAT
            archive = artefact.inputs.get("archive")
            if isinstance(archive, Raw):  # read once to list its contents, and once for the scores
                # A correction reads it as often for the years before the test.
                times = 4 if artefact.recipe["rollout"]["options"].get("corrected_on") else 2
                forecasting = replace(
                    forecasting, reading_mb=times * self.facts.raw_mb(archive).value
                )
            return replace(forecasting, bytes=written, scored_mvalues=amount, block_mb=block_mb)
        return Work("score_mvalues", amount, bytes=written, batch_mb=block_mb, unknown=unknown)

    def _features(self, artefact: Artefact) -> Work:
        recipe, data = artefact.recipe, _data(artefact)
        counts, unknown = self.facts.clips(data)
        clips, frames = counts[recipe["split"]], _leads(recipe)
        gmacs = LOOK_GMACS
        if recipe.get("seed") is not None:  # frames keep their size
            gmacs *= math.prod(data.recipe["shape"][1:]) / LOOK_PIXELS
        features = Work(
            "gpu_gmacs" if self.plan.gpus(artefact) else "cpu_gmacs",
            clips * frames * gmacs,
            bytes=clips * LOOK_FEATURES * 8,
            batch_mb=LOOK_MB,
            unknown=(*unknown, "every network that looks at clips is taken for I3D"),
        )
        if not artefact.is_rollout:
            return features
        forecasting = self._predict(artefact)
        if forecasting.rate != features.rate:  # without a network, forecasts take little time
            return features
        return replace(
            features, amount=features.amount + forecasting.amount, reading_mb=forecasting.reading_mb
        )


def forecast_gmacs(size: Size, recipe: Mapping[str, Any], leads: int) -> float:
    """Estimate the multiply-adds, in 10^9, of a forecast that evaluates the network once.

    The declared number is scaled by the frames, pixels and channels of the dataset.

    Args:
        size: declared costs of the network, on Moving-MNIST.
        recipe: recipe with ``shape`` (channels, height, width) and ``context``.
        leads: number of lead times of the forecast.
    """
    channels, height, width = recipe["shape"]
    context = recipe["context"]
    if size.steps == "pass":
        frames = PASS_SHARE + (1 - PASS_SHARE) * context / REFERENCE_CONTEXT
        frames *= math.ceil(leads / context)
    elif size.steps in ("lead", "told"):
        frames = leads / REFERENCE_LEADS
    else:
        frames = (context + leads - 1) / REFERENCE_STEPS
    pixels = height * width / REFERENCE_PIXELS
    return float(size.gmacs or 0) * frames * pixels * (1 + PER_CHANNEL * (channels - 1))


def _paths(raw: Raw) -> frozenset[str]:
    return frozenset(file.path for file in raw.declared.files)


def _data(artefact: Artefact) -> Artefact:
    data = artefact.inputs["data"]
    assert isinstance(data, Artefact)
    return data


def _leads(forecast: dict[str, Any]) -> int:
    leads = forecast.get("leads") or range(forecast["lead_times"])
    return leads[-1] - leads[0] + 1 if forecast.get("interpolated") else len(leads)


def _members(forecast: dict[str, Any]) -> int:
    return max(forecast["predict"].get(key, 1) for key in ("samples", "trainings"))


def _values(recipe: Mapping[str, Any], frames: int) -> int:
    channels, height, width = recipe["shape"]
    return int(frames * channels * height * width)
