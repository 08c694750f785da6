"""The key of a questionnaire: what is behind each choice. Raters never get it."""

import json
import math
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import ValidationError

from stp.core.errors import StpError
from stp.plan.checked_config import Strict
from stp.studies.options import BestOf, Item, Pairs, Ratings

NONE = "none"
"""The choice of a rater who cannot tell."""

Kind = Literal["equal", "spread", "gap"]
"""How models of a scenario are chosen."""

REMEDY = "name the key.json that was written with the questionnaire"


class Asked(Strict):
    """A question.

    Attributes:
        id: what it is called on the page.
        choices: model (of a rating: video) by what its picture is called on the page.
    """

    id: str
    choices: dict[str, str]


class AskedClip(Asked):
    """A clip, with the number of its test sample, and the video or trajectory it comes from."""

    dataset: str
    sample: int
    clip: str
    cluster: str


class AskedPair(Asked):
    """Two videos of one clip, and names of the scenarios that they belong to."""

    clip: str
    scenarios: list[str]


class AskedVideo(Asked):
    """A video to rate, and the file of the natural video beside it."""

    natural: str

    @property
    def video(self) -> str:
        """The name of the video."""
        return next(iter(self.choices.values()))


class Source(Strict):
    """The cell behind the predictions of a model for a dataset.

    Attributes:
        seed: of the training; None where there is none.
        source: origin of the raw data: official, sample or synthetic.
        protocol: of training and test.
        official_paper_protocol: whether both are the paper's.
        predictions: their folder.
    """

    dataset: str
    model: str
    seed: int | None
    source: str
    release: str
    protocol: str
    official_paper_protocol: bool
    predictions: str


class Rated(Strict):
    """A model whose videos are compared.

    Attributes:
        values: by heading of the metric; None where it has none.
        source: origin of the data: official, sample, synthetic or own.
        protocol: of training and test; empty if it is not known.
        predictions: their folder.
    """

    values: dict[str, float | None]
    source: str
    protocol: str
    predictions: str


class Scenario(Strict):
    """Models that were chosen for one column of Table 1, or one point of Figure 5.

    Attributes:
        name: as printed: ``eq. FVD``, ``spr. FVD``, ``base200 +10``.
        kind: how models were chosen.
        metric: heading of the metric that they were chosen by.
        models: those that were chosen; of a gap, the base first.
        reason: why there are none, or fewer than wanted; empty otherwise.
        low: the least value of the metric among them, None without models.
        high: the largest one.
        base: of a gap, the wanted value of the base; None otherwise.
        step: of a gap, by how much others are worse; None otherwise.
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
    """All that is needed to read answers.

    Attributes:
        study: checksum of what raters see; empty before it is known.
        pictures: how they are encoded.
        about: the configuration.
        questions: in the order of the page's file.
    """

    in_rounds: ClassVar[bool] = True
    """Whether a rater may have several files, with answers to different questions."""

    study: str = ""
    pictures: str = ""
    about: Item
    questions: Sequence[Asked]

    @property
    @abstractmethod
    def summary(self) -> str:
        """What the questionnaire has, in words: numbers of questions, models, raters."""

    def problem(self) -> str:
        """What does not fit together; empty if all does."""
        ids = {asked.id for asked in self.questions}
        return "a question is there twice" if len(ids) < len(self.questions) else ""

    def text(self) -> str:
        """As JSON."""
        return self.model_dump_json(indent=1) + "\n"


class BestOfKey(Key):
    """The key of a study of the best of several predictions.

    Attributes:
        scale: where the predictions come from.
        models: title by name.
        datasets: title by name.
        sources: of the predictions.
    """

    in_rounds: ClassVar[bool] = False

    about: BestOf
    scale: str
    models: dict[str, str]
    datasets: dict[str, str]
    sources: list[Source]
    questions: list[AskedClip]

    @property
    def summary(self) -> str:
        return f"{len(self.questions)} questions, {len(self.models)} models"

    def problem(self) -> str:
        for asked in self.questions:
            if asked.dataset not in self.datasets or {*asked.choices.values()} != {*self.models}:
                return f"question {asked.id} has a dataset or models that the key does not list"
        return super().problem()


class PairKey(Key):
    """The key of a study of pairs.

    Attributes:
        scale: of the results store; empty for a CSV file.
        population: the file that models were chosen from.
        size: number of its models.
        models: by name.
        scenarios: all that were asked for.
    """

    about: Pairs
    scale: str = ""
    population: str = ""
    size: int = 0
    models: dict[str, Rated]
    scenarios: list[Scenario]
    questions: list[AskedPair]

    @property
    def summary(self) -> str:
        return f"{len(self.questions)} questions, {len(self.models)} models of {self.size}"

    def better(self, metric: str, asked: AskedPair) -> str | None:
        """The model that a metric finds better; None if it has no value, or both are equal."""
        first, second = asked.choices.values()
        a, b = (self.models[name].values.get(metric) for name in (first, second))
        if a is None or b is None or a == b:
            return None
        return first if (a > b) == self.about.metrics[metric].higher_is_better else second

    def problem(self) -> str:
        names = {scenario.name for scenario in self.scenarios}
        for asked in self.questions:
            models = set(asked.choices.values())
            listed = models <= set(self.models) and set(asked.scenarios) <= names
            if len(asked.choices) != 2 or len(models) != 2 or not listed:
                return f"question {asked.id} has models or scenarios that the key does not list"
        for scenario in self.scenarios:
            if scenario.metric not in self.about.metrics or not {*scenario.models} <= {
                *self.models
            }:
                return f"{scenario.name} has a metric or models that the key does not list"
        for name, model in self.models.items():
            values = [value for value in model.values.values() if value is not None]
            if not all(map(math.isfinite, values)):
                return f"{name} has a value that is no number"
        return super().problem()


class RatingKey(Key):
    """The key of a study of ratings.

    Attributes:
        folder: where the videos are from.
        sessions: ids of the questions of each session, by the name of the rater: 16 hexadecimal
            digits, the last four a decimal number from 1.
    """

    about: Ratings
    folder: str
    questions: list[AskedVideo]
    sessions: dict[str, list[list[str]]]

    @property
    def summary(self) -> str:
        return f"{len(self.sessions)} raters, {len(self.questions)} videos"

    def problem(self) -> str:
        ids = {asked.id for asked in self.questions}
        if any(len(asked.choices) != 1 for asked in self.questions):
            return "a question has not one video"
        for rater, sessions in self.sessions.items():
            own = [name for session in sessions for name in session]
            if len(set(own)) < len(own) or not ids.issuperset(own):
                return f"rater {rater} has questions twice, or some that the key does not list"
        return super().problem()


KINDS: dict[str, type[Key]] = {"best_of": BestOfKey, "pair": PairKey, "rating": RatingKey}
K = TypeVar("K", bound=Key)


def kept_path(key: Path, study: str) -> Path:
    """Where the key of a questionnaire stays when another questionnaire is written."""
    return key.parent / "keys" / f"{study}.json"


def load_key(path: Path, kind: type[K]) -> K:
    """Read a key.

    Args:
        path: the file.
        kind: of the key, or `Key` for any.

    Raises:
        StpError: it is missing or damaged, or is of another kind.
    """
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        key = KINDS[content["about"]["item"]].model_validate(content)
    except FileNotFoundError:
        problem = "no such key"
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        problem = f"this is no key of a questionnaire ({where}: {first['msg']})"
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        problem = f"this is no key of a questionnaire ({type(error).__name__}: {error})"
    else:
        problem = key.problem()
        if not problem and isinstance(key, kind):
            return key
        problem = problem or f"this is the key of a study of the item {key.about.item}"
    item = next((f"of the item {name} " for name, own in KINDS.items() if own is kind), "")
    raise StpError(
        f"{path}: {problem}",
        expected=f"a key {item}that `stp study questionnaire` wrote",
        remedy=REMEDY,
    )
