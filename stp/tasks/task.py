"""The base class of tasks (what a model predicts), and their lookup by name.

The name is ``frames``, ``tracks`` or ``opinions``. In the configuration of a dataset, it is the
value of the key ``kind``.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import ClassVar, NamedTuple

from stp.core.json_files import Json
from stp.core.options import Options


class Fit(NamedTuple):
    """One way to fit models, such as gradient descent.

    Attributes:
        core: full name of the module whose function ``run`` fits a model.
        options: class of the options of a training run in a recipe; None without options.
        given: full name of the module that uses given weights instead of a training run; None if
            models cannot have given weights.
    """

    core: str
    options: type[Options] | None = None
    given: str | None = None


@dataclass(frozen=True, kw_only=True)
class Cores:
    """Full names of the modules whose function ``run`` does the work of a stage, for one task.

    None stands for work that the task does not have.

    Attributes:
        predict, score: modules that predict samples, and score stored predictions.
        imported: module that imports predictions made elsewhere.
        rollout: module that computes forecasts and scores them without storing them.
        read: module that reads forecasts and scores them without storing them.
        video_features: module that computes network features of the prepared data, for models with
            a ``network``.
        features, features_rollout, features_read: modules that compute network features of stored
            clips, of forecasts that are computed and not stored, and of forecasts that are read.
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
    """Base class of tasks: frames of a video or of fields, tracks of people, or ratings of videos.

    A task says which modules do the work of each stage, and how tasks differ.

    Attributes:
        name: name of the task, such as ``frames``; in configuration files of datasets and models,
            it is the value of the key ``kind``.
        models: package with a module for each model.
        model_class: class in such a module whose arguments are the options of the model.
        sources: package of the modules that models name as ``source``; None if they name none. For
            ``frames``, such a module reads forecasts in place of computing them. For ``opinions``,
            it computes a measure of quality that has another name than the module.
        cores: modules of the stages.
        fits: how models are fitted, by the ``fit`` of a model; models with another ``fit`` are not
            fitted.
        predict_options: options of predictions in a recipe.
        settings: keys of a setting (what an evaluation changes of a dataset's protocol) that change
            forecasts, such as ``noise``; the horizon, which all tasks have, is not among them.
        protocols: for ``tracks``, titles of the protocols by which scenarios are cut, by name, such
            as ``strict``. The subset that a cell is tested on is named after one of them. Empty for
            other tasks, whose datasets declare their own subsets.
        has_shape: whether samples have a shape: channels, height and width.
        on_gpu: whether networks use GPUs, and a training run may use several processes.
        is_light: whether each job takes only seconds and stores little.
        pictures: drawings of forecasts: ``strips`` of frames, ``trajectories`` over a map, or
            ``none``.
        prepared_pictures: module whose ``draw_prepared`` draws prepared data.
        inspect: module that counts and describes a dataset
            (`stp.inspect.descriptions.DatasetDescriber`).
        own_reader: ``reader`` of datasets made of a user's own files.
        has_scenarios: whether samples are scenarios that a protocol cuts from recordings, so that
            ``stp check leak`` can measure whether observed positions depend on the future.
        names_training: whether tables name the training data beside the model, and compare all
            models with the same test data. Otherwise the training data are part of the evaluation,
            and only models with the same training data are compared.
        counts_people: whether the facts about predictions (in their receipts) count scenarios,
            people and episodes.
        has_person_errors: whether scores have the error of each person at each lead time.
        has_opinions: whether scores have the predicted and observed opinion of each video of each
            split.
        has_runtime: whether predictions have their runtimes.
    """

    name: ClassVar[str]
    models: ClassVar[str]
    model_class: ClassVar[str] = "Model"
    sources: ClassVar[str | None] = None
    cores: ClassVar[Cores]
    fits: ClassVar[Mapping[str, Fit]] = {}
    predict_options: ClassVar[type[Options]]
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
        """The fields of a recipe that describe the samples: ``shape`` or, without one, ``kind``.

        Args:
            shape: channels, height and width of a sample; unused by tasks without `has_shape`.
        """
        return {"shape": shape} if self.has_shape else {"kind": self.name}

    @abstractmethod
    def title_of(self, fit: str) -> str:
        """Name the kind of a model in words, such as ``baseline``, for lists of models.

        Args:
            fit: how the model is fitted, as in its configuration: ``none``, ``calibrate``, ``sgd``
                (gradient descent), ...
        """

    def takes_class(self, fit: str) -> bool:
        """Whether the class of a model with this ``fit`` may come from another package."""
        return False

    def is_profiled(self, fit: str) -> bool:
        """Whether ``stp profile`` measures models with this ``fit``."""
        return False

    def seconds_per_step(self, options: Json) -> float | None:
        """Seconds between two positions of a person; None for samples without positions.

        Args:
            options: options of the reader of a dataset.
        """
        return None


@functools.cache
def names() -> list[str]:
    """Names of all tasks: ``frames``, ``opinions`` and ``tracks``."""
    modules = Path(__file__).parent.glob("[a-z]*.py")
    return sorted(path.stem for path in modules if path.stem != "task")


@functools.cache
def find(name: str) -> Task:
    """Find a task by its name, one of `names`."""
    task: Task = import_module(f"stp.tasks.{name}").TASK
    return task
