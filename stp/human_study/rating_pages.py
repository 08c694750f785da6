"""Write the pages of a study of ratings: one for each session of each rater, and the key.

Each page shows videos one by one, on the right of a natural video of the same class and size
(Somraj et al. 2022, section 3.2). Names on the page are keyed hashes whose key is made from the
files of all videos.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from stp.core.disk import write_text, writing
from stp.core.errors import StpError
from stp.core.job import Report, silent
from stp.human_study.key import LETTERS, kept_path
from stp.human_study.questionnaire import Opaque, page
from stp.human_study.rating_key import RatedVideo, RatingKey, Seat, load_rating_key
from stp.human_study.rating_options import FILE, RatingStudy, load_rating_study
from stp.human_study.sampling import assign, draw
from stp.prepare.opinions import Source
from stp.render.pictures import sprites

TITLE = "How good is this video?"
INTRO = (
    "Each question shows two short videos. The one on the left is natural. The one on the right is "
    "the one to rate: a computer may have made up what it shows after the first frames, and made "
    "mistakes in it. Look at all of it, as often as you like, and say with the slider how good it "
    "is. Number of videos: "
)
PREDICTED, TRUE = "Predicted_Videos", "True_Videos"
SCRIPTS = ("bicubic.js", "page.js")


class _Files:
    """Files below a folder, by their names relative to where the folder lies."""

    def __init__(self, folder: Path) -> None:
        self._root = folder.parent
        paths = (path for path in folder.rglob("*") if path.is_file())
        self.names = sorted(path.relative_to(self._root).as_posix() for path in paths)

    def find(self, name: str) -> Path:
        """Where a file lies."""
        return self._root / name


@dataclass(frozen=True)
class _Video:
    """A file of the folder.

    Attributes:
        of: `PREDICTED` or `TRUE`.
        name: of the video.
        content: class of what it shows.
        kind: its tags, or else its dataset.
        is_natural: nobody has predicted it.
        shape: of its frames, (T, H, W, 3).
        begins: checksum of its first frame: predictions and the true future of one clip share it.
    """

    of: str
    name: str
    content: str
    kind: str
    is_natural: bool
    shape: tuple[int, ...]
    begins: str


def page_path(folder: Path, rater: int, session: int) -> Path:
    """Where the page of a session lies; both count from 1."""
    return folder / f"rater-{rater:02d}-session-{session}.html"


def write_rating_pages(
    folder: Path, out: Path, *, study_file: Path = FILE, report: Report = silent
) -> RatingKey:
    """Write the pages and ``key.json``, and a copy of the key that is named after the study.

    Args:
        folder: ``Predicted_Videos/<name>.mp4``; and where there are such, ``Tags.csv`` and
            ``True_Videos/<name>.mp4`` (`stp.prepare.opinions`).
        out: folder of the pages.
        study_file: what to ask.
        report: is told the progress.

    Raises:
        StpError: there are too few videos, one cannot be read or has no class, no natural video of
            its class and size is there, or a page becomes larger than it may.
    """
    key_path = out / "key.json"
    if key_path.exists() and load_rating_key(key_path) is None:
        raise StpError(
            f"{key_path} belongs to a questionnaire of another kind, which stays",
            expected="a folder of its own for the study of ratings",
            remedy="name one with --out",
        )
    study = load_rating_study(study_file)
    place = folder.resolve()
    source = Source(_Files(place), place.name)
    videos, secret = _survey(study, source, study_file, report)
    rated = sorted((one for one in videos if one.of == PREDICTED), key=lambda one: one.name)
    natural = _natural(study, rated, videos)
    opaque = Opaque(hashlib.sha256(secret + study.model_dump_json().encode()).digest())
    plan = assign(len(rated), study.raters, study.sessions, study.videos, study.seed)
    questions = [
        RatedVideo(
            opaque(f"question {one.name}"),
            f"{beside_it.of}/{beside_it.name}.mp4",
            {opaque(f"video {one.name}"): one.name},
        )
        for one, beside_it in zip(rated, natural, strict=True)
    ]
    seats = [
        Seat(
            f"{opaque(f'rater {number}')}{number:04d}",
            [[questions[video].id for video in session] for session in sessions],
        )
        for number, sessions in enumerate(plan, start=1)
    ]
    training = [
        [[questions[video].id for video in session] for session in _training(study, rated, n, own)]
        for n, own in enumerate(plan, start=1)
    ]
    for quality in sprites.QUALITIES:
        how = "lossless WebP" if quality is None else f"JPEG 4:4:4 of quality {quality}"
        about = json.dumps([how, TITLE, INTRO, [asdict(one) for one in questions]])
        key = RatingKey(
            study=opaque(about),
            folder=str(folder),
            question=study.question,
            seed=study.seed,
            hours=study.hours,
            pictures=how,
            questions=sorted(questions, key=lambda one: one.id),
            seats=seats,
        )
        sheets = _Sheets(source, quality)
        pages = [
            partial(_page, study, key, sheets, seat, session, training[number][session])
            for number, seat in enumerate(seats)
            for session in range(study.sessions)
        ]
        if all(len(made().encode()) <= study.max_megabytes * 1e6 for made in pages):
            break
    else:
        raise StpError(
            f"a page would be too large even with pictures of quality {sprites.QUALITIES[-1]}",
            expected=f"at most {study.max_megabytes:g} MB (max_megabytes)",
            remedy=f"ask for fewer videos of a session, or allow more, in {study_file}",
        )
    with writing(out):
        for number, made in enumerate(pages):
            rater, session = divmod(number, study.sessions)
            write_text(page_path(out, rater + 1, session + 1), made())
            report("pages written", number + 1, len(pages))
        write_text(kept_path(key_path, key.study), key.text())
        write_text(key_path, key.text())
    return key


def _survey(
    study: RatingStudy, source: Source, study_file: Path, report: Report
) -> tuple[list[_Video], bytes]:
    """All videos, predicted and true ones, and a checksum of their files.

    Raises:
        StpError: there are none, or one cannot be read or has no class.
    """
    files = [name.split("/")[1:] for name in source.raw.names]
    there = [
        (of, file.removesuffix(".mp4"))
        for of in (PREDICTED, TRUE)
        for folder, file in sorted(one for one in files if len(one) == 2)
        if folder == of and file.endswith(".mp4")
    ]
    names = [name for of, name in there if of == PREDICTED]
    if not names:
        raise StpError(
            f"{source.folder}: no videos",
            expected=f"{PREDICTED}/<name>.mp4, and Tags.csv where videos have tags",
            remedy="name the folder that holds these",
        )
    tags = source.tags(names)
    secret = hashlib.sha256()
    found = []
    for number, (of, name) in enumerate(there, start=1):
        if name not in tags:
            continue  # the true future of what nobody rates
        content = study.class_of(tags[name]["dataset"])
        if content is None:
            raise StpError(
                f"{name}: no class has the dataset {tags[name]['dataset']}",
                expected=f"it in one of {', '.join(study.classes)}",
                remedy=f"add it under `classes` in {study_file}",
            )
        secret.update(source.raw.find(source.at(f"{of}/{name}.mp4")).read_bytes())
        frames = source.video(of, name)
        assert frames is not None
        kind = tags[name]["tags"] or ""
        found.append(
            _Video(
                of=of,
                name=name,
                content=content,
                kind=kind or tags[name]["dataset"],
                is_natural=of == TRUE or "natural" in kind.split(),
                shape=frames.shape,
                begins=hashlib.sha256(frames[0].tobytes()).hexdigest(),
            )
        )
        report("videos read", number, len(there))
    return found, secret.digest()


def _natural(study: RatingStudy, rated: Sequence[_Video], videos: Sequence[_Video]) -> list[_Video]:
    """Draw the natural video beside each: of its class and size, and of another clip.

    Raises:
        StpError: there is none.
    """
    rng = np.random.default_rng(study.seed)
    found = []
    for one in rated:
        fit = [
            other
            for other in videos
            if other.is_natural
            and (other.content, other.shape) == (one.content, one.shape)
            and other.begins != one.begins
        ]
        if not fit:
            frames, height, width, _ = one.shape
            raise StpError(
                f"{one.name}: no natural video to be shown beside it",
                expected=f"one of {one.content}, {frames} frames of {height} x {width} pixels",
                remedy=f"put true futures into {TRUE}, or tag natural videos so in Tags.csv",
            )
        found.append(fit[rng.integers(len(fit))])
    return found


def _training(
    study: RatingStudy, rated: Sequence[_Video], number: int, own: np.ndarray
) -> list[list[int]]:
    """Draw what a rater sees before each session: of all tags, and nothing that counts.

    Raises:
        StpError: there are too few videos.
    """
    wanted = study.sessions * study.training
    others = np.setdiff1d(np.arange(len(rated)), own)
    if len(others) < wanted:
        raise StpError(
            f"a rater rates {own.size} of {len(rated)} videos, which leaves {len(others)} of them",
            expected=f"{wanted} others to train with",
            remedy="ask for fewer videos, or less training, in the configuration of the study",
        )
    kinds = pd.Series([rated[video].kind for video in others])
    chosen = draw(kinds, wanted, study.seed, f"rater {number}")
    return [others[chosen[session :: study.sessions]].tolist() for session in range(study.sessions)]


class _Sheets:
    """Encodes videos, each once.

    Args:
        source: their files.
        quality: one of `sprites.QUALITIES`.
    """

    def __init__(self, source: Source, quality: int | None) -> None:
        self._source, self._quality = source, quality
        self._made: dict[str, dict[str, Any]] = {}

    def of(self, file: str) -> dict[str, Any]:
        """A file as a sprite sheet, with the size of its frames."""
        if file not in self._made:
            of, _, name = file.removesuffix(".mp4").partition("/")
            frames = self._source.video(of, name)
            assert frames is not None
            height, width = frames.shape[1:3]
            self._made[file] = {
                **sprites.sheet(frames, self._quality)._asdict(),
                "size": [width, height],
                "pitch": [sprites.pitch(width), sprites.pitch(height)],
            }
        return self._made[file]


def _page(
    study: RatingStudy,
    key: RatingKey,
    sheets: _Sheets,
    seat: Seat,
    session: int,
    training: Sequence[str],
) -> str:
    """The page of a session, which counts from 0."""
    by_id = {asked.id: asked for asked in key.questions}

    def question(name: str) -> dict[str, Any]:
        asked = by_id[name]
        (picture,) = asked.choices
        shown = sheets.of(f"{PREDICTED}/{asked.video}.mp4")
        beside_it = sheets.of(asked.natural)
        sizes = {name: shown[name] for name in ("size", "pitch")}
        return {
            "id": name,
            **sizes,
            "natural": {name: value for name, value in beside_it.items() if name not in sizes},
            "choices": [
                {"id": picture, **{k: value for k, value in shown.items() if k not in sizes}}
            ],
        }

    content = {
        "study": key.study,
        "rater": seat.rater,
        "session": session + 1,
        "sessions": study.sessions,
        "hours": study.hours,
        "text": study.question,
        "title": TITLE,
        "intro": INTRO,
        "cannot_tell": False,
        "frames_per_second": study.frames_per_second,
        "height": study.height,
        "consent": study.consent,
        "return_to": study.return_to,
        "age_groups": [],
        "genders": [],
        "letters": LETTERS[:1],
        "note": "",
        "training": [question(name) for name in training],
        # By id: the order of the file tells nothing.
        "questions": [question(name) for name in sorted(seat.sessions[session])],
    }
    return page(content, SCRIPTS)
