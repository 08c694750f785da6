"""Make questions about the best of several predictions of a clip."""

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from stp.core.errors import StpError
from stp.core.job import Report
from stp.data.pixels import pixels
from stp.data.prepared import Prepared
from stp.plan.manifest import Cell, load_manifest
from stp.score.predictions import Predictions
from stp.studies.answer_key import BestOfKey, ClipQuestion, Source
from stp.studies.options import LETTERS, BestOf, load_item
from stp.studies.page import TRIAL, Draft, Opaque, Page
from stp.studies.sampling import draw

WORDS = {
    "title": "Which prediction is best?",
    "intro": "Each question shows what really happened in a short clip, and several predictions of "
    "it. All were given the same first frames and had to guess how the clip goes on. Choose the "
    "one that you find best. Nothing has to be done in one go, since your answers are kept in this "
    "browser. Number of questions: ",
    "beside": "What really happened",
    "choice": "Prediction",
    "none_text": "I cannot tell",
}


def draw_best_of(manifest: Path, out: Path, study_file: Path, report: Report) -> Draft:
    """Choose clips at random, and read their predictions for a questionnaire.

    A question shows several models' predictions of one clip, and asks which is best.

    Args:
        manifest: path of a manifest (JSON list of the results that a table is made from), whose
            models are trained and tested on the same dataset.
        out: path of the page (.html).
        study_file: file of the configuration of the study (`BestOf`), which names models, numbers
            of clips and the seed of the choice.
        report: callback for the progress.

    Returns:
        the questionnaire, whose pictures are not encoded yet.

    Raises:
        StpError: datasets or models of the study were not evaluated, or data or predictions are
            damaged.
    """
    plan = load_manifest(manifest)
    study = load_item(BestOf, study_file, plan.scale)
    cells: dict[tuple[str, str], Cell] = {}
    for cell in plan.cells:  # the first of several seeds
        if cell.key.subset == "test" and cell.key.trained_on == cell.key.tested_on:
            cells.setdefault((cell.key.model, cell.key.tested_on), cell)
    study.demand(plan.scale, cells, study_file)
    secret = hashlib.sha256(study.model_dump_json().encode())
    drawn: list[tuple[str, int, str, str, dict[str, np.ndarray]]] = []
    for name, count in study.clips.items():
        readers = _readers(study, cells, name)
        reader = readers[study.models[0]]
        for sample in draw(reader.index["cluster"], count, study.seed, name):
            frames = {
                "given": pixels(reader.read_context(sample, sample + 1)[0]),
                "beside": pixels(reader.read(sample, sample + 1)[1][0]),
            }
            for model, predictions in readers.items():
                # The first of several forecasts of a sample: a random draw.
                predicted = predictions.read(sample, sample + 1)[0][0, 0]
                secret.update(np.ascontiguousarray(predicted).tobytes())
                frames[f"model {model}"] = pixels(predicted)
            row = reader.index.iloc[sample]
            drawn.append((name, sample, str(row["clip"]), str(row["cluster"]), frames))
            report("clips read", len(drawn), sum(study.clips.values()))
    opaque = Opaque(secret.digest())
    questions: list[ClipQuestion] = []
    others: dict[str, dict[str, str]] = {}
    pictures: dict[str, Callable[[], np.ndarray]] = {}
    for name, sample, clip, cluster, frames in drawn:
        ids = {part: opaque(f"{name}/{sample}/{part}") for part in frames}
        pictures |= {ids[part]: partial(np.asarray, video) for part, video in frames.items()}
        models = {ids[f"model {model}"]: model for model in study.models}
        choices = dict(sorted(models.items()))
        question = ClipQuestion(
            id=opaque(f"{name}/{sample}"), choices=choices, dataset=name, sample=sample, clip=clip,
            cluster=cluster,
        )  # fmt: skip
        questions.append(question)
        others[question.id] = {"given": ids["given"], "beside": ids["beside"]}
    sources = [_source(cells[model, name]) for name in study.clips for model in study.models]
    is_official = all(source.source == "official" for source in sources)
    letters = LETTERS[: len(study.models)]
    key = BestOfKey(
        about=study,
        scale=plan.scale,
        models={name: plan.names.models[name] for name in study.models},
        datasets={name: plan.names.datasets[name] for name in study.clips},
        sources=sources,
        questions=sorted(questions, key=lambda question: question.id),
    )
    words = {**WORDS, "letters": letters, "note": "" if is_official else TRIAL}
    page = Page(out, [question.id for question in questions], {})
    return Draft(study_file, key, words, [page], pictures, others)


def _readers(
    study: BestOf, cells: dict[tuple[str, str], Cell], dataset: str
) -> dict[str, Predictions]:
    data = Prepared(Path(cells[study.models[0], dataset].data))
    is_video = data.frames.dtype == np.uint8 and data.shape[0] in (1, 3)
    if not is_video or data.attrs.get("variables"):
        raise StpError(
            f"human study: {dataset} is not a video dataset ({data.shape[0]} channels of "
            f"{data.frames.dtype})",
            remedy="leave it out of `clips` in the configuration of the study",
        )
    by_model = {model: cells[model, dataset] for model in study.models}
    return {
        model: Predictions(cell.demand_predictions(), data, cell.key.subset)
        for model, cell in by_model.items()
    }


def _source(cell: Cell) -> Source:
    return Source(
        dataset=cell.key.tested_on,
        model=cell.key.model,
        seed=cell.key.seed,
        source=cell.source,
        release=cell.release,
        protocol=cell.protocol,
        official_paper_protocol=cell.official_paper_protocol,
        predictions=str(cell.demand_predictions()),
    )
