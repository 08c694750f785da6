"""Compute how often metrics agree with people about which of two videos looks better.

Shares of agreement are computed for each group of models that were chosen by their values of a
metric. The paper on FVD calls such a group a scenario (Table 1 and Figure 5).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from stp.collect.people_agreement import ALL_ANSWERS, DECIDED, MAJORITY, RATERS
from stp.collect.published import PublishedValue
from stp.collect.schema import AgreementRow
from stp.studies.answer_key import ModelGroup, PairKey, PairQuestion
from stp.studies.answers import SIMULATED, Answer, Answers
from stp.studies.shares import Vote, share

NOBODY = "nobody has answered"
RESAMPLES = 2000
"""Number of resamples of the bootstrap: a table has hundreds of intervals, which are printed with
one decimal."""
CHOSEN_EQUAL = "models were chosen to be equal in it"


def answers_by_question(key: PairKey, read: Answers) -> dict[int, list[Answer]]:
    """Sort answers by question.

    Args:
        key: key of the questionnaire.
        read: all answers.

    Returns:
        answers in the order of time, by index of the question in the key; questions without answers
        have an empty list.
    """
    answers: dict[int, list[Answer]] = {number: [] for number in range(len(key.questions))}
    for answer in sorted(read.answers, key=lambda answer: (answer.answered_at, answer.rater)):
        answers[answer.question].append(answer)
    return answers


def needs_rater(answers: list[Answer]) -> Literal["second", "third"] | None:
    """Say which further rater a pair of videos needs.

    Each pair is shown to two raters, and to a third if the first two disagree.

    Args:
        answers: answers about the pair so far, in the order of time.

    Returns:
        ``second``, also if there is no answer yet; ``third``; or None if the pair needs no further
        rater.
    """
    if len(answers) < 2:
        return "second"
    return "third" if len(answers) == 2 and not agree(answers) else None


def agree(answers: list[Answer]) -> bool:
    """Whether the first two raters gave the same answer, which may be "indistinguishable"."""
    return answers[0].model == answers[1].model


def counting_answers(answers: list[Answer]) -> list[Answer]:
    """The answers that count: the first two, and also the third if the first two disagree."""
    return answers[: 2 if len(answers) < 3 or agree(answers) else 3]


class Judged(NamedTuple):
    """A pair of videos that somebody has compared.

    Attributes:
        question: question about the pair of videos.
        pair: number of the pair of models, which is the same for all clips.
        answers: one to three answers that count, in the order of time.
    """

    question: PairQuestion
    pair: int
    answers: list[Answer]


def agreements(
    key: PairKey, read: Answers, published: Iterable[PublishedValue]
) -> list[AgreementRow]:
    """Compare answers with each metric, and the first two raters with each other.

    Args:
        key: key of the questionnaire.
        read: all answers.
        published: values of the paper, which stand beside ours.

    Returns:
        a row for each group of models, metric and way of counting answers. The column ``scenario``
        of the row has the name of the group, which the paper on FVD calls a scenario.
    """
    judged = _judged_pairs(key, read)
    printed: dict[tuple[str, str], float] = {}
    for entry in published:
        if entry.dimension == "agreement":
            printed[entry.run, entry.model] = entry.value
        elif entry.dimension == "resolution":
            printed[f"{entry.model} {entry.run}", "FVD"] = entry.value
    rows = []
    points = [(scenario, [scenario]) for scenario in key.scenarios]
    for scenario, parts in [*points, *merge_bases(key.scenarios)]:
        names = {part.name for part in parts}
        pairs = [pair for pair in judged if names & {*pair.question.scenarios}]
        metrics = [scenario.metric] if scenario.kind == "gap" else list(key.about.metrics)
        # Figure 5 counts answers of no difference; how Table 1 counts them is not said.
        papers = ALL_ANSWERS if scenario.kind == "gap" else DECIDED
        kinds = [(name, how) for name in metrics for how in (DECIDED, ALL_ANSWERS, MAJORITY)]
        if scenario.kind != "gap":
            kinds.append((RATERS, ALL_ANSWERS))
        for metric, counting in kinds:
            is_printed = metric == RATERS or counting == papers
            value = printed.get((scenario.name, metric)) if is_printed else None
            rows.append(_row(key, scenario, pairs, metric, counting, value))
    return rows


def merge_bases(scenarios: Iterable[ModelGroup]) -> list[tuple[ModelGroup, list[ModelGroup]]]:
    """Merge groups of models that differ by the same step from their base.

    A group (called scenario, as in the paper on FVD) has a base model, such as one with an FVD of
    200, and models whose FVD is worse by a fixed step, such as 50. It is a point of Figure 5 of the
    paper. Groups with different bases and the same step are merged.

    Args:
        scenarios: all groups of models of a study (see `stp.studies.answer_key.ModelGroup`); those
            without a step are ignored.

    Returns:
        for each step with several bases, the merged group, such as ``all bases +50``, and the
        groups that it consists of.
    """
    # One base and five models give five pairs, too few for an interval; two bases give ten.
    steps: dict[float, list[ModelGroup]] = {}
    for scenario in scenarios:
        if scenario.step is not None:
            steps.setdefault(scenario.step, []).append(scenario)
    merged = []
    for step, points in steps.items():
        if len(points) > 1:
            models = list(dict.fromkeys(name for point in points for name in point.models))
            reason = "" if models else points[0].reason
            changes = {"name": f"all bases +{step:g}", "models": models, "reason": reason}
            unset = dict.fromkeys(("base", "low", "high"))
            merged.append((points[0].model_copy(update=changes | unset), points))
    return merged


def _judged_pairs(key: PairKey, read: Answers) -> list[Judged]:
    numbers: dict[frozenset[str], int] = {}
    judged = []
    for number, answers in answers_by_question(key, read).items():
        question = key.questions[number]
        pair = numbers.setdefault(frozenset(question.choices.values()), len(numbers))
        if answers:
            judged.append(Judged(question, pair, counting_answers(answers)))
    return judged


def _choices(answers: Sequence[Answer], counting: str) -> list[tuple[str | None, str]]:
    """Chosen models, each with the rater who chose it; empty rater for a choice by majority."""
    if counting == MAJORITY:
        model, votes = Counter(answer.model for answer in answers).most_common(1)[0]
        return [(model, "")] if votes >= 2 and model is not None else []
    return [
        (answer.model, answer.rater)
        for answer in answers
        if counting == ALL_ANSWERS or answer.model is not None
    ]


def _row(
    key: PairKey,
    scenario: ModelGroup,
    judged: Sequence[Judged],
    metric: str,
    counting: str,
    published: float | None,
) -> AgreementRow:
    votes: list[Vote] = []
    questions: set[str] = set()
    ties, reason = 0, "" if scenario.models else scenario.reason
    of_raters = counting != MAJORITY and metric != RATERS
    convention = "" if metric == RATERS else key.about.metrics[metric].convention
    models = [key.models[name] for name in scenario.models]
    if metric == RATERS:
        for pair in judged:
            if len(pair.answers) >= 2:
                votes.append(Vote(agree(pair.answers), "", pair.pair))
                questions.add(pair.question.id)
    elif scenario.kind == "equal" and metric == scenario.metric:
        reason, of_raters = CHOSEN_EQUAL, False
    else:
        if not reason and all(model.values.get(metric) is None for model in models):
            reason = f"no value of {convention}"
        for pair in judged:
            better = key.better(metric, pair.question)
            ties += better is None
            for model, rater in _choices(pair.answers, counting) if better is not None else []:
                votes.append(Vote(model == better, rater, pair.pair))
                questions.add(pair.question.id)
    value: float | None = None
    low: float | None = None
    high: float | None = None
    no_interval = ""
    if not reason:
        total = share(votes, of_raters=of_raters, resamples=RESAMPLES)
        value, (low, high, no_interval) = total.value, total.clustered
        if value is None:
            reason = "no answer counts" if judged else NOBODY
    raters = {answer.rater for pair in judged for answer in pair.answers}
    return AgreementRow(
        source=" and ".join(sorted({model.source for model in models})),
        scale=key.scale,
        protocol=" and ".join(sorted({model.protocol for model in models} - {""})),
        comparable=False,
        study=key.study,
        scenario=scenario.name,
        kind=scenario.kind,
        metric=metric,
        convention=convention,
        counting=counting,
        value=_percent(value),
        ci95_low=_percent(low),
        ci95_high=_percent(high),
        reason=reason or no_interval or None,
        pairs=len({vote.question for vote in votes}),
        comparisons=len(questions),
        answers=len(votes),
        raters=len({vote.rater for vote in votes} if of_raters else raters),
        ties=ties,
        simulated=any(name.startswith(SIMULATED) for name in raters),
        published=published,
    )


def _percent(value: float | None) -> float | None:
    return None if value is None else round(100 * value, 6)
