"""The form of an entry of this room, and how one is found by its name."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from stp.options.calibrate import CalibrationOptions, FittingOptions
from stp.options.predict import PredictOptions
from stp.options.predict_tracks import MotionOptions
from stp.options.quality import QualityOptions
from stp.options.train import TrainOptions

Options: TypeAlias = (
    type[TrainOptions]
    | type[CalibrationOptions]
    | type[FittingOptions]
    | type[PredictOptions]
    | type[MotionOptions]
    | type[QualityOptions]
)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of sample.

    Attributes:
        name: what datasets and models are declared with.
        models: the package with a module for each model of this kind.
        has_classes: ``class`` of a model may name a class of another module.
        options: the class in such a module whose arguments are the options of the model.
        train: ``fit`` of a model -> the core that fits it.
        train_options: ``fit`` of a model -> the options that a recipe may set; others have none.
        predict, score: the cores of these stages.
        predict_options: the options that a recipe of predictions may set.
        imported: the core that imports predictions made elsewhere; None if there is none.
        rollout: the core that scores forecasts without storing them; None: all are stored.
        read: the core that scores forecasts while it reads them; None if none are, or if what is
            read is stored as predictions.
        sources: the package with a module for each place that forecasts are read from, or for what
            several models share; None if there is none.
        video_features: the core that lets a network look at the prepared data of a dataset, for
            models that name a `network`; None if there are none.
        features, features_rollout, features_read: the cores that compute network features of stored
            clips, of forecasts that are made and not stored, and of those that are read; None if no
            metric of this kind uses features.
        settings: keys of a setting, besides the horizon, that change how forecasts are made.
        has_shape: samples of a dataset have one shape, channels, height and width.
        trained_context: the number of context frames is that of the training dataset, not that of
            the test dataset.
        on_gpu: its networks use GPUs, and a training may use several processes.
        is_light: all its jobs take seconds and store little.
        pictures: how forecasts are drawn: ``strips`` of frames, ``trajectories`` over a map, or
            ``none``.
        prepared_pictures: the module whose ``draw_prepared`` draws prepared data.
        inspect: the module of ``stp.inspect`` that counts and describes a dataset.
        own_reader: the reader of everybody's own files.
        is_surveyed: its readers count what is in a dataset while they prepare it.
        protocols: subsets that all its datasets have: name -> title. A cell names one of them.
        has_scenarios: samples are scenarios that a protocol cuts out of recordings, so that
            ``stp leak`` can measure how much of the future it shows.
        has_steps: the options of readers state the seconds between two positions (``dt``, or
            ``fps``), and tables state the numbers of observed and predicted positions.
        names_training: tables name what a model was fitted on beside the model, and compare all
            models that are tested alike; else what it was trained on is part of the evaluation.
        counts_people: receipts of predictions count scenarios, people and episodes.
        has_person_errors: scores hold the error of each person at each lead time.
        has_opinions: scores hold the predicted and observed opinion of each video of each split.
        has_runtime: predictions hold how long they took.
        is_profiled: ``stp profile`` counts and times its networks.
        model_title: what lists of models call one that is not trained by gradient descent.
        network_title: what they call one that is.
    """

    name: str
    models: str
    train: Mapping[str, str]
    train_options: Mapping[str, Options]
    predict: str
    score: str
    predict_options: Options
    imported: str | None = None
    options: str = "Model"
    has_classes: bool = False
    rollout: str | None = None
    read: str | None = None
    sources: str | None = None
    features: str | None = None
    features_rollout: str | None = None
    features_read: str | None = None
    video_features: str | None = None
    settings: tuple[str, ...] = ()
    has_shape: bool = True
    trained_context: bool = True
    on_gpu: bool = True
    is_light: bool = False
    pictures: str = "strips"
    prepared_pictures: str
    inspect: str
    own_reader: str
    is_surveyed: bool = False
    protocols: tuple[tuple[str, str], ...] = ()
    has_scenarios: bool = False
    has_steps: bool = False
    names_training: bool = False
    counts_people: bool = False
    has_person_errors: bool = False
    has_opinions: bool = False
    has_runtime: bool = False
    is_profiled: bool = False
    model_title: str = "baseline"
    network_title: str = "trained network"

    @property
    def modules(self) -> list[str]:
        """All cores, for tests that resolve the names."""
        found = [*self.train.values(), self.predict, self.score, self.imported, self.rollout]
        found += [self.features, self.features_rollout, self.features_read, self.read]
        found += [self.video_features]
        return sorted({name for name in found if name})


@functools.cache
def names() -> list[str]:
    """The kinds that there are."""
    here = Path(__file__).parent
    return sorted(path.stem for path in here.glob("[a-z]*.py") if path.stem != "kind")


@functools.cache
def find(name: str) -> Kind:
    """Find a kind by its name, one of `names`."""
    kind: Kind = import_module(f"stp.kinds.{name}").KIND
    return kind
