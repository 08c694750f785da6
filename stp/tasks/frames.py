"""Frames of video, maps or fields; a model predicts the next frames from a few observed ones."""

from collections.abc import Mapping
from typing import ClassVar

from stp.options.predict import PredictOptions
from stp.options.train import TrainOptions
from stp.tasks.task import Cores, Fit, Task


class Frames(Task):
    """Task of predicting frames; `Task` describes the attributes.

    Models are fitted in one pass over the training clips (``closed_form``), by gradient descent
    (``sgd``), or not at all.
    """

    name = "frames"
    models = "stp.models"
    sources = "stp.predict.sources"
    cores = Cores(
        predict="stp.predict.run",
        score="stp.score.run",
        imported="stp.predict.imported",
        rollout="stp.score.rollout",
        read="stp.score.read",
        features="stp.features.run",
        features_rollout="stp.features.rollout",
        features_read="stp.features.read",
    )
    fits: ClassVar[Mapping[str, Fit]] = {
        "closed_form": Fit("stp.train.run"),
        "sgd": Fit("stp.train.run", TrainOptions, "stp.train.pretrained"),
    }
    predict_options = PredictOptions
    settings = ("interval", "update", "intensity")
    has_shape = True
    on_gpu = True
    is_light = False
    pictures = "strips"
    prepared_pictures = "stp.render.pictures.prepared"
    inspect = "stp.inspect.clips"
    own_reader = "own.reader"

    def title_of(self, fit: str) -> str:
        """Kind of models in words: ``trained network`` if fitted by gradient descent.

        All other models, whatever their ``fit``, are a ``baseline``.
        """
        return "trained network" if fit == "sgd" else "baseline"

    def takes_class(self, fit: str) -> bool:
        """Whether the class of a model with this ``fit`` may come from another package.

        It may for trained networks and for models that are not fitted.
        """
        return fit in ("none", "sgd")

    def is_profiled(self, fit: str) -> bool:
        """Whether ``stp profile`` measures models with this ``fit``: only trained networks."""
        return fit == "sgd"


TASK = Frames()
