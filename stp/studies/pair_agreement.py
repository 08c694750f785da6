"""How often metrics agree with people, scenario by scenario: Table 1 and Figure 5 of the paper."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from stp.collect.people_agreement import ALL_ANSWERS, DECIDED, MAJORITY, RATERS
from stp.collect.published import PublishedValue
from stp.collect.schema import AgreementRow
from stp.studies.answer_key import AskedPair, PairKey, Scenario
from stp.studies.answers import SIMULATED, Answer, Answers
from stp.studies.shares import Share, share

NOBODY = "nobody has answered"
RESAMPLES = 2000
"""Of the bootstrap: a table has hundreds of intervals, which are printed with one decimal."""
CHOSEN_EQUAL = "models were chosen to be equal in it"


def asked_of(key: PairKey, read: Answers) -> dict[int, list[Answer]]:
    """All answers to each question of a key, by its number, in the order in which they came."""
    given: dict[int, list[Answer]] = {number: [] for number in range(len(key.questions))}
    for answer in sorted(read.answers, key=lambda one: (one.answered_at, one.rater)):
        given[answer.question].append(answer)
    return given


def needs_rater(answers: list[Answer]) -> Literal["second", "third"] | None:
    """Is one more rater to be asked, who is at least the second one, or the third one?"""
    if len(answers) < 2:
        return "second"
    return "third" if len(answers) == 2 and not agree(answers) else None


def agree(answers: list[Answer]) -> bool:
    """Have the first two raters chosen alike? That both found no difference is alike."""
    return answers[0].model == answers[1].model


def counted(answers: list[Answer]) -> list[Answer]:
    """The answers that count: the first two, and the third one only where these disagree."""
    return answers[: 2 if len(answers) < 3 or agree(answers) else 3]


class Judged(NamedTuple):
    """A pair of videos that somebody has compared.

    Attributes:
        asked: the question.
        pair: number of the pair of models.
        answers: those that count, in the order in which they came: one to three.
    """

    asked: AskedPair
    pair: int
    answers: list[Answer]


class _Vote(NamedTuple):
    """What a metric is counted by: whether it agrees, with whom, on which models and question."""

    hit: bool
    rater: str
    pair: int
    question: str


def agreements(
    key: PairKey, read: Answers | None, published: Iterable[PublishedValue]
) -> list[AgreementRow]:
    """Compare answers with each metric in each scenario, and the first two raters with each other.

    Args:
        key: of the questionnaire.
        read: the answers; None where there are none yet.
        published: the printed values.
    """
    judged = _judged(key, read)
    printed = {
        (value.run, value.model): value.value
        for value in published
        if value.dimension == "agreement"
    } | {
        (f"{value.model} {value.run}", "FVD"): value.value
        for value in published
        if value.dimension == "resolution"
    }
    found = []
    parts = [(one, [one]) for one in key.scenarios]
    for scenario, its in [*parts, *over_bases(key.scenarios)]:
        names = {one.name for one in its}
        here = [one for one in judged if names & set(one.asked.scenarios)]
        metrics = [scenario.metric] if scenario.kind == "gap" else list(key.about.metrics)
        for metric in metrics:
            for counting in (DECIDED, ALL_ANSWERS, MAJORITY):
                # Figure 5 counts answers of no difference; how Table 1 does is not said.
                is_papers = counting == (ALL_ANSWERS if scenario.kind == "gap" else DECIDED)
                their = printed.get((scenario.name, metric)) if is_papers else None
                found.append(_row(key, scenario, here, metric, counting, their))
        if scenario.kind != "gap":
            their = printed.get((scenario.name, RATERS))
            found.append(_row(key, scenario, here, RATERS, ALL_ANSWERS, their))
    return found


def over_bases(scenarios: Iterable[Scenario]) -> list[tuple[Scenario, list[Scenario]]]:
    """Points of Figure 5 of one step and several bases as one, with these points.

    One base and five models are five pairs, too few for an interval; those of two bases are ten.
    """
    steps: dict[float, list[Scenario]] = {}
    for one in scenarios:
        if one.step is not None:
            steps.setdefault(one.step, []).append(one)
    found = []
    for step, points in steps.items():
        if len(points) > 1:
            models = list(dict.fromkeys(name for one in points for name in one.models))
            reason = "" if models else points[0].reason
            changes = {"name": f"all bases +{step:g}", "models": models, "reason": reason}
            unset = dict.fromkeys(("base", "low", "high"))
            found.append((points[0].model_copy(update=changes | unset), points))
    return found


def _judged(key: PairKey, read: Answers | None) -> list[Judged]:
    if read is None:
        return []
    numbers: dict[frozenset[str], int] = {}
    found = []
    for number, answers in asked_of(key, read).items():
        asked = key.questions[number]
        pair = numbers.setdefault(frozenset(asked.choices.values()), len(numbers))
        if answers:
            found.append(Judged(asked, pair, counted(answers)))
    return found


def _said(answers: Sequence[Answer], counting: str) -> list[tuple[str | None, str]]:
    """Models, and who named them; a majority is of nobody."""
    if counting == MAJORITY:
        model, votes = Counter(answer.model for answer in answers).most_common(1)[0]
        return [(model, "")] if votes >= 2 and model is not None else []
    named = [answer for answer in answers if counting == ALL_ANSWERS or answer.model is not None]
    return [(answer.model, answer.rater) for answer in named]


def _row(
    key: PairKey,
    scenario: Scenario,
    here: Sequence[Judged],
    metric: str,
    counting: str,
    published: float | None,
) -> AgreementRow:
    votes: list[_Vote] = []
    ties, reason = 0, "" if scenario.models else scenario.reason
    of_raters = counting != MAJORITY and metric != RATERS
    convention = "" if metric == RATERS else key.about.metrics[metric].convention
    rated = [key.models[name] for name in scenario.models]
    if metric == RATERS:
        twice = [one for one in here if len(one.answers) >= 2]
        votes = [_Vote(agree(one.answers), "", one.pair, one.asked.id) for one in twice]
    elif scenario.kind == "equal" and metric == scenario.metric:
        reason, of_raters = CHOSEN_EQUAL, False
    else:
        if not reason and all(model.values.get(metric) is None for model in rated):
            reason = f"no value of {convention}"
        for one in here:
            better = key.better(metric, one.asked)
            ties += better is None
            for model, rater in _said(one.answers, counting) if better is not None else []:
                votes.append(_Vote(model == better, rater, one.pair, one.asked.id))
    counts = None if reason else _share(votes, of_raters)
    if counts is not None and counts.value is None:
        reason = NOBODY if not here else "no answer counts"
    low, high, why = counts.clustered if counts is not None else (None, None, "")
    names = {answer.rater for one in here for answer in one.answers}
    return AgreementRow(
        source=" and ".join(sorted({model.source for model in rated})),
        scale=key.scale,
        protocol=" and ".join(sorted({model.protocol for model in rated} - {""})),
        comparable=False,
        study=key.study,
        scenario=scenario.name,
        kind=scenario.kind,
        metric=metric,
        convention=convention,
        counting=counting,
        value=_percent(counts.value if counts is not None else None),
        ci95_low=_percent(low),
        ci95_high=_percent(high),
        reason=reason or why or None,
        pairs=len({vote.pair for vote in votes}),
        comparisons=len({vote.question for vote in votes}),
        answers=len(votes),
        raters=len({vote.rater for vote in votes} if of_raters else names),
        ties=ties,
        simulated=any(name.startswith(SIMULATED) for name in names),
        published=published,
    )


def _share(votes: Sequence[_Vote], of_raters: bool) -> Share:
    numbers = {name: n for n, name in enumerate(dict.fromkeys(vote.rater for vote in votes))}
    return share(
        np.array([vote.hit for vote in votes], np.float64),
        np.array([numbers[vote.rater] for vote in votes]) if of_raters else None,
        np.array([vote.pair for vote in votes], np.int64),
        np.zeros(len(votes)),
        resamples=RESAMPLES,
    )


def _percent(value: float | None) -> float | None:
    return None if value is None else round(100 * value, 6)
