"""Count answers to "which is best?": shares of models, and agreement with metrics per clip."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stp.plan.manifest import Manifest
from stp.score.tables import read_samples
from stp.studies.answer_key import BestOfKey, Source
from stp.studies.answers import Answer, Answers
from stp.studies.shares import Share, Vote, share

FEWEST_RATERS = 5
"""Minimum number of raters of a reported group by age or gender: raters of a smaller one could be
recognised."""

CANNOT_TELL = "cannot tell"

PER_CLIP = {
    "LPIPS": "lpips.alex",
    "SSIM": "ssim.range2",
    "PSNR": "psnr.per_frame",
    "MSE": "mse.pixel_mean",
    "Predicted quality": "predicted_quality.squeezenet",
}
"""Conventions whose value for a clip is the mean over its frames, or its only value."""

SETS_ONLY = "FVD compares sets of clips and has no value for one clip"


class Tally(NamedTuple):
    """How often answers name a model as the best, or agree with a metric.

    Attributes:
        subject: name of the model, ``CANNOT_TELL``, or heading of the metric.
        share: share of the answers. For a model, "cannot tell" counts as an answer. For a metric,
            it does not, and if k models are best with equal values, an answer that names one of
            them counts 1/k.
        raters: number of raters who gave the answers.
        questions: number of questions that were answered; for a metric, only questions for which
            all models have a value.
        dataset: name of the dataset; empty for all datasets together.
        group: group of raters, such as ``age: 25-34``; empty for all raters.
        convention: convention of the metric.
        chance: expected share of random choices; None for ``CANNOT_TELL``, and for a metric without
            answers.
        won: number of questions in which no other model was chosen more often; if k models
            share the first place, each gets 1/k of the question.
        reason: reason why a metric has no share, or a share of some questions only; empty
            otherwise.
    """

    subject: str
    share: Share
    raters: int
    questions: int
    dataset: str = ""
    group: str = ""
    convention: str = ""
    chance: float | None = None
    won: float = 0.0
    reason: str = ""


def _tally(key: BestOfKey, subject: str, answers: Sequence[Answer], hits: Sequence[float]) -> Tally:
    votes = [
        Vote(hit, answer.rater, answer.question, key.questions[answer.question].dataset)
        for answer, hit in zip(answers, hits, strict=True)
    ]
    raters, questions = {vote.rater for vote in votes}, {vote.question for vote in votes}
    return Tally(subject, share(votes), len(raters), len(questions))


def _select_answers(key: BestOfKey, answers: Iterable[Answer], dataset: str) -> list[Answer]:
    """The answers about the clips of a dataset; about all clips if its name is empty."""
    return [a for a in answers if dataset in ("", key.questions[a.question].dataset)]


def counts(key: BestOfKey, read: Answers) -> list[Tally]:
    """Compute the share of answers that name each model as the best.

    Returns:
        shares over all datasets, over each dataset, and over each group of raters (by age or
        gender) that is large enough.
    """
    tallies = [
        tally._replace(dataset=dataset)
        for dataset in ["", *key.datasets]
        for tally in _by_model(key, _select_answers(key, read.answers, dataset))
    ]
    for group, members in groups(read).items():
        answers = [answer for answer in read.answers if answer.rater in members]
        tallies += (tally._replace(group=group) for tally in _by_model(key, answers))
    return tallies


def _by_model(key: BestOfKey, answers: Sequence[Answer]) -> Iterable[Tally]:
    won = _won(answers)
    for model in key.models:
        tally = _tally(key, model, answers, [answer.model == model for answer in answers])
        yield tally._replace(chance=1 / len(key.models), won=won[model])
    if key.about.cannot_tell:
        yield _tally(key, CANNOT_TELL, answers, [answer.model is None for answer in answers])


def groups(read: Answers) -> dict[str, set[str]]:
    """Names of the raters in each group that may be reported, by name of the group.

    Groups of fewer than ``FEWEST_RATERS`` raters are left out. Further groups, the smallest first,
    are left out until at least ``FEWEST_RATERS`` raters are in none of the reported groups;
    otherwise, the total minus the reported groups would reveal their answers.
    """
    reported: dict[str, set[str]] = {}
    for kind in ("age", "gender"):
        by_value: dict[str, set[str]] = defaultdict(set)
        for rater in read.raters.values():
            by_value[getattr(rater, kind)].add(rater.name)
        if set(by_value) == {""}:
            continue  # no answers
        sizes = {value: len(names) for value, names in by_value.items()}
        large = [value for value in sizes if sizes[value] >= FEWEST_RATERS]
        large.sort(key=lambda value: (-sizes[value], value))
        hidden = sum(sizes.values()) - sum(sizes[value] for value in large)
        while large and 0 < hidden < FEWEST_RATERS:
            hidden += sizes[large.pop()]
        for value in sorted(large, key=lambda value: (value == "", value)):
            reported[f"{kind}: {value or 'not given'}"] = by_value[value]
    return reported


def positions(key: BestOfKey, read: Answers) -> list[Share]:
    """Share of choices at each position on the page, from the first to the last.

    The shares are about equal if raters look at the videos, whose order is random.
    """
    answers = [answer for answer in read.answers if answer.position is not None]
    return [
        _tally(key, "", answers, [answer.position == number for answer in answers]).share
        for number in range(len(key.models))
    ]


def _won(answers: Iterable[Answer]) -> Mapping[str, float]:
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for answer in answers:
        if answer.model is not None:
            votes[answer.question][answer.model] += 1
    won: dict[str, float] = defaultdict(float)
    for by_model in votes.values():
        most = max(by_model.values())
        winners = [model for model, number in by_model.items() if number == most]
        for model in winners:
            won[model] += 1 / len(winners)
    return won


def agreements(key: BestOfKey, read: Answers, manifest: Manifest | None) -> list[Tally]:
    """Compute the share of answers that name the model that is best by a metric.

    Shares are computed for each metric, over all datasets and over each dataset.

    Args:
        key: key of the study.
        read: all answers.
        manifest: plan of the short-term table, which lists the scores of the predictions that
            raters saw. Without it, tallies have a reason instead of a share.

    Raises:
        StpError: scores are damaged.
    """
    tallies = []
    for metric, convention in PER_CLIP.items():
        values, reasons = _values(key, manifest, convention)
        best = {
            number: {model for model, value in by_model.items() if value == max(by_model.values())}
            for number, by_model in values.items()
        }
        choices = [a for a in read.answers if a.question in best and a.model is not None]
        for dataset in ["", *key.datasets]:
            answers = _select_answers(key, choices, dataset)
            hits = [(a.model in best[a.question]) / len(best[a.question]) for a in answers]
            of_datasets = [dataset] if dataset else key.datasets
            missing = [reasons[name] for name in of_datasets if name in reasons]
            tallies.append(
                _tally(key, metric, answers, hits)._replace(
                    dataset=dataset,
                    convention=convention,
                    chance=1 / len(key.models) if answers else None,
                    reason="; ".join(dict.fromkeys(missing)),
                )
            )
    tallies.append(_tally(key, "FVD", [], [])._replace(reason=SETS_ONLY))
    return tallies


def _values(
    key: BestOfKey, manifest: Manifest | None, convention: str
) -> tuple[dict[int, dict[str, float]], dict[str, str]]:
    """Values by question and model, larger is better; and reasons for missing values by dataset."""
    values: dict[int, dict[str, float]] = defaultdict(dict)
    reasons: dict[str, str] = {}
    for source in key.sources:
        by_clip, reason = _samples(source, manifest, convention)
        if reason:
            reasons.setdefault(source.dataset, f"{key.datasets[source.dataset]}: {reason}")
        for number, question in enumerate(key.questions):
            if question.dataset == source.dataset:
                values[number][source.model] = by_clip.get(question.clip, np.nan)
    for number, by_model in list(values.items()):
        if np.isnan(list(by_model.values())).any():
            dataset = key.questions[number].dataset
            reason = f"{key.datasets[dataset]}: some clips have no {convention}"
            reasons.setdefault(dataset, reason)
            del values[number]
    return values, reasons


def _samples(
    source: Source, manifest: Manifest | None, convention: str
) -> tuple[dict[str, float], str]:
    """Value by clip, larger is better; and the reason if there are none."""
    if manifest is None:
        return {}, "no manifest was named"
    cell = next((c for c in manifest.cells if c.predictions == source.predictions), None)
    if cell is None:
        return {}, "these predictions are no longer part of the plan"
    about = manifest.conventions.get(convention)
    if about is None or about.higher_is_better is None:
        return {}, f"{convention} is not computed at this scale"
    for folder in cell.folders(("scores", "perceptual")):
        by_clip = _read(folder, convention)
        if by_clip is not None:
            sign = 1.0 if about.higher_is_better else -1.0
            return {clip: sign * value for clip, value in by_clip.items()}, ""
    reason = manifest.unavailable.get(convention)
    return {}, reason or f"no scores of single clips in {convention}"


def _read(folder: Path, convention: str) -> dict[str, float] | None:
    """Value by clip, NaN for clips far from all rated videos; None if there are no values."""
    if not (folder / "sample_scores.parquet").is_file():
        return None
    if samples := read_samples(folder, convention):
        return {
            clip: float(np.mean(values)) if values else np.nan
            for clip, values in zip(*samples, strict=True)
        }
    rated = read_samples(folder, f"{convention}.rated")
    quality = read_samples(folder, f"{convention}.quality")
    if rated is None or quality is None:
        return None
    return {
        clip: float(values[-1]) if values and is_rated and is_rated[-1] == 1 else np.nan
        for clip, values, is_rated in zip(*quality, rated[1], strict=True)
    }
