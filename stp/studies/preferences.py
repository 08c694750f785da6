"""Count answers to "which is best?": shares of models, and agreement with metrics clip by clip."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stp.plan.manifest import Manifest
from stp.score.tables import read_samples
from stp.studies.answer_key import BestOfKey, Source
from stp.studies.answers import Answer, Answers
from stp.studies.shares import Share, share

FEWEST_RATERS = 5
"""Of a group by age or gender that is reported: fewer could be recognised."""

CANNOT_TELL = "cannot tell"

PER_CLIP = {
    "LPIPS": "lpips.alex",
    "SSIM": "ssim.range2",
    "PSNR": "psnr.per_frame",
    "MSE": "mse.pixel_mean",
    "Predicted quality": "predicted_quality.squeezenet",
}
"""Conventions whose value for a clip is the mean of what its frames have, or the only one."""

SETS_ONLY = "FVD compares sets of clips and has no value for one clip"


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


def counts(key: BestOfKey, read: Answers) -> list[Count]:
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


def places(key: BestOfKey, read: Answers) -> list[Share]:
    """How often the prediction at each place of the page was chosen; by chance equally often."""
    told = [answer for answer in read.answers if answer.place is not None]
    return [_share(key, read, told, [a.place == n for a in told]) for n in range(len(key.models))]


def _count(
    key: BestOfKey, read: Answers, answers: list[Answer], dataset: str, group: str
) -> Iterable[Count]:
    raters = len({answer.rater for answer in answers})
    questions = len({answer.question for answer in answers})
    won = _won(answers)
    for model in [*key.models, *([CANNOT_TELL] if key.about.cannot_tell else [])]:
        wanted = None if model == CANNOT_TELL else model
        chosen = _share(key, read, answers, [a.model == wanted for a in answers])
        yield Count(dataset, group, model, raters, questions, chosen, won.get(model, 0.0))


def _share(
    key: BestOfKey, read: Answers, answers: Sequence[Answer], hits: Sequence[float]
) -> Share:
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


class Agreement(NamedTuple):
    """How often raters and a metric agree.

    Attributes:
        metric: as the paper's column is headed.
        convention: that was computed.
        dataset: name, or empty for all together.
        questions: how many have the metric for all models.
        raters: who answered them.
        agreed: the share of answers that name the metric's best model. Answers of raters who could
            not tell do not count; where k models are best, choosing one of them counts 1/k.
        chance: the share of somebody who chooses blindly; None without questions.
        reason: why there is nothing, or less than all questions; empty otherwise.
    """

    metric: str
    convention: str
    dataset: str
    questions: int
    raters: int
    agreed: Share
    chance: float | None
    reason: str


def agreements(key: BestOfKey, read: Answers, manifest: Manifest | None) -> list[Agreement]:
    """Compare answers with each metric, for all datasets together and for each.

    Args:
        key: of the study.
        read: the answers.
        manifest: of short_term, which names the scores of the predictions that raters saw.

    Raises:
        StpError: scores are damaged.
    """
    found = []
    for metric, convention in PER_CLIP.items():
        values, reasons = _values(key, manifest, convention)
        for dataset in ["", *key.datasets]:
            found.append(_agreement(key, read, (metric, convention), dataset, values, reasons))
    nothing = _share(key, read, [], [])
    found.append(Agreement("FVD", "", "", 0, 0, nothing, None, SETS_ONLY))
    return found


def _agreement(
    key: BestOfKey,
    read: Answers,
    metric: tuple[str, str],
    dataset: str,
    values: Mapping[int, dict[str, float]],
    reasons: Mapping[str, str],
) -> Agreement:
    asked = {n for n in values if not dataset or key.questions[n].dataset == dataset}
    used = [a for a in read.answers if a.question in asked and a.model is not None]
    best = {
        number: {model for model, value in own.items() if value == max(own.values())}
        for number, own in values.items()
        if number in asked
    }
    hits = [(a.model in best[a.question]) / len(best[a.question]) for a in used]
    why = [reasons[name] for name in key.datasets if name in reasons and dataset in ("", name)]
    return Agreement(
        *metric,
        dataset,
        len({a.question for a in used}),
        len({a.rater for a in used}),
        _share(key, read, used, hits),
        1 / len(key.models) if used else None,
        "; ".join(dict.fromkeys(why)),
    )


def _values(
    key: BestOfKey, manifest: Manifest | None, convention: str
) -> tuple[dict[int, dict[str, float]], dict[str, str]]:
    """Values by question and model, larger is better; by dataset, why there are none."""
    found: dict[int, dict[str, float]] = {}
    reasons: dict[str, str] = {}
    for dataset, title in key.datasets.items():
        of_models = {}
        for source in (source for source in key.sources if source.dataset == dataset):
            samples, reason = _samples(source, manifest, convention)
            if samples is None:
                reasons.setdefault(dataset, f"{title}: {reason}")
            else:
                of_models[source.model] = samples
        if dataset in reasons:
            continue
        for number, asked in enumerate(key.questions):
            if asked.dataset == dataset:
                found[number] = {m: s.get(asked.clip, np.nan) for m, s in of_models.items()}
        if any(np.isnan(list(found[n].values())).any() for n in found):
            found = {n: v for n, v in found.items() if not np.isnan(list(v.values())).any()}
            reasons[dataset] = f"{title}: some clips have no {convention}"
    return found, reasons


def _samples(
    source: Source, manifest: Manifest | None, convention: str
) -> tuple[dict[str, float] | None, str]:
    """Value of each clip, larger is better; or why there are none."""
    if manifest is None:
        return None, "no manifest was named"
    cell = next((c for c in manifest.cells if c.predictions == source.predictions), None)
    if cell is None:
        return None, "these predictions are no longer part of the plan"
    about = manifest.conventions.get(convention)
    if about is None or about.higher_is_better is None:
        return None, f"{convention} is not computed at this scale"
    for folder in cell.folders(("scores", "perceptual")):
        found = _read(folder, convention)
        if found is not None:
            sign = 1.0 if about.higher_is_better else -1.0
            return {c: sign * float(np.mean(v)) for c, v in zip(*found, strict=True)}, ""
    reason = manifest.unavailable.get(convention)
    return None, reason or f"no scores of single clips in {convention}"


def _read(folder: Path, convention: str) -> tuple[list[str], list[Any]] | None:
    """The clips and their values, NaN of those that are far from all rated videos; or None."""
    if not (folder / "sample_scores.parquet").is_file():
        return None
    if found := read_samples(folder, convention):
        return found
    rated = read_samples(folder, f"{convention}.rated")
    quality = read_samples(folder, f"{convention}.quality")
    if rated is None or quality is None:
        return None
    pairs = zip(quality[1], rated[1], strict=True)
    return quality[0], [q[-1] if q and r and r[-1] == 1 else np.nan for q, r in pairs]
