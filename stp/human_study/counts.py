"""Count answers: shares of models over datasets and groups of raters."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from stp.human_study.answers import Answer, Answers
from stp.human_study.key import Key
from stp.human_study.shares import Share, share

FEWEST_RATERS = 5
"""Of a group by age or gender that is reported: fewer could be recognised."""

CANNOT_TELL = "cannot tell"


class Count(NamedTuple):
    """How often a model was found best.

    Attributes:
        dataset: name, or empty for all together.
        group: empty for all raters, else such as ``age: 25-34``.
        model: name, or ``CANNOT_TELL``.
        raters: who answered.
        questions: that were answered.
        chosen: share of answers; those of raters who could not tell count as answers.
        won: number of questions in which no other model was chosen more often; where k models
            share the first place, 1/k of a question each.
    """

    dataset: str
    group: str
    model: str
    raters: int
    questions: int
    chosen: Share
    won: float


def counts(key: Key, read: Answers) -> list[Count]:
    """Shares for all answers, for each dataset, and for each group that is large enough."""
    found: list[Count] = []
    for dataset in ["", *key.datasets]:
        answers = [a for a in read.answers if dataset in ("", key.questions[a.question].dataset)]
        found += _count(key, read, answers, dataset, "")
    for group, members in groups(read).items():
        inside = [a for a in read.answers if a.rater in members]
        found += _count(key, read, inside, "", group)
    return found


def groups(read: Answers) -> dict[str, set[str]]:
    """Names of the raters in each group that may be reported.

    A group is left out if it has fewer than ``FEWEST_RATERS``, and so is the smallest of the others
    as long as those that are left out are fewer together: they are what is left of the total.
    """
    found: dict[str, set[str]] = {}
    for kind in ("age", "gender"):
        by_value: dict[str, set[str]] = defaultdict(set)
        for rater in read.raters.values():
            by_value[getattr(rater, kind)].add(rater.name)
        if set(by_value) == {""}:
            continue  # nobody said
        sizes = {value: len(names) for value, names in by_value.items()}
        shown = [value for value in sizes if sizes[value] >= FEWEST_RATERS]
        shown.sort(key=lambda value: (-sizes[value], value))
        hidden = sum(sizes.values()) - sum(sizes[value] for value in shown)
        while shown and 0 < hidden < FEWEST_RATERS:
            hidden += sizes[shown.pop()]
        for value in sorted(shown, key=lambda value: (value == "", value)):
            found[f"{kind}: {value or 'not given'}"] = by_value[value]
    return found


def places(key: Key, read: Answers) -> list[Share]:
    """How often the prediction at each place of the page was chosen; by chance equally often."""
    told = [answer for answer in read.answers if answer.place is not None]
    return [_share(key, read, told, [a.place == n for a in told]) for n in range(len(key.models))]


def _count(
    key: Key, read: Answers, answers: list[Answer], dataset: str, group: str
) -> Iterable[Count]:
    raters = len({answer.rater for answer in answers})
    questions = len({answer.question for answer in answers})
    won = _won(answers)
    for model in [*key.models, *([CANNOT_TELL] if key.cannot_tell else [])]:
        wanted = None if model == CANNOT_TELL else model
        chosen = _share(key, read, answers, [a.model == wanted for a in answers])
        yield Count(dataset, group, model, raters, questions, chosen, won.get(model, 0.0))


def _share(key: Key, read: Answers, answers: list[Answer], hits: list[bool]) -> Share:
    number = {name: i for i, name in enumerate(read.raters)}
    return share(
        np.array(hits, np.float64),
        np.array([number[answer.rater] for answer in answers]),
        np.array([answer.question for answer in answers]),
        np.array([key.questions[answer.question].dataset for answer in answers]),
    )


def _won(answers: list[Answer]) -> Mapping[str, float]:
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for answer in answers:
        if answer.model is not None:
            votes[answer.question][answer.model] += 1
    won: dict[str, float] = defaultdict(float)
    for counted in votes.values():
        most = max(counted.values())
        first = [model for model, number in counted.items() if number == most]
        for model in first:
            won[model] += 1 / len(first)
    return won
