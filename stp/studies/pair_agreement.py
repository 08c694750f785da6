"""How often metrics agree with people, scenario by scenario: Table 1 and Figure 5 of the paper."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from stp.collect.people_agreement import ALL_ANSWERS, DECIDED, MAJORITY, RATERS, Agreement
from stp.collect.published import PublishedValue
from stp.studies.answers import SIMULATED, Answer, Answers
from stp.studies.key import AskedPair, PairKey, Scenario
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


class _Hits(NamedTuple):
    """What a metric is counted by: a value 0 or 1, a rater and a pair of models for each answer."""

    hits: list[bool]
    raters: list[str] | None
    pairs: list[int]
    comparisons: int


def agreements(
    key: PairKey, read: Answers | None, published: Iterable[PublishedValue]
) -> list[Agreement]:
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
                found.append(_of_metric(key, scenario, here, metric, counting, their))
        if scenario.kind != "gap":
            found.append(_among_raters(key, scenario, here, printed.get((scenario.name, RATERS))))
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
            name = f"all bases +{step:g}"
            whole = Scenario(
                name=name,
                kind="gap",
                metric=points[0].metric,
                models=models,
                reason=reason,
                step=step,
            )
            found.append((whole, points))
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


def _of_metric(
    key: PairKey,
    scenario: Scenario,
    here: Sequence[Judged],
    metric: str,
    counting: str,
    published: float | None,
) -> Agreement:
    if scenario.kind == "equal" and metric == scenario.metric:
        return _row(key, scenario, metric, counting, here, None, 0, CHOSEN_EQUAL, published)
    said = [(one, key.better(metric, one.asked)) for one in here]
    known = [(one, better) for one, better in said if better is not None]
    none = not any(key.models[name].values.get(metric) is not None for name in scenario.models)
    reason = scenario.reason if not scenario.models else ""
    if not reason and none:
        reason = f"no value of {key.about.metrics[metric].convention}"
    hits = _majority(known) if counting == MAJORITY else _answers(known, counting)
    ties = len(said) - len(known)
    return _row(key, scenario, metric, counting, here, hits, ties, reason, published)


def _answers(known: Iterable[tuple[Judged, str]], counting: str) -> _Hits:
    hits, raters, pairs, comparisons = [], [], [], 0
    for one, better in known:
        own = [a for a in one.answers if counting == ALL_ANSWERS or a.model is not None]
        comparisons += bool(own)
        for answer in own:
            hits.append(answer.model == better)
            raters.append(answer.rater)
            pairs.append(one.pair)
    return _Hits(hits, raters, pairs, comparisons)


def _majority(known: Iterable[tuple[Judged, str]]) -> _Hits:
    hits, pairs = [], []
    for one, better in known:
        model, votes = Counter(answer.model for answer in one.answers).most_common(1)[0]
        if votes >= 2 and model is not None:
            hits.append(model == better)
            pairs.append(one.pair)
    return _Hits(hits, None, pairs, len(hits))


def _among_raters(
    key: PairKey, scenario: Scenario, here: Sequence[Judged], published: float | None
) -> Agreement:
    twice = [one for one in here if len(one.answers) >= 2]
    hits = _Hits(
        [agree(one.answers) for one in twice], None, [one.pair for one in twice], len(twice)
    )
    reason = scenario.reason if not scenario.models else ""
    return _row(key, scenario, RATERS, ALL_ANSWERS, here, hits, 0, reason, published)


def _row(
    key: PairKey,
    scenario: Scenario,
    metric: str,
    counting: str,
    here: Sequence[Judged],
    hits: _Hits | None,
    ties: int,
    reason: str,
    published: float | None,
) -> Agreement:
    counts = _share(hits) if hits is not None and not reason else None
    if counts is not None and counts.value is None:
        reason = NOBODY if not here else "no answer counts"
    interval = counts.clustered if counts is not None else None
    rated = [key.models[name] for name in scenario.models]
    names = {answer.rater for one in here for answer in one.answers}
    low, high = (interval.low, interval.high) if interval else (None, None)
    return Agreement(
        source=" and ".join(sorted({one.source for one in rated})),
        scale=key.scale,
        protocol=" and ".join(sorted({one.protocol for one in rated} - {""})),
        comparable=False,
        study=key.study,
        scenario=scenario.name,
        kind=scenario.kind,
        metric=metric,
        convention=key.about.metrics[metric].convention if metric in key.about.metrics else "",
        counting=counting,
        value=_percent(counts.value if counts is not None else None),
        ci95_low=_percent(low),
        ci95_high=_percent(high),
        reason=reason or (interval.reason if interval else "") or None,
        pairs=len(set(hits.pairs)) if hits else 0,
        comparisons=hits.comparisons if hits else 0,
        answers=len(hits.hits) if hits else 0,
        raters=len(names if hits is None or hits.raters is None else set(hits.raters)),
        ties=ties,
        simulated=any(name.startswith(SIMULATED) for name in names),
        published=published,
    )


def _share(hits: _Hits) -> Share:
    numbers = {name: number for number, name in enumerate(dict.fromkeys(hits.raters or ()))}
    raters = None if hits.raters is None else np.array([numbers[name] for name in hits.raters])
    pairs = np.array(hits.pairs, np.int64)
    return share(
        np.array(hits.hits, np.float64), raters, pairs, np.zeros(len(pairs)), resamples=RESAMPLES
    )


def _percent(value: float | None) -> float | None:
    return None if value is None else round(100 * value, 6)
