"""Write the pages of a questionnaire, and the key that stays at home.

A page is one file. It holds no name of a model and nothing that is made from one alone: questions
and pictures are called by a keyed hash, whose key comes from what only the writer of the study has
(predicted values, files of videos) and which is nowhere in the page. The same predictions give the
same page.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from stp.core.disk import beside, writing
from stp.core.errors import StpError
from stp.core.job import Report
from stp.render.pictures import sprites
from stp.studies.answer_key import Key, kept_path

PARTS = Path(__file__).parent
"""The page's HTML, CSS and JavaScript are files of this package."""
TRIAL = "This is a trial: its clips are made up by a program, or a small sample."

Json = dict[str, Any]


class Opaque:
    """Names that nobody can make without the secret."""

    def __init__(self, secret: bytes) -> None:
        self.secret = secret

    def __call__(self, name: str) -> str:
        """Of 12 hexadecimal digits."""
        return hmac.new(self.secret, name.encode(), hashlib.sha256).hexdigest()[:12]


def question(name: str, choices: Sequence[str], **pictures: str) -> Json:
    """A question as the page knows it.

    Args:
        name: its id.
        choices: ids of the pictures to choose from.
        pictures: ids of others: ``given``, the frames before all others; ``beside``, what is shown
            beside the choices.
    """
    # By id: the order of the file tells nothing.
    return {"id": name, "choices": sorted(choices), **pictures}


@dataclass(frozen=True)
class Page:
    """A page without its pictures: questions, training items, and what is its own."""

    path: Path
    questions: list[Json]
    own: Json
    training: Sequence[Json] = ()

    def content(self) -> Json:
        """As the page knows it."""
        in_order = sorted(self.questions, key=lambda asked: str(asked["id"]))
        return {**self.own, "questions": in_order, "training": list(self.training)}

    def shown(self) -> list[str]:
        """Ids of its pictures."""
        names: set[str] = set()
        for asked in [*self.questions, *self.training]:
            names.update(asked["choices"])
            names.update(asked[extra] for extra in ("given", "beside") if extra in asked)
        return sorted(names)


@dataclass(frozen=True)
class Draft:
    """A questionnaire before its pictures are encoded.

    Attributes:
        file: the configuration.
        key: without a checksum.
        words: what pages say, besides what the study says.
        pages: all of them.
        pictures: by id, what gives 8-bit frames (T, H, W, 3).
    """

    file: Path
    key: Key
    words: Json
    pages: list[Page]
    pictures: Mapping[str, Callable[[], np.ndarray]]


def write_pages(draft: Draft, key_path: Path, report: Report) -> Key:
    """Write all pages with the best pictures that fit, and the key, with a copy named after it.

    Raises:
        StpError: there is a key of another kind of item, or a page becomes larger than it may.
    """
    mark = f'"item": "{draft.key.about.item}"'
    if key_path.exists() and mark not in key_path.read_text(encoding="utf-8", errors="replace"):
        raise StpError(
            f"{key_path} belongs to a questionnaire of another kind, which stays",
            expected=f"a folder of its own for a study of the item {draft.key.about.item}",
            remedy="name one with --out",
        )
    limit = draft.key.about.max_megabytes * 1e6
    for quality in sprites.QUALITIES:
        encoded = _encoded(draft, quality, limit, report)
        if encoded is None:
            continue
        seen = [_common(draft), [page.content() for page in draft.pages], encoded]
        checksum = hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()[:16]
        how = "lossless WebP" if quality is None else f"JPEG 4:4:4 of quality {quality}"
        key = draft.key.model_copy(update={"study": checksum, "pictures": how})
        text = partial(_text, {"study": checksum, **_common(draft)}, encoded)
        if all(len(text(page).encode()) <= limit for page in draft.pages):
            break
    else:
        raise StpError(
            f"the questionnaire would be too large even with pictures of quality "
            f"{sprites.QUALITIES[-1]}",
            expected=f"at most {draft.key.about.max_megabytes:g} MB (max_megabytes)",
            remedy=f"ask for fewer items, or allow more, in {draft.file}",
        )
    with writing(key_path), ExitStack() as stack:
        # It unwinds from the last entry to the first: once all are written, the keys are put in
        # place, and then the pages, which stand for them.
        for number, page in enumerate(draft.pages, start=1):
            temporary = stack.enter_context(beside(page.path))
            temporary.write_text(text(page), encoding="utf-8", newline="\n")
            report("pages written", number, len(draft.pages))
        for path in (key_path, kept_path(key_path, key.study)):
            stack.enter_context(beside(path)).write_text(key.text(), encoding="utf-8")
    return key


def _text(common: Json, encoded: Mapping[str, Json], page: Page) -> str:
    pictures = {name: encoded[name] for name in page.shown()}
    return html({**common, **page.content(), "pictures": pictures})


def _common(draft: Draft) -> Json:
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


def _encoded(
    draft: Draft, quality: int | None, limit: float, report: Report
) -> dict[str, Json] | None:
    """Sprite sheets by id, with the size of their frames; None if a page becomes too large."""
    encoded: dict[str, Json] = {}
    for page in draft.pages:
        size = 0
        for name in page.shown():
            if name not in encoded:
                frames = draft.pictures[name]()
                high, wide = frames.shape[1:3]
                encoded[name] = {
                    **sprites.sheet(frames, quality)._asdict(),
                    "size": [wide, high],
                    "pitch": [sprites.pitch(wide), sprites.pitch(high)],
                }
                report("pictures encoded", len(encoded), len(draft.pictures))
            size += len(encoded[name]["uri"])
            if size > limit:
                return None
    return encoded


def html(payload: Json) -> str:
    """Put a page together from its parts; nothing is loaded from anywhere.

    Args:
        payload: what the page knows.
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
        before, found, after = text.partition(f"<!-- {mark} -->")
        assert found, f"page.html has no {mark}"
        text = before + part + after
    return text


def read_page(path: Path) -> Json:
    """What a page knows.

    Raises:
        StpError: it is missing, or no page of a questionnaire.
    """
    try:
        text = path.read_text(encoding="utf-8")
        match = re.search(r'<script type="application/json" id="study">(.*?)</script>', text)
        payload: Any = json.loads(match[1]) if match else None
        if not isinstance(payload, dict) or not {"study", "pictures", "questions"} <= set(payload):
            raise ValueError("it has no questions")
    except (OSError, ValueError, RecursionError) as error:
        raise StpError(
            f"{path} is no page of a questionnaire ({error})",
            expected="a page that `stp study questionnaire` wrote",
            remedy="name it with --page, or write it again: the same videos give the same page",
        ) from None
    return payload
