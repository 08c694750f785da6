"""Write the pages of a questionnaire, and its answer key, which raters never get.

A page is one file. It contains no names of models and nothing that can be computed from a name: ids
of questions and pictures are keyed hashes, and the secret of the hash is made from data that only
the author of the study has (predicted values, files of videos). The same predictions give the same
page.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from stp.core.disk import atomic_path, writing
from stp.core.errors import FileError, StpError
from stp.core.job import Report
from stp.render.pictures import sprites
from stp.studies.answer_key import Key, key_copy_path

PARTS = Path(__file__).parent
"""Folder of this package with the page's HTML, CSS and JavaScript."""
TRIAL = "This is a trial: its clips are synthetic, or a small sample."

Json = dict[str, Any]


class Opaque:
    """A keyed hash function from names to ids, which cannot be computed without its secret.

    Args:
        secret: key of the hash.
    """

    def __init__(self, secret: bytes) -> None:
        self.secret = secret

    def __call__(self, name: str) -> str:
        """Return the id of a name, 12 hexadecimal digits."""
        return hmac.new(self.secret, name.encode(), hashlib.sha256).hexdigest()[:12]


@dataclass(frozen=True)
class Page:
    """A page of a questionnaire, which is one HTML file.

    Attributes:
        path: path of the file.
        questions: ids of the questions whose answers count.
        own: data that only this page has, as JSON values by name: ``rater`` and ``session`` in a
            study of ratings, ``round`` in a study of pairs; empty otherwise.
        training: ids of the questions on which raters practise first; their answers do not count.
    """

    path: Path
    questions: Sequence[str]
    own: Json
    training: Sequence[str] = ()


@dataclass(frozen=True)
class Draft:
    """The content of a questionnaire before its pictures are encoded.

    Attributes:
        file: path of the configuration of the study.
        key: answer key of the questionnaire, without the checksum of the pages.
        words: texts and settings that all pages show, besides those of the configuration.
        pages: all pages.
        pictures: a function without arguments for each id of a picture (a clip on a page), which
            returns its frames, uint8 (T, H, W, 3).
        others: further pictures that a question shows besides its choices:
            ``{question: {"given": picture, "beside": picture}}``, with ids of questions and
            pictures. ``given`` is the context frames; ``beside`` is the true future, or in a study
            of ratings a natural video. Either may be absent.
    """

    file: Path
    key: Key
    words: Json
    pages: list[Page]
    pictures: Mapping[str, Callable[[], np.ndarray]]
    others: Mapping[str, Json] = field(default_factory=dict)

    def content(self, page: Page) -> Json:
        """Make the data that the scripts of a page read, without the pictures themselves.

        Args:
            page: the page, one of `pages`.

        Returns:
            the page's own data (`Page.own`) and two lists: ``questions``, whose answers count, and
            ``training``, on which raters practise first. Each entry of a list is a question:
            ``{"id": ..., "choices": [...]}``, with the ids of the pictures to choose from or to
            rate; further pictures have the keys ``given`` and ``beside`` (see `others`). Questions
            that count and all choices are sorted by id, so that their order reveals nothing.
        """
        by_id = {
            question.id: {
                "id": question.id,
                "choices": sorted(question.choices),
                **self.others.get(question.id, {}),
            }
            for question in self.key.questions
        }
        return {
            **page.own,
            "questions": [by_id[name] for name in sorted(page.questions)],
            "training": [by_id[name] for name in page.training],
        }


def _pictures(content: Json) -> list[str]:
    names: set[str] = set()
    for question in [*content["questions"], *content["training"]]:
        names.update(question["choices"])
        names.update(question[extra] for extra in ("given", "beside") if extra in question)
    return sorted(names)


def write_pages(draft: Draft, key_path: Path, report: Report) -> Key:
    """Write all pages of a questionnaire, and its answer key.

    Pictures have the best quality with which no page is larger than allowed. The key is written
    twice: to ``key_path``, and beside it to ``keys/<checksum of the pages>.json``, which later
    questionnaires do not overwrite.

    Args:
        draft: content of the questionnaire.
        key_path: path of the answer key.
        report: callback for the progress.

    Returns:
        the answer key, with the checksum of the pages.

    Raises:
        StpError: there is already a key for another kind of item, or a page would be larger than
            ``max_megabytes``.
    """
    mark = f'"item": "{draft.key.about.item}"'
    if key_path.exists() and mark not in key_path.read_text(encoding="utf-8", errors="replace"):
        raise FileError(
            key_path,
            "it belongs to a questionnaire of another kind",
            remedy=f"name another folder for a study of the item {draft.key.about.item} (--out)",
        )
    limit = draft.key.about.max_megabytes * 1e6
    contents = [draft.content(page) for page in draft.pages]
    for quality in sprites.QUALITIES:
        encoded = _encode_pictures(draft, contents, quality, limit, report)
        if encoded is None:
            continue
        visible = [_common_fields(draft), contents, encoded]
        checksum = hashlib.sha256(json.dumps(visible, sort_keys=True).encode()).hexdigest()[:16]
        encoding = "lossless WebP" if quality is None else f"JPEG 4:4:4 of quality {quality}"
        key = draft.key.model_copy(update={"study": checksum, "pictures": encoding})
        text = partial(_render_page, {"study": checksum, **_common_fields(draft)}, encoded)
        if all(len(text(content).encode()) <= limit for content in contents):
            break
    else:
        raise StpError(
            f"the questionnaire would be too large even with pictures of quality "
            f"{sprites.QUALITIES[-1]}",
            expected=f"at most {draft.key.about.max_megabytes:g} MB (max_megabytes)",
            remedy=f"ask for fewer items, or allow more, in {draft.file}",
        )
    with writing(key_path), ExitStack() as stack:
        # The stack unwinds from the last entry to the first: once all files are written, the keys
        # are put in place, and then the pages, whose presence means that the keys are complete.
        for number, (page, content) in enumerate(zip(draft.pages, contents, strict=True), start=1):
            temporary = stack.enter_context(atomic_path(page.path))
            temporary.write_text(text(content), encoding="utf-8", newline="\n")
            report("pages written", number, len(draft.pages))
        key_text = key.model_dump_json(indent=1) + "\n"
        for path in (key_path, key_copy_path(key_path, key.study)):
            stack.enter_context(atomic_path(path)).write_text(key_text, encoding="utf-8")
    return key


def _render_page(common: Json, encoded: Mapping[str, Json], content: Json) -> str:
    pictures = {name: encoded[name] for name in _pictures(content)}
    return html({**common, **content, "pictures": pictures})


def _common_fields(draft: Draft) -> Json:
    study = draft.key.about
    return {
        "item": study.item,
        "text": study.question,
        "frames_per_second": study.frames_per_second,
        "consent": study.consent,
        "return_to": study.return_to,
        "cannot_tell": study.cannot_tell,
        "age_groups": study.age_groups,
        "genders": study.genders,
        **draft.words,
    }


def _encode_pictures(
    draft: Draft, contents: list[Json], quality: int | None, limit: float, report: Report
) -> dict[str, Json] | None:
    """Sprite sheets by id, with the sizes of their frames; None if a page would be too large."""
    encoded: dict[str, Json] = {}
    for content in contents:
        size = 0
        for name in _pictures(content):
            if name not in encoded:
                frames = draft.pictures[name]()
                height, width = frames.shape[1:3]
                encoded[name] = {
                    **sprites.sheet(frames, quality)._asdict(),
                    "size": [width, height],
                    "pitch": [sprites.pitch(width), sprites.pitch(height)],
                }
                report("pictures encoded", len(encoded), len(draft.pictures))
            size += len(encoded[name]["uri"])
            if size > limit:
                return None
    return encoded


def html(payload: Json) -> str:
    """Make the HTML of a page, which contains its data and loads no other files.

    Args:
        payload: data of the page: texts, settings, questions and encoded pictures, as JSON values.
    """
    # "</script>" in a text must not end the script.
    study = json.dumps(payload, separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        "STYLE": f"<style>\n{(PARTS / 'page.css').read_text(encoding='utf-8')}</style>",
        "STUDY": f'<script type="application/json" id="study">{study}</script>',
        "SCRIPT": f"<script>\n{(PARTS / 'page.js').read_text(encoding='utf-8')}</script>",
    }
    text = (PARTS / "page.html").read_text(encoding="utf-8")
    for mark, part in parts.items():
        before, comment, after = text.partition(f"<!-- {mark} -->")
        assert comment, f"page.html has no {mark}"
        text = before + part + after
    return text


def read_page(path: Path) -> Json:
    """Read the data that are embedded in a page of a questionnaire.

    Args:
        path: path of the page.

    Returns:
        the data as JSON values by name, such as ``study``, ``questions`` and ``pictures``.

    Raises:
        StpError: the file is missing, or is not a page of a questionnaire.
    """
    try:
        text = path.read_text(encoding="utf-8")
        match = re.search(r'<script type="application/json" id="study">(.*?)</script>', text)
        payload: Any = json.loads(match[1]) if match else None
        if not isinstance(payload, dict) or not {"study", "pictures", "questions"} <= set(payload):
            raise ValueError("it has no questions")
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(
            path,
            f"not a page of a questionnaire ({error})",
            expected="a page that `stp study questionnaire` wrote",
            remedy="name it with --page, or write it again: the same videos give the same page",
        ) from None
    return payload
