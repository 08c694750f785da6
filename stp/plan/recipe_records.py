"""Recipes of preparations, training runs and forecasts, as the plan builds them.

A recipe has all settings of one artefact (a folder that one job writes).
`stp.core.options.as_json` serialises them for cores and fingerprints, without fields that have
their default. Anything with a meaningful order is a list, because JSON objects are sorted by key.
Recipes of scores and features are `stp.options.score.ScoreOptions` and
`stp.options.features.FeatureOptions`, which their cores parse.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from stp.core.json_files import Json


@dataclass(frozen=True, kw_only=True)
class PrepareRecipe:
    """Recipe of a prepared dataset.

    Attributes:
        dataset: name of the dataset.
        reader: ``reader`` of the dataset's entry: name of the module that reads the raw files.
        release: name of the release of the raw files.
        source: origin of the release: official, sample, synthetic or own.
        context: number of context frames, or of observed positions.
        horizon: number of frames, or of positions, to predict.
        units: units of the values.
        options: options of the reader.
        shape: channels, height and width of a frame; None for tracks and opinions.
        kind: name of the task, ``tracks`` or ``opinions``; None for frames, since their recipes are
            known by the shape.
    """

    dataset: str
    reader: str
    release: str
    source: str
    context: int
    horizon: int
    units: str
    options: Json
    shape: Sequence[int] | None = None
    kind: str | None = None


@dataclass(frozen=True, kw_only=True)
class NetworkRecipe:
    """A model with its options, and the form of the samples it is built for.

    Attributes:
        model: name of the model.
        class_: ``package.module:Class``; None for the class in the task's own module of that name.
        options: options of the model.
        context: number of context frames, or of observed positions.
        horizon: number of frames, or of positions, to predict in training. None in recipes of
            predictions of tracks and opinions, which do not depend on it, and of imported
            predictions.
        shape: channels, height and width of a frame; None for tracks and opinions.
        kind: name of the task, ``tracks`` or ``opinions``; None for frames, since their recipes are
            known by the shape.
        channels: name patterns of the channels that the model gets as input and forecasts; empty
            for all.
    """

    model: str
    class_: str | None = None
    options: Json
    context: int
    horizon: int | None = None
    shape: Sequence[int] | None = None
    kind: str | None = None
    channels: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TrainRecipe(NetworkRecipe):
    """Recipe of a trained model.

    Attributes:
        fit: kind of training: ``closed_form`` (one pass over the data), ``sgd`` (gradient descent)
            or ``calibrate`` (a search over parameters).
        seed: seed of the training; None if nothing is drawn.
        train: settings of the training, such as the learning rate, which depend on task and fit.
        weights: use of pretrained weights, ``initialise`` or ``replace``; None without pretrained
            weights.
        lead: the only lead time that the model forecasts; None for all lead times of the horizon.
        train_subset: ``all`` training clips, or the name of a training subset.
    """

    fit: str
    seed: int | None
    train: Json
    weights: str | None = None
    lead: int | None = None
    train_subset: str = "all"


@dataclass(frozen=True, kw_only=True)
class PredictRecipe(NetworkRecipe):
    """Recipe (settings) of the forecasts of all clips of a split or test subset.

    The fields from `interval` to `training` are None unless the cell's setting has a value of them.

    Attributes:
        lead_times: last lead time of a forecast, from 1.
        split: split or subset of the tested dataset.
        predict: settings of the prediction, such as the batch size, which depend on the task.
        leads: lead times that the model forecasts, in ascending order; empty for all.
        per_lead: whether there is one network for each of `leads`.
        interpolated: whether forecasts of the lead times between `leads` are interpolated.
        interval: spacing of the frames of a clip, as a multiple of the spacing in training; None
            for 1.
        update: number of the training update whose weights are used; None for the weights with the
            best validation error.
        intensity: index of the intensity of a distortion, from 1; None for other models.
        observe: number of observed positions of each person; None for `context`.
        noise: standard deviation of the noise on observed positions, in millimetres; None for no
            noise.
        people: minimum number of people in a scenario; None for the minimum that the dataset is
            prepared with.
        components: maximum number of principal components of a regression of opinions; None for the
            one in `predict`.
        training: number of training videos as a percentage of all videos; None for all training
            videos.
        source: name of the module that reads forecasts, or computes a measure of quality; None for
            other models, and for measures in the module with the model's name.
        submission: for imported predictions, ``windows``: the checksum of the predicted windows;
            None for other predictions.
    """

    lead_times: int
    split: str
    predict: Json
    leads: tuple[int, ...] = ()
    per_lead: bool = False
    interpolated: bool = False
    interval: int | None = None
    update: int | None = None
    intensity: int | None = None
    observe: int | None = None
    noise: int | None = None
    people: int | None = None
    components: int | None = None
    training: int | None = None
    source: str | None = None
    submission: Json | None = None
