"""Opinions of people about videos; a model is a measure of quality that predicts the ratings."""

from stp.options.quality import QualityOptions
from stp.tasks.task import Cores, Task


class Opinions(Task):
    """Task of predicting how people rate videos; `Task` describes the attributes."""

    name = "opinions"
    models = "stp.opinions.measures"
    sources = "stp.opinions.measures"
    cores = Cores(
        predict="stp.predict.opinions",
        score="stp.score.opinions",
        video_features="stp.features.videos",
    )
    predict_options = QualityOptions
    settings = ("components", "training")
    prepared_pictures = "stp.render.pictures.opinions"
    inspect = "stp.inspect.opinions"
    own_reader = "opinions"
    has_opinions = True

    def title_of(self, fit: str) -> str:
        """Kind of models in words: ``measure of quality``, whatever their ``fit``."""
        return "measure of quality"


TASK = Opinions()
