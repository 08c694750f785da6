"""Make questionnaires about pairs of videos: two models' videos of the same clip.

The first page asks everybody about all pairs. The next page is made from the answers and asks one
more person about pairs that need another rater: two people answer each pair, and a third one only
if these two disagree (section 4.3 of the paper on FVD).
"""

import hashlib
import json
from collections.abc import Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

from stp.core.disk import write_text, writing
from stp.core.errors import FileError, StpError
from stp.core.job import Report
from stp.data.pixels import pixels
from stp.studies.answer_key import REMEDY, PairKey, PairQuestion, load_key
from stp.studies.answers import read_answers
from stp.studies.options import LETTERS, Pairs
from stp.studies.page import TRIAL, Draft, Opaque, Page, html, read_page
from stp.studies.pair_agreement import answers_by_question, needs_rater
from stp.studies.population import Population, read_population
from stp.studies.selection import choose

WORDS = {
    "title": "Which video looks better?",
    "intro": "Each question shows two short videos that computers have generated. Choose the one "
    "that looks better to you, or say that you cannot tell them apart. Nothing has to be done in "
    "one go, since your answers are kept in this browser. Number of questions: ",
    "choice": "Video",
    "none_text": "Indistinguishable",
    "letters": LETTERS[:2],
}


def pairs(
    study: Pairs, source: Path, where: str, out: Path, study_file: Path, report: Report
) -> Draft:
    """Make a questionnaire about pairs of videos: two models' videos of the same clip.

    Models are chosen by their scores, in groups (`stp.studies.selection.choose`). There is a
    question for each clip and each pair of models in a group. In a group with a base model, only
    pairs with the base are asked about. A pair that two groups have in common is asked about once.

    Args:
        study: configuration of the study.
        source: path of the results store or CSV file with the models to choose from, see
            `stp.studies.population`.
        where: SQL condition on table ``cells`` of a store, such as ``tested_on = 'bair'``; empty
            for all cells.
        out: path of the page (.html).
        study_file: path of the configuration of the study.
        report: callback for the progress.

    Returns:
        the questionnaire, whose pictures are not encoded yet.

    Raises:
        StpError: the source is damaged or has too few models, or videos differ in length or size.
    """
    population = read_population(source, study.metrics, where)
    scenarios = choose(study, population.models)
    names = list(dict.fromkeys(name for scenario in scenarios for name in scenario.models))
    if not names:
        reasons = dict.fromkeys(f"{scenario.name}: {scenario.reason}" for scenario in scenarios)
        raise StpError(
            f"{source}: no models for any comparison\n" + "\n".join(reasons),
            expected=f"at least {study.models} models with values of a metric",
            remedy=f"score more models, or ask for fewer in {study_file}",
        )
    clips = population.clips(names, study.videos, study.seed)
    videos, secret = _videos(study, population, names, clips, report)
    opaque = Opaque(secret)
    by_id: dict[str, PairQuestion] = {}  # a pair of two scenarios is asked about once
    for scenario in scenarios:
        for pair in combinations(scenario.models, 2):
            if scenario.kind == "gap" and pair[0] != scenario.models[0]:
                continue  # the base with each of the others
            for clip in clips:
                name = opaque(json.dumps(["pair", *sorted(pair), clip]))
                ids = {opaque(json.dumps([model, clip])): model for model in pair}
                choices = dict(sorted(ids.items()))
                new = PairQuestion(id=name, choices=choices, clip=clip, scenarios=[])
                by_id.setdefault(name, new).scenarios.append(scenario.name)
    sources = {population.models[name].source for name in names}
    key = PairKey(
        about=study,
        scale=population.scale,
        population=str(source),
        size=len(population.models),
        models={name: population.models[name] for name in names},
        scenarios=scenarios,
        questions=sorted(by_id.values(), key=lambda question: question.id),
    )
    pictures = {
        opaque(json.dumps(name)): partial(np.asarray, frames) for name, frames in videos.items()
    }
    words = {**WORDS, "note": TRIAL if sources & {"synthetic", "sample"} else ""}
    page = Page(out, list(by_id), {"round": "first"})
    return Draft(study_file, key, words, [page], pictures)


def empty_key(study: Pairs) -> PairKey:
    """Make an answer key without models and questions, for a study that asked nobody.

    With this key, the table of agreement of metrics with people can be made although there are no
    answers. All values in it are then published ones, from Table 1 and Figure 5 of the paper on
    FVD.

    Args:
        study: configuration of the study, which determines the columns of the table.
    """
    reason = {"reason": "nobody was asked"}
    scenarios = [scenario.model_copy(update=reason) for scenario in choose(study, {})]
    return PairKey(about=study, models={}, scenarios=scenarios, questions=[])


def _videos(
    study: Pairs,
    population: Population,
    names: Sequence[str],
    clips: Sequence[str],
    report: Report,
) -> tuple[dict[tuple[str, str], np.ndarray], bytes]:
    """8-bit frames (T, H, W, 3) by model and clip; and a secret that is computed from them."""
    # Raters know neither predictions nor values of metrics.
    secret = hashlib.sha256(study.model_dump_json().encode())
    videos: dict[tuple[str, str], np.ndarray] = {}
    for name in names:
        secret.update(json.dumps(population.models[name].values).encode())
        for clip in clips:
            frames = population.video(name, clip)
            if not np.isfinite(frames).all():
                raise StpError(
                    f"{name}, clip {clip}: frames are missing or not finite",
                    remedy="leave this model out of the population",
                )
            secret.update(np.ascontiguousarray(frames).tobytes())
            videos[name, clip] = pixels(frames)
            size, first = _size(videos[name, clip]), _size(next(iter(videos.values())))
            if size != first:
                raise StpError(
                    f"{name}, clip {clip}: {size}, but {names[0]} has {first}",
                    remedy="leave out other lengths and sizes (of a results store: --where)",
                )
            report("videos read", len(videos), len(names) * len(clips))
    return videos, secret.digest()


def _size(video: np.ndarray) -> str:
    frames, height, width, _ = video.shape
    return f"{frames} frames of {width} x {height} pixels"


def write_next_page(first_page: Path, answers: Sequence[Path], out: Path) -> tuple[int, int]:
    """Write the page about the pairs that need one more rater, from the first page and answers.

    Raters who use the same browser again do not see pairs that they have already answered.

    Args:
        first_page: path of the first page, beside which the answer key ``key.json`` lies.
        answers: paths of the files of answers to earlier pages.
        out: path of the new page (.html).

    Returns:
        number of pairs on which the first two raters disagree, and number of pairs with fewer than
        two answers; the page asks about all of these.

    Raises:
        StpError: the page or the key is missing or damaged, answers cannot be read or belong to
            another questionnaire, no pair needs another rater, or ``out`` is the first page.
    """
    if out.resolve() == first_page.resolve():
        raise StpError(f"{out} is the first page, which must stay", remedy="name another --out")
    key_path = first_page.with_name("key.json")
    key = load_key(key_path, PairKey)
    payload = read_page(first_page)
    ids = [question["id"] for question in payload["questions"]]
    if payload["study"] != key.study or ids != [question.id for question in key.questions]:
        raise FileError(key_path, f"not the key of {first_page}", remedy=REMEDY)
    by_question = answers_by_question(key, read_answers(answers, key, key_path)).values()
    needs = [needs_rater(pair_answers) for pair_answers in by_question]
    questions = [
        {**question, "answered_by": [answer.rater for answer in pair_answers]}
        for question, pair_answers, need in zip(
            payload["questions"], by_question, needs, strict=True
        )
        if need
    ]
    if not questions:
        raise StpError(
            "no pair needs another rater: each has two answers that agree, or three",
            remedy="make the table: stp study preferences",
        )
    pictures = {name for question in questions for name in question["choices"]}
    payload["pictures"] = {name: payload["pictures"][name] for name in sorted(pictures)}
    payload["questions"] = questions
    payload["round"] = hashlib.sha256(json.dumps(questions).encode()).hexdigest()[:8]
    with writing(out):
        write_text(out, html(payload))
    return needs.count("third"), needs.count("second")
