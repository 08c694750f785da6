"""Read keys of questionnaires, which list the model or video behind each choice.

Pages of a questionnaire name no models, so answers can be read only with its key.
"""

import json
import math
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal, TypeVar

from pydantic import model_validator

from stp.core.errors import FileError
from stp.plan.checked_config import Strict, check
from stp.studies.options import BestOf, Item, Pairs, Ratings

NONE = "none"
"""The choice of a rater who cannot tell."""

Kind = Literal["equal", "spread", "gap"]
"""How the models of a group are chosen."""

REMEDY = "name the key.json that was written with the questionnaire"


class Question(Strict):
    """A question of a questionnaire, with the models or the video that it is about.

    Attributes:
        id: identifier of the question on the page.
        choices: names of the models by id of the picture on the page. If a single video is rated,
            there is one picture, with the name of the video.
    """

    id: str
    choices: dict[str, str]


class ClipQuestion(Question):
    """A question about several predictions of one clip.

    Attributes:
        dataset: name of the dataset.
        sample: index of the test sample.
        clip: name of the clip.
        cluster: the video or trajectory that the clip comes from.
    """

    dataset: str
    sample: int
    clip: str
    cluster: str


class PairQuestion(Question):
    """A question about a pair of videos: two models' predictions of the same clip.

    Attributes:
        clip: name of the clip.
        scenarios: names of the groups of models in which these two models are compared. A group is
            called a scenario here as in the paper on FVD (see `ModelGroup`). A pair that several
            groups have in common is asked about once.
    """

    clip: str
    scenarios: list[str]


class VideoQuestion(Question):
    """A question about one video, which people rate beside a natural video.

    A natural video is a recorded one, without predicted frames. It is of the same class as the
    video to rate, but of another clip.

    Attributes:
        natural: file of the natural video, relative to the folder of the videos.
    """

    natural: str

    @property
    def video(self) -> str:
        """The name of the video to rate."""
        return next(iter(self.choices.values()))


class Source(Strict):
    """The origin of a model's predictions for a dataset.

    Attributes:
        dataset: name of the dataset.
        model: name of the model.
        seed: seed of the training; None for a model that is not trained.
        source: origin of the raw data: official, sample or synthetic.
        release: release of the raw data.
        protocol: protocol of training and test.
        official_paper_protocol: whether data and protocol are those of the paper.
        predictions: folder of the predictions.
    """

    dataset: str
    model: str
    seed: int | None
    source: str
    release: str
    protocol: str
    official_paper_protocol: bool
    predictions: str


class ScoredModel(Strict):
    """A model whose videos are compared, with its scores.

    Attributes:
        values: score of each metric, by heading, such as ``FVD``; None where missing.
        source: origin of the data: official, sample, synthetic or own.
        protocol: protocol of training and test; empty if unknown.
        predictions: path of the folder with the model's predictions.
    """

    values: dict[str, float | None]
    source: str
    protocol: str
    predictions: str


class ModelGroup(Strict):
    """A group of models whose videos raters compare.

    The paper on FVD calls it a scenario, as do keys of questionnaires; it is a column of Table 1 of
    that paper, or a point of its Figure 5. Its models are chosen by their values of one metric:
    about equal values, evenly spread values, or a gap between a base model and all others. Numbers
    that do not apply are None.

    Attributes:
        name: name of the group, as printed: ``eq. FVD``, ``spr. FVD``, ``base200 +10``.
        kind: the rule by which models were chosen: ``equal``, ``spread`` or ``gap``.
        metric: heading of the metric by which models were chosen.
        models: names of the models; for a gap, the base comes first.
        reason: reason why models are missing, or fewer than configured; empty otherwise.
        low, high: smallest and largest value of the metric among the models.
        base: for a gap, the configured value of the base.
        step: for a gap, the difference by which the other models are worse than the base.
    """

    name: str
    kind: Kind
    metric: str
    models: list[str]
    reason: str = ""
    low: float | None = None
    high: float | None = None
    base: float | None = None
    step: float | None = None


class Key(Strict):
    """The key of a questionnaire: what is behind each question. Raters never get it.

    Attributes:
        in_rounds: whether a rater may send several files of answers, to different questions; fixed
            for each kind of study.
        study: checksum of the pages without raters' names, which identifies the study; empty before
            pages are written.
        pictures: encoding of the pictures, e.g. "lossless WebP"; empty before pages are written.
        about: configuration of the study.
        questions: all questions, sorted by id.
    """

    in_rounds: ClassVar[bool] = True
    """Whether a rater may have several files, with answers to different questions."""

    study: str = ""
    pictures: str = ""
    about: Item
    questions: Sequence[Question]

    @property
    @abstractmethod
    def summary(self) -> str:
        """Numbers of questions, models and raters, in words."""

    @model_validator(mode="after")
    def _unique_questions(self) -> "Key":
        if len({question.id for question in self.questions}) < len(self.questions):
            raise ValueError("two questions have one id")
        return self


class BestOfKey(Key):
    """The key (what is behind each question) of a study of the best of several predictions.

    Attributes:
        in_rounds: False: a rater sends one file of answers.
        about: configuration of the study.
        scale: name of the scale file by which the models were evaluated.
        models: titles of the models, by name.
        datasets: titles of the datasets, by name.
        sources: origin of the predictions, for each pair of dataset and model.
        questions: all questions, sorted by id; each has a prediction of every model.
    """

    in_rounds: ClassVar[bool] = False

    about: BestOf
    scale: str
    models: dict[str, str]
    datasets: dict[str, str]
    sources: list[Source]
    questions: list[ClipQuestion]

    @property
    def summary(self) -> str:
        return f"{len(self.questions)} questions, {len(self.models)} models"

    @model_validator(mode="after")
    def _check_listed(self) -> "BestOfKey":
        for question in self.questions:
            models = {*question.choices.values()}
            if question.dataset not in self.datasets or models != {*self.models}:
                raise ValueError(f"question {question.id} has a dataset or models not listed")
        for source in self.sources:
            if source.dataset not in self.datasets or source.model not in self.models:
                raise ValueError(f"{source.model} on {source.dataset} is not listed")
        return self


class PairKey(Key):
    """The key (what is behind each question) of a study of pairs of videos.

    Attributes:
        about: configuration of the study.
        scale: name of the scale file of the results store; empty if models are from a CSV file.
        population: path of the results store or CSV file that models were chosen from.
        size: number of models in the population.
        models: chosen models, by name.
        scenarios: groups of models whose videos are compared, which the paper on FVD calls
            scenarios (see `ModelGroup`): all that the configuration of the study asks for.
        questions: all questions, sorted by id; each is about two models of one or more scenarios.
    """

    about: Pairs
    scale: str = ""
    population: str = ""
    size: int = 0
    models: dict[str, ScoredModel]
    scenarios: list[ModelGroup]
    questions: list[PairQuestion]

    @property
    def summary(self) -> str:
        return f"{len(self.questions)} questions, {len(self.models)} models of {self.size}"

    def better(self, metric: str, question: PairQuestion) -> str | None:
        """Find which of a pair's two models is better by a metric.

        Args:
            metric: heading of the metric.
            question: question about the pair.

        Returns:
            name of the model; None if a score is missing, or both are equal.
        """
        first, second = question.choices.values()
        a, b = (self.models[name].values.get(metric) for name in (first, second))
        if a is None or b is None or a == b:
            return None
        return first if (a > b) == self.about.metrics[metric].higher_is_better else second

    @model_validator(mode="after")
    def _check_listed(self) -> "PairKey":
        names = {scenario.name for scenario in self.scenarios}
        for question in self.questions:
            models = {*question.choices.values()}
            is_listed = models <= {*self.models} and {*question.scenarios} <= names
            if len(question.choices) != 2 or len(models) != 2 or not is_listed:
                raise ValueError(f"question {question.id} has models or scenarios not listed")
        for scenario in self.scenarios:
            is_listed = {*scenario.models} <= {*self.models}
            if scenario.metric not in self.about.metrics or not is_listed:
                raise ValueError(f"{scenario.name} has a metric or models not listed")
        for name, model in self.models.items():
            if not all(value is None or math.isfinite(value) for value in model.values.values()):
                raise ValueError(f"{name} has a value that is not finite")
        return self


class RatingKey(Key):
    """The key (what is behind each question) of a study in which people rate single videos.

    Attributes:
        about: configuration of the study.
        folder: folder of the videos.
        questions: all questions, sorted by id; each is about one video.
        sessions: ids of the questions of each session, by name of the rater. A name is a hash of 12
            hexadecimal digits and the rater's number in four decimal digits, from 0001: rater 7 may
            be ``9f3c02d1a4be0007``.
    """

    about: Ratings
    folder: str
    questions: list[VideoQuestion]
    sessions: dict[str, list[list[str]]]

    @property
    def summary(self) -> str:
        return f"{len(self.sessions)} raters, {len(self.questions)} videos"

    @model_validator(mode="after")
    def _check_listed(self) -> "RatingKey":
        ids = {question.id for question in self.questions}
        if any(len(question.choices) != 1 for question in self.questions):
            raise ValueError("a question does not have exactly one video")
        for rater, sessions in self.sessions.items():
            own = [name for session in sessions for name in session]
            if len({*own}) < len(own) or not ids.issuperset(own):
                raise ValueError(f"rater {rater} has a question twice, or one that is not listed")
        return self


KINDS: dict[str, type[Key]] = {"best_of": BestOfKey, "pair": PairKey, "rating": RatingKey}
K = TypeVar("K", bound=Key)


def key_copy_path(key: Path, study: str) -> Path:
    """Path of the copy of a questionnaire's key, which later questionnaires do not overwrite.

    Args:
        key: path of the key.
        study: checksum that identifies the study, which names the copy.
    """
    return key.parent / "keys" / f"{study}.json"


def load_key(path: Path, kind: type[K]) -> K:
    """Read the key of a questionnaire, which says what is behind each question.

    Args:
        path: path of the key.
        kind: expected class of the key.

    Raises:
        StpError: the key is missing or damaged, or is of another kind.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        model = KINDS[content["about"]["item"]]
    except FileNotFoundError:
        raise FileError(path, "no such key", remedy=REMEDY) from None
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        problem = f"not a key of a questionnaire ({type(error).__name__}: {error})"
        raise FileError(path, problem, remedy=REMEDY) from None
    key = check(model, content, str(path))
    if not isinstance(key, kind):
        raise FileError(path, f"a key of a study of the item {key.about.item}", remedy=REMEDY)
    return key
