"""Choose models, and write the questionnaire that shows their videos in pairs.

The first page asks everybody about all pairs. Who has the answers makes the next page from it,
which asks one more person about the pairs that need one: two people answer each, and a third one
only where these two disagree (section 4.3 of the paper on FVD).
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from stp.core.disk import beside, write_text, writing
from stp.core.errors import StpError
from stp.core.job import Report, silent
from stp.data.pixels import pixels
from stp.human_study.answers import read_answers
from stp.human_study.key import LETTERS, REMEDY, kept_path
from stp.human_study.pair_answers import asked_of, needs_rater
from stp.human_study.pair_key import Compared, PairKey, Rated, Scenario, Scored, load_pair_key
from stp.human_study.pair_options import FILE, PairStudy, load_pair_study
from stp.human_study.population import Population, read_population
from stp.human_study.questionnaire import Opaque, page
from stp.human_study.selection import choose
from stp.render.pictures import sprites

TITLE = "Which video looks better?"
INTRO = (
    "Each question shows two short videos that computers have made up. Choose the one that looks "
    "better to you, or say that you cannot tell them apart. Nothing has to be done in one go, "
    "since your answers are kept in this browser. Number of questions: "
)
INDISTINGUISHABLE = "Indistinguishable"


@dataclass(frozen=True)
class _Pair:
    """Two models that are compared on one clip, and the scenarios that want it."""

    first: str
    second: str
    clip: str
    scenarios: list[str]


def write_pairs(
    population: Path,
    out: Path,
    *,
    where: str = "",
    study_file: Path = FILE,
    report: Report = silent,
) -> PairKey:
    """Write the page, and beside it ``key.json`` and a copy of it named after the study.

    Args:
        population: a results store, or a CSV file, see `stp.human_study.population`.
        out: path of the page (.html).
        where: of a store, a condition in SQL on table ``cells``.
        study_file: what to ask about.
        report: is told the progress.

    Raises:
        StpError: the population is damaged or too small, videos do not fit each other, or the page
            becomes larger than it may.
    """
    key_path = out.with_name("key.json")
    if key_path.exists() and load_pair_key(key_path) is None:
        raise StpError(
            f"{key_path} belongs to a questionnaire of another kind, which stays",
            expected="a folder of its own for the questionnaire about pairs",
            remedy="name one with --out",
        )
    study = load_pair_study(study_file)
    found = read_population(population, study.metrics, where)
    scenarios = choose(study, found.models)
    names = list(dict.fromkeys(name for one in scenarios for name in one.models))
    if not names:
        reasons = dict.fromkeys(f"{one.name}: {one.reason}" for one in scenarios)
        raise StpError(
            f"{population}: no models for any comparison\n" + "\n".join(reasons),
            expected=f"at least {study.models} models with values of a metric",
            remedy=f"score more models, or ask for fewer in {study_file}",
        )
    clips = found.clips(names, study.videos, study.seed)
    videos, opaque = _videos(study, found, names, clips, report)
    questions = sorted(
        (_compared(pair, opaque) for pair in _pairs(scenarios, clips)), key=lambda one: one.id
    )
    html, checksum, pictures = _fitting(study, questions, videos, found, names)
    key = PairKey(
        study=checksum,
        scale=found.scale,
        population=str(population),
        size=len(found.models),
        question=study.question,
        seed=study.seed,
        pictures=pictures,
        metrics={
            heading: Scored(one.convention, one.higher_is_better)
            for heading, one in study.metrics.items()
        },
        models={name: found.models[name] for name in names},
        scenarios=scenarios,
        questions=questions,
    )
    with writing(out), ExitStack() as stack:
        # The stack unwinds from the last entry to the first: the page stands for both.
        page_file, key_file = (stack.enter_context(beside(path)) for path in (out, key_path))
        key_file.write_text(key.text(), encoding="utf-8")
        page_file.write_text(html, encoding="utf-8", newline="\n")
        write_text(kept_path(key_path, key.study), key.text())
    return key


def nobody_asked(study: PairStudy) -> PairKey:
    """A key without models, for the table of printed values before anybody was asked."""
    rated: dict[str, Rated] = {}
    scenarios = [
        Scenario(**{**vars(one), "reason": "nobody was asked"}) for one in choose(study, rated)
    ]
    return PairKey(
        study="",
        scale="",
        population="",
        size=0,
        question=study.question,
        seed=study.seed,
        pictures="",
        metrics={
            heading: Scored(one.convention, one.higher_is_better)
            for heading, one in study.metrics.items()
        },
        models=rated,
        scenarios=scenarios,
        questions=[],
    )


def _pairs(scenarios: Sequence[Scenario], clips: Sequence[str]) -> list[_Pair]:
    """All pairs of models of a scenario, or a base with each other model, on each clip.

    What two scenarios want is asked once.
    """
    found: dict[tuple[frozenset[str], str], _Pair] = {}
    for scenario in scenarios:
        pairs = combinations(scenario.models, 2)
        for first, second in pairs:
            if scenario.kind == "gap" and first != scenario.models[0]:
                continue
            for clip in clips:
                new = _Pair(first, second, clip, [])
                pair = found.setdefault((frozenset((first, second)), clip), new)
                pair.scenarios.append(scenario.name)
    return list(found.values())


def _videos(
    study: PairStudy,
    population: Population,
    names: Sequence[str],
    clips: Sequence[str],
    report: Report,
) -> tuple[dict[str, np.ndarray], Opaque]:
    """8-bit frames (T, H, W, 3) by opaque id; and who names them."""
    # Values of metrics are as little known to raters as predictions are.
    secret = hashlib.sha256(study.model_dump_json().encode())
    read: dict[tuple[str, str], np.ndarray] = {}
    first: tuple[str, tuple[int, ...]] | None = None
    for name in names:
        secret.update(json.dumps(population.models[name].values).encode())
        for clip in clips:
            frames = population.video(name, clip)
            if not np.isfinite(frames).all():
                raise StpError(
                    f"{name}, clip {clip}: frames are missing or not finite",
                    expected="videos without gaps",
                    remedy="leave this model out of the population",
                )
            secret.update(np.ascontiguousarray(frames).tobytes())
            made = pixels(frames)
            first = first or (name, made.shape)
            if made.shape != first[1]:
                raise StpError(
                    f"{name}, clip {clip}: {_size(made.shape)}, but {first[0]} has "
                    f"{_size(first[1])}",
                    expected="videos of one length and size, as people would see the difference",
                    remedy="leave out other lengths and sizes, of a results store with --where",
                )
            read[name, clip] = made
            report("videos read", len(read), len(names) * len(clips))
    opaque = Opaque(secret.digest())
    return {opaque(_video(*one)): frames for one, frames in read.items()}, opaque


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[0]} frames of {shape[2]} x {shape[1]} pixels"


def _video(model: str, clip: str) -> str:
    return json.dumps([model, clip])


def _compared(pair: _Pair, opaque: Opaque) -> Compared:
    ids = {opaque(_video(name, pair.clip)): name for name in (pair.first, pair.second)}
    # By id: the order of the file tells nothing.
    return Compared(
        id=opaque(json.dumps(["pair", *sorted((pair.first, pair.second)), pair.clip])),
        clip=pair.clip,
        scenarios=pair.scenarios,
        choices=dict(sorted(ids.items())),
    )


def _fitting(
    study: PairStudy,
    questions: Sequence[Compared],
    videos: Mapping[str, np.ndarray],
    population: Population,
    names: Sequence[str],
) -> tuple[str, str, str]:
    """The page with the best pictures that fit, its checksum, and how pictures are encoded."""
    shape = next(iter(videos.values())).shape
    sources = {population.models[name].source for name in names}
    for quality in sprites.QUALITIES:
        encoded: dict[str, Any] = {}
        size = 0
        for name in sorted(videos):
            sheet = sprites.sheet(videos[name], quality)
            encoded[name] = sheet._asdict()
            size += len(sheet.uri)
            if size > study.max_megabytes * 1e6:
                break
        if size > study.max_megabytes * 1e6:
            continue
        content = {
            "text": study.question,
            "title": TITLE,
            "intro": INTRO,
            "none_text": INDISTINGUISHABLE,
            "cannot_tell": True,
            "frames_per_second": study.frames_per_second,
            "consent": study.consent,
            "return_to": study.return_to,
            "age_groups": [],
            "genders": [],
            "letters": LETTERS[:2],
            "note": "This is a trial: its clips are made up by a program, or a small sample."
            if sources & {"synthetic", "sample"}
            else "",
            "size": [shape[2], shape[1]],
            "pitch": [sprites.pitch(shape[2]), sprites.pitch(shape[1])],
            "videos": encoded,
            "questions": [
                {"id": one.id, "choices": [{"id": name} for name in one.choices]}
                for one in questions
            ],
        }
        checksum = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
        html = page({"study": checksum, "round": "first", **content})
        if len(html.encode()) <= study.max_megabytes * 1e6:
            how = "lossless WebP" if quality is None else f"JPEG 4:4:4 of quality {quality}"
            return html, checksum, how
    raise StpError(
        f"the questionnaire would be too large even with pictures of quality "
        f"{sprites.QUALITIES[-1]}",
        expected=f"at most {study.max_megabytes:g} MB (max_megabytes)",
        remedy="ask for fewer models or videos, or allow more, in config/human_pairs.yaml",
    )


def write_next_page(first_page: Path, answers: Sequence[Path], out: Path) -> tuple[int, int]:
    """Write the page for the pairs that need one more rater, from the first page and answers.

    It shows nobody a pair that they have answered before, as long as they use the same browser.

    Args:
        first_page: the page that `write_pairs` wrote, with ``key.json`` beside it.
        answers: files of answers, or folders of them.
        out: path of the new page (.html).

    Returns:
        how many pairs it asks about: those of which the first two raters disagree, and those with
        fewer than two answers.

    Raises:
        StpError: the page or the key is missing or damaged, answers cannot be read or belong to
            another questionnaire, no pair needs anybody; or ``out`` is the first page.
    """
    if out.resolve() == first_page.resolve():
        raise StpError(
            f"{out} is the first page, which is not to be replaced",
            expected="another name for the page that is made from answers",
            remedy="name it with --out",
        )
    key_path = first_page.with_name("key.json")
    key = load_pair_key(key_path)
    payload = _payload(first_page)
    listed = [one["id"] for one in payload["questions"]]
    if key is None or payload["study"] != key.study or listed != [q.id for q in key.questions]:
        raise StpError(
            f"{key_path} is not the key of {first_page}",
            expected="the page and the key that `stp questionnaire --pairs` wrote together",
            remedy=REMEDY,
        )
    given = asked_of(key, read_answers(answers, key, key_path))
    wanted = {key.questions[number].id: needs_rater(own) for number, own in given.items()}
    named = {key.questions[number].id: [one.rater for one in own] for number, own in given.items()}
    questions = [
        {**one, "answered_by": named[one["id"]]}
        for one in payload["questions"]
        if wanted[one["id"]]
    ]
    if not questions:
        raise StpError(
            "no pair needs another rater: each has two answers that agree, or three",
            remedy="make the table: stp preferences",
        )
    used = {choice["id"] for one in questions for choice in one["choices"]}
    payload["videos"] = {name: one for name, one in payload["videos"].items() if name in used}
    payload["questions"] = questions
    payload["round"] = hashlib.sha256(json.dumps(questions).encode()).hexdigest()[:8]
    with writing(out):
        write_text(out, page(payload))
    third = sum(wanted[one["id"]] == "third" for one in questions)
    return third, len(questions) - third


def _payload(path: Path) -> dict[str, Any]:
    """What a page knows, as `page` wrote it."""
    try:
        html = path.read_text(encoding="utf-8")
        match = re.search(r'<script type="application/json" id="study">(.*?)</script>', html)
        found: Any = json.loads(match[1]) if match else None
        if not isinstance(found, dict) or not {"study", "videos", "questions"} <= set(found):
            raise ValueError("it has no pairs of videos")
    except (OSError, ValueError, RecursionError) as error:
        raise StpError(
            f"{path} is no questionnaire about pairs ({error})",
            expected="the page that `stp questionnaire --pairs` wrote",
            remedy="name it with --page, or write it again: the same videos give the same page",
        ) from None
    return found
