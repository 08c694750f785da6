"""Write the questionnaire: one file for raters, and the key that stays at home.

The page holds no name of a model and nothing that is made from one alone: choices are called by
a keyed hash whose key comes from the predicted values themselves, which are nowhere in the page
(it has 8-bit pictures) and which only who made the predictions has. The same predictions give the
same page.
"""

import hashlib
import hmac
import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stp.core.disk import beside, write_text, writing
from stp.core.errors import StpError
from stp.core.job import Report, silent
from stp.data.pixels import pixels
from stp.data.prepared import Prepared
from stp.human_study.key import LETTERS, Asked, Key, Source, kept_path
from stp.human_study.options import FILE, Study, demand, load_study
from stp.human_study.sampling import draw
from stp.plan.manifest import Cell, Manifest, load_manifest
from stp.render.pictures import sprites
from stp.score.predictions import Predictions

PARTS = Path(__file__).parent
"""The page's HTML, CSS and JavaScript are files of this package."""


@dataclass(frozen=True)
class _Clip:
    """A drawn clip: its question, and 8-bit frames (T, H, W, 3)."""

    asked: Asked
    given: np.ndarray
    truth: np.ndarray
    choices: dict[str, np.ndarray]


def write_questionnaire(
    manifest: Path, out: Path, *, study_file: Path = FILE, report: Report = silent
) -> Key:
    """Write the page, and beside it ``key.json`` and a copy of it named after the study.

    Args:
        manifest: of a dimension whose models are tested as they were trained; names predictions
            and data.
        out: path of the page (.html).
        study_file: what to ask about.
        report: is told the progress.

    Raises:
        StpError: the study asks about what is not there, data or predictions are damaged, or the
            page becomes larger than it may.
    """
    plan = load_manifest(manifest)
    study = load_study(plan.scale, study_file)
    cells = _cells(plan)
    demand(study, plan.scale, cells, study_file)
    clips = _clips(study, cells, report)
    sources = [_source(cells[model, name]) for name in study.clips for model in study.models]
    html, payload, pictures = _fitting(study, clips, sources, report)
    key = Key(
        study=payload["study"],
        scale=plan.scale,
        question=study.question,
        cannot_tell=study.cannot_tell,
        age_groups=list(study.age_groups),
        genders=list(study.genders),
        seed=study.seed,
        pictures=pictures,
        models={name: plan.names.models[name] for name in study.models},
        datasets={name: plan.names.datasets[name] for name in study.clips},
        sources=sources,
        questions=[clip.asked for clip in clips],
    )
    key_path = out.with_name("key.json")
    with writing(out), ExitStack() as stack:
        # The stack unwinds from the last entry to the first: the page stands for both.
        page, key_file = (stack.enter_context(beside(path)) for path in (out, key_path))
        key_file.write_text(key.text(), encoding="utf-8")
        page.write_text(html, encoding="utf-8", newline="\n")
        write_text(kept_path(key_path, key.study), key.text())
    return key


def _cells(plan: Manifest) -> dict[tuple[str, str], Cell]:
    """Cells by model and dataset, tested where they were trained; of several seeds the first."""
    found: dict[tuple[str, str], Cell] = {}
    for cell in plan.cells:
        key = cell.key
        if key.subset == "test" and key.trained_on == key.tested_on:
            found.setdefault((key.model, key.tested_on), cell)
    return found


def _source(cell: Cell) -> Source:
    key = cell.key
    return Source(
        dataset=key.tested_on,
        model=key.model,
        seed=key.seed,
        source=cell.source,
        release=cell.release,
        protocol=cell.protocol,
        official_paper_protocol=cell.official_paper_protocol,
        predictions=str(cell.demand_predictions()),
    )


def _clips(study: Study, cells: dict[tuple[str, str], Cell], report: Report) -> list[_Clip]:
    """Draw and read all clips, in the order of their ids."""
    drawn: list[tuple[str, int, str, str, np.ndarray, np.ndarray, dict[str, np.ndarray]]] = []
    secret = hashlib.sha256(study.model_dump_json().encode())
    total = sum(study.clips.values())
    for name, count in study.clips.items():
        data = Prepared(Path(cells[study.models[0], name].data))
        _demand_pictures(data, name)
        predictions = {}
        for model in study.models:
            folder = cells[model, name].demand_predictions()
            predictions[model] = Predictions(folder, data, cells[model, name].key.subset)
        index = next(iter(predictions.values())).index
        for sample in draw(index["cluster"], count, study.seed, name):
            reader = next(iter(predictions.values()))
            given, truth = (
                pixels(frames[0])
                for frames in (
                    reader.read_context(sample, sample + 1),
                    reader.read(sample, sample + 1)[1],
                )
            )
            choices = {}
            for model, one in predictions.items():
                # Of several forecasts of a sample, the first: a draw, as raters would get one.
                predicted = one.read(sample, sample + 1)[0][0, 0]
                secret.update(np.ascontiguousarray(predicted).tobytes())
                choices[model] = pixels(predicted)
            row = index.iloc[sample]
            about = (name, sample, str(row["clip"]), str(row["cluster"]))
            drawn.append((*about, given, truth, choices))
            report("clips read", len(drawn), total)
    opaque = Opaque(secret.digest())
    clips = []
    for name, sample, clip, cluster, given, truth, choices in drawn:
        ids = {model: opaque(f"{name}/{sample}/{model}") for model in choices}
        # By id: the order of the file tells nothing.
        in_order = sorted(ids, key=lambda model: ids[model])
        by_id = {ids[model]: model for model in in_order}
        asked = Asked(opaque(f"{name}/{sample}"), name, sample, clip, cluster, by_id)
        shown = {ids[model]: choices[model] for model in in_order}
        clips.append(_Clip(asked, given, truth, shown))
    return sorted(clips, key=lambda clip: clip.asked.id)


class Opaque:
    """Names that nobody can make without the secret."""

    def __init__(self, secret: bytes) -> None:
        self.secret = secret

    def __call__(self, name: str) -> str:
        return hmac.new(self.secret, name.encode(), hashlib.sha256).hexdigest()[:12]


def _demand_pictures(data: Prepared, name: str) -> None:
    is_video = data.frames.dtype == np.uint8 and data.shape[0] in (1, 3)
    if not is_video or data.attrs.get("variables"):
        raise StpError(
            f"human study: {name} is no video ({data.shape[0]} channels of {data.frames.dtype})",
            expected="datasets of 8-bit grey or colour pictures",
            remedy="leave it out of `clips` in config/human_study.yaml",
        )


def _fitting(
    study: Study, clips: list[_Clip], sources: list[Source], report: Report
) -> tuple[str, dict[str, Any], str]:
    """The page with the best pictures that fit, what it holds, and how they are encoded."""
    for quality in sprites.QUALITIES:
        payload = _payload(study, clips, sources, quality, report)
        if payload is None:
            continue
        html = page(payload)
        if len(html.encode()) <= study.max_megabytes * 1e6:
            how = "lossless WebP" if quality is None else f"JPEG 4:4:4 of quality {quality}"
            return html, payload, how
    raise StpError(
        f"human study: the questionnaire would be too large even with pictures of quality "
        f"{sprites.QUALITIES[-1]}",
        expected=f"at most {study.max_megabytes:g} MB (max_megabytes)",
        remedy="ask for fewer clips, or allow more in config/human_study.yaml",
    )


def _payload(
    study: Study,
    clips: list[_Clip],
    sources: list[Source],
    quality: int | None,
    report: Report,
) -> dict[str, Any] | None:
    """All that the page knows; ``study`` is the checksum of the rest. None if it is too large."""
    size = 0

    def encoded(frames: np.ndarray) -> dict[str, Any]:
        nonlocal size
        sheet = sprites.sheet(frames, quality)
        size += len(sheet.uri)
        return sheet._asdict()

    questions: list[dict[str, Any]] = []
    for clip in clips:
        report("questions encoded", len(questions), len(clips))
        if size > study.max_megabytes * 1e6:
            return None
        height, width = clip.truth.shape[1:3]
        questions.append(
            {
                "id": clip.asked.id,
                "size": [width, height],
                "pitch": [sprites.pitch(width), sprites.pitch(height)],
                "given": encoded(clip.given),
                "truth": encoded(clip.truth),
                "choices": [{"id": i, **encoded(frames)} for i, frames in clip.choices.items()],
            }
        )
    is_official = all(source.source == "official" for source in sources)
    content = {
        "text": study.question,
        "cannot_tell": study.cannot_tell,
        "frames_per_second": study.frames_per_second,
        "consent": study.consent,
        "return_to": study.return_to,
        "age_groups": study.age_groups,
        "genders": study.genders,
        "letters": LETTERS[: len(study.models)],
        "note": ""
        if is_official
        else "This is a trial: its clips are made up by a program, or a small sample.",
        "questions": questions,
    }
    checksum = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return {"study": checksum[:16], **content}


def page(payload: dict[str, Any], scripts: Sequence[str] = ("page.js",)) -> str:
    """Put the page together from its parts; nothing is loaded from anywhere.

    Args:
        payload: what the page knows.
        scripts: files of this package, in the order in which they run.
    """
    # "</script>" in a text must not end the script.
    study = json.dumps(payload, separators=(",", ":")).replace("<", "\\u003c")
    html = (PARTS / "page.html").read_text(encoding="utf-8")
    code = "".join((PARTS / name).read_text(encoding="utf-8") for name in scripts)
    for mark, text in (
        ("<!-- STYLE -->", f"<style>\n{(PARTS / 'page.css').read_text(encoding='utf-8')}</style>"),
        ("<!-- STUDY -->", f'<script type="application/json" id="study">{study}</script>'),
        ("<!-- SCRIPT -->", f"<script>\n{code}</script>"),
    ):
        before, found, after = html.partition(mark)
        assert found, f"page.html has no {mark}"
        html = before + text + after
    return html
