"""What all tasks have in common, and how one is found by its name (``kind:`` of a dataset)."""

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import ClassVar, NamedTuple, TypeAlias

from stp.core.json_files import Json
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


class Fit(NamedTuple):
    """One way to fit models.

    Attributes:
        core: the module that fits them.
        options: what a recipe may set; None: nothing.
        given: the module that fits them where weights are given; None: they cannot be.
    """

    core: str
    options: Options | None = None
    given: str | None = None


@dataclass(frozen=True, kw_only=True)
class Cores:
    """The module of each stage, by name; None: the task has no such stage.

    Attributes:
        predict, score: of these stages.
        imported: imports predictions made elsewhere.
        rollout: scores forecasts without storing them; None: all are stored.
        read: scores forecasts while it reads them; None: none are read, or they are stored as
            predictions.
        video_features: lets a network look at the prepared data of a dataset, for models that name
            a ``network``.
        features, features_rollout, features_read: compute network features of stored clips, of
            forecasts that are made and not stored, and of those that are read.
    """

    predict: str
    score: str
    imported: str | None = None
    rollout: str | None = None
    read: str | None = None
    video_features: str | None = None
    features: str | None = None
    features_rollout: str | None = None
    features_read: str | None = None


class Task(ABC):
    """What is forecast: frames of a video or of fields, tracks of people, ratings of videos.

    Attributes:
        name: what datasets and models are declared with (``kind:``).
        models: the package with a module for each model.
        model_class: the class in such a module whose arguments are the options of the model.
        sources: the package with a module for each place that forecasts are read from, or for what
            several models share; None if there is none.
        cores: the modules of the stages.
        fits: ``fit`` of a model -> how it is fitted; models of any other are not fitted here.
        predict_options: what a recipe of predictions may set.
        settings: keys of a setting, besides the horizon, that change how forecasts are made.
        protocols: subsets that all datasets have: name -> title. A cell names one of them.
        has_shape: samples of a dataset have one shape: channels, height and width.
        on_gpu: networks use GPUs, and a training may use several processes.
        is_light: all jobs take seconds and store little.
        pictures: how forecasts are drawn: ``strips`` of frames, ``trajectories`` over a map, or
            ``none``.
        prepared_pictures: the module whose ``draw_prepared`` draws prepared data.
        inspect: the module that counts and describes a dataset (`stp.inspect.descriptions.About`).
        own_reader: the reader of everybody's own files.
        has_scenarios: samples are scenarios that a protocol cuts out of recordings, so that
            ``stp leak`` can measure how much of the future it shows.
        names_training: tables name what a model was fitted on beside the model, and compare all
            models that are tested alike; else what it was trained on is part of the evaluation.
        counts_people: receipts of predictions count scenarios, people and episodes.
        has_person_errors: scores hold the error of each person at each lead time.
        has_opinions: scores hold the predicted and observed opinion of each video of each split.
        has_runtime: predictions hold how long they took.
    """

    name: ClassVar[str]
    models: ClassVar[str]
    model_class: ClassVar[str] = "Model"
    sources: ClassVar[str | None] = None
    cores: ClassVar[Cores]
    fits: ClassVar[Mapping[str, Fit]] = {}
    predict_options: ClassVar[Options]
    settings: ClassVar[Sequence[str]] = ()
    protocols: ClassVar[Mapping[str, str]] = {}
    has_shape: ClassVar[bool] = False
    on_gpu: ClassVar[bool] = False
    is_light: ClassVar[bool] = True
    pictures: ClassVar[str] = "none"
    prepared_pictures: ClassVar[str]
    inspect: ClassVar[str]
    own_reader: ClassVar[str]
    has_scenarios: ClassVar[bool] = False
    names_training: ClassVar[bool] = False
    counts_people: ClassVar[bool] = False
    has_person_errors: ClassVar[bool] = False
    has_opinions: ClassVar[bool] = False
    has_runtime: ClassVar[bool] = False

    def shape_recipe(self, shape: Sequence[int]) -> Json:
        """The fields of a recipe that describe a dataset's samples."""
        return {"shape": shape} if self.has_shape else {"kind": self.name}

    @abstractmethod
    def title_of(self, fit: str) -> str:
        """What lists of models call one that is fitted in a way."""

    def takes_class(self, fit: str) -> bool:
        """May ``class`` of a model name a class of another module?"""
        return False

    def is_profiled(self, fit: str) -> bool:
        """Does ``stp profile`` count and time a model that is fitted in a way?"""
        return False

    def seconds_per_step(self, options: Json) -> float | None:
        """Seconds between two positions, from options of a reader; None: nobody asks."""
        return None


@functools.cache
def names() -> list[str]:
    """The tasks that there are."""
    here = Path(__file__).parent
    return sorted(path.stem for path in here.glob("[a-z]*.py") if path.stem != "task")


@functools.cache
def find(name: str) -> Task:
    """Find a task by its name, one of `names`."""
    task: Task = import_module(f"stp.tasks.{name}").TASK
    return task
