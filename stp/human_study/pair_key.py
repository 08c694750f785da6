"""The key of a questionnaire about pairs: which model made which video. Raters never get it."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import TypeAdapter, ValidationError

from stp.core.errors import StpError
from stp.human_study.key import REMEDY

Kind = Literal["equal", "spread", "gap"]


@dataclass(frozen=True)
class Scored:
    """A metric, by its heading in `PairKey.metrics`."""

    convention: str
    higher_is_better: bool


@dataclass(frozen=True)
class Rated:
    """A model whose videos raters see.

    Attributes:
        values: by heading of the metric; None where it has none.
        source: origin of the bytes: official, sample, synthetic or own.
        protocol: of training and test; empty if it is not known.
        predictions: their folder.
    """

    values: dict[str, float | None]
    source: str
    protocol: str
    predictions: str


@dataclass(frozen=True)
class Scenario:
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


@dataclass(frozen=True)
class Compared:
    """Two videos of one clip: a question.

    Attributes:
        id: what it is called on the page.
        clip: its name.
        scenarios: names of those that it belongs to.
        choices: model by what its video is called on the page.
    """

    id: str
    clip: str
    scenarios: list[str]
    choices: dict[str, str]


@dataclass(frozen=True)
class PairKey:
    """All that is needed to read answers about pairs.

    Attributes:
        study: checksum of what raters see.
        scale: of the results store; empty for a CSV file.
        population: the file that models were chosen from.
        size: number of its models.
        question: what raters were asked.
        seed: of the draws.
        pictures: how they are encoded.
        metrics: by heading.
        models: by name.
        scenarios: all that were asked for.
        questions: in the order of the page's file.
    """

    study: str
    scale: str
    population: str
    size: int
    question: str
    seed: int
    pictures: str
    metrics: dict[str, Scored]
    models: dict[str, Rated]
    scenarios: list[Scenario]
    questions: list[Compared]

    cannot_tell: ClassVar[bool] = True
    age_groups: ClassVar[tuple[str, ...]] = ()
    genders: ClassVar[tuple[str, ...]] = ()
    in_rounds: ClassVar[bool] = True
    rates: ClassVar[bool] = False

    def text(self) -> str:
        """As JSON."""
        return json.dumps({"pairs": asdict(self)}, indent=1) + "\n"

    def better(self, metric: str, asked: Compared) -> str | None:
        """The model that a metric finds better; None if it has no value, or both are equal."""
        first, second = asked.choices.values()
        a, b = (self.models[name].values.get(metric) for name in (first, second))
        if a is None or b is None or a == b:
            return None
        return first if (a > b) == self.metrics[metric].higher_is_better else second


_SCHEMA = TypeAdapter(PairKey)


def is_pair_key(content: object) -> bool:
    """Is this JSON the key of a questionnaire about pairs?"""
    return isinstance(content, Mapping) and set(content) == {"pairs"}


def load_pair_key(path: Path) -> PairKey | None:
    """Read a key; None if the file is the key of a questionnaire of another kind, or no key.

    Raises:
        StpError: it is a damaged key of pairs.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None  # `stp.human_study.key.load_key` says what is wrong
    if not is_pair_key(content):
        return None
    try:
        key = _SCHEMA.validate_python(content["pairs"])
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise StpError(
            f"{path} is no key of a questionnaire about pairs ({place}: {first['msg']})",
            expected="JSON as `stp questionnaire --pairs` writes it",
            remedy=REMEDY,
        ) from None
    problem = _problem(key)
    if problem:
        raise StpError(
            f"{path}: {problem}",
            expected="JSON as `stp questionnaire --pairs` writes it",
            remedy=REMEDY,
        )
    return key


def _problem(key: PairKey) -> str:
    """What does not fit together in a key; empty if all does."""
    names = {scenario.name for scenario in key.scenarios}
    for asked in key.questions:
        known = set(asked.choices.values()) <= set(key.models) and set(asked.scenarios) <= names
        if len(asked.choices) != 2 or len(set(asked.choices.values())) != 2 or not known:
            return f"question {asked.id} has models or scenarios that the key does not list"
    for scenario in key.scenarios:
        if scenario.metric not in key.metrics or not set(scenario.models) <= set(key.models):
            return f"{scenario.name} has a metric or models that the key does not list"
    for name, model in key.models.items():
        values = [value for value in model.values.values() if value is not None]
        if not all(map(math.isfinite, values)):
            return f"{name} has a value that is no number"
    return ""
