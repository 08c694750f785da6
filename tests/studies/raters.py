"""Made-up raters with known preferences, who answer as the page would write it down."""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from pathlib import Path
from statistics import NormalDist

import numpy as np

from stp.studies.answer_key import NONE, BestOfKey, Key, PairKey, PairQuestion, Question
from stp.studies.answers import COLUMNS, SIMULATED

Chooser = Callable[[np.random.Generator, Question], str]


def of_shares(shares: Mapping[str, float]) -> Chooser:
    """Choose a model with the probability of its name; the rest cannot tell."""
    names = [*shares, NONE]
    odds = np.array([*shares.values(), max(0.0, 1 - sum(shares.values()))])
    return lambda rng, _: names[rng.choice(len(names), p=odds / odds.sum())]


def line(
    key: Key, asked: Question, model: str, rng: np.random.Generator, rater: str, **more: str
) -> dict[str, str]:
    """One answer."""
    ids = {model: i for i, model in asked.choices.items()}
    shown = rng.permutation(list(asked.choices)).tolist()
    return {
        **{"study": key.study, "rater": rater, "age": "", "gender": "", "position": "1"},
        **{"question": asked.id, "choice": ids.get(model, NONE), "shown": " ".join(shown)},
        "seconds": f"{rng.uniform(3, 30):.1f}",
        "answered_at": "2026-01-31T12:00:00.000Z",
        **more,
    }


def write(path: Path, lines: list[dict[str, str]]) -> Path:
    """Write a file of answers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    return path


def crowd(
    folder: Path,
    key: BestOfKey,
    number: int,
    choose: Chooser,
    *,
    about: Callable[[int], Mapping[str, str]] = lambda _: {},
) -> Path:
    """Write the files of many raters who answer all questions, in an order of their own."""
    rng = np.random.default_rng(0)
    for i in range(number):
        rater = f"{i:016x}"
        lines = []
        for position, n in enumerate(rng.permutation(len(key.questions)), start=1):
            asked = key.questions[n]
            given = {"position": str(position), **about(i)}
            lines.append(line(key, asked, choose(rng, asked), rng, rater, **given))
        write(folder / f"answers-{rater}.csv", lines)
    return folder


class Taste:
    """The taste of simulated raters for pairs of videos: a metric, seen through noise.

    They prefer the model whose value is better by more than what they can tell apart, and now and
    then (a lapse) choose a video, or none, whatever they see.

    Args:
        key: of the questionnaire.
        metric: heading of what they like.
        noise: standard deviation of what they see of a difference, in units of the metric.
        similar: the largest difference that they call none.
        lapse: how often they do not look.
    """

    def __init__(
        self, key: PairKey, metric: str, *, noise: float, similar: float, lapse: float
    ) -> None:
        self.key, self.metric = key, metric
        self.noise, self.similar, self.lapse = noise, similar, lapse

    def odds(self, asked: PairQuestion) -> dict[str, float]:
        """Probability of each model, and of neither, which is called ``NONE``."""
        sign = 1 if self.key.about.metrics[self.metric].higher_is_better else -1
        first, second = asked.choices.values()
        a, b = (self.key.models[name].values[self.metric] for name in (first, second))
        assert a is not None and b is not None
        seen = NormalDist(sign * (a - b), self.noise)
        clear = {first: 1 - seen.cdf(self.similar), second: seen.cdf(-self.similar)}
        clear[NONE] = 1 - sum(clear.values())
        return {name: self.lapse / 3 + (1 - self.lapse) * p for name, p in clear.items()}

    def __call__(self, rng: np.random.Generator, asked: PairQuestion) -> str:
        odds = self.odds(asked)
        return list(odds)[rng.choice(3, p=np.array(list(odds.values())))]

    def agreement(self, metric: str, asked: Iterable[PairQuestion], counting: str) -> float:
        """What agreement with a metric will be on average, by all ways to answer, in percent."""
        hits = answers = 0.0
        for one in asked:
            better = self.key.better(metric, one)
            odds = self.odds(one)
            for three in product(odds, repeat=3):
                p = np.prod([odds[name] for name in three])
                counted = three[: 2 if three[0] == three[1] else 3]
                if counting == "decided":
                    counted = tuple(name for name in counted if name != NONE)
                hits += p * sum(name == better for name in counted)
                answers += p * len(counted)
        return 100 * hits / answers


def pair_crowd(
    folder: Path, choose: Taste, wanted: Mapping[str, int], *, raters: Iterable[int], day: int
) -> Path:
    """Write the files of simulated raters of one round.

    Args:
        choose: their taste.
        wanted: number of raters by id of the question; each is another one.
        raters: numbers of those who take part.
        day: of the month on which they answer.
    """
    rng = np.random.default_rng(0)
    key, numbers = choose.key, list(raters)
    lines: dict[str, list[dict[str, str]]] = defaultdict(list)
    for asked in key.questions:
        for number in rng.choice(numbers, wanted.get(asked.id, 0), replace=False):
            rater = f"{SIMULATED}{number:016x}"
            moment = f"2026-01-{day:02}T12:00:00.000Z"
            choice = choose(rng, asked)
            lines[rater].append(line(key, asked, choice, rng, rater, answered_at=moment))
    for rater, own in lines.items():
        write(folder / f"answers-{rater}-{day}.csv", own)
    return folder
