"""Tracks: positions of people; a model predicts the paths of all people who are present."""

from collections.abc import Mapping
from typing import ClassVar

from stp.options.calibrate import CalibrationOptions, FittingOptions
from stp.options.predict_tracks import MotionOptions
from stp.options.protocols import PROTOCOLS
from stp.tasks.task import Cores, Fit, Json, Task


class Tracks(Task):
    """Task of predicting paths of people; `Task` describes the attributes.

    Predictors are calibrated (their parameters are searched), trained by gradient descent, or not
    fitted at all.
    """

    name = "tracks"
    models = "stp.tracks.predictors"
    model_class = "Parameters"
    cores = Cores(predict="stp.predict.motion", score="stp.score.motion")
    fits: ClassVar[Mapping[str, Fit]] = {
        "calibrate": Fit("stp.train.calibrated", CalibrationOptions),
        "sgd": Fit("stp.train.calibrated", FittingOptions),
    }
    predict_options = MotionOptions
    settings = ("observe", "noise", "people")
    protocols: ClassVar[Mapping[str, str]] = {
        name: protocol.title for name, protocol in PROTOCOLS.items()
    }
    pictures = "trajectories"
    prepared_pictures = "stp.render.pictures.tracks"
    inspect = "stp.inspect.tracks"
    own_reader = "tracks"
    has_scenarios = True
    names_training = True
    counts_people = True
    has_person_errors = True
    has_runtime = True

    def title_of(self, fit: str) -> str:
        """Kind of models in words: ``predictor of people``, whatever their ``fit``."""
        return "predictor of people"

    def seconds_per_step(self, options: Json) -> float:
        """Seconds between two positions, from their spacing (``dt``) or frame rate (``fps``)."""
        step = float(options.get("dt") or options.get("step", 1) / options["fps"])
        return round(step * int(options.get("decimate", 1)), 6)


TASK = Tracks()
