"""Assign single videos to raters, make the pages, and write ``Ratings.csv``.

Each page shows videos one by one, to the right of a natural video (one without predicted frames) of
the same class and size (Somraj et al. 2022, section 3.2).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from stp.core.disk import atomic_path, writing
from stp.core.errors import StpError
from stp.core.job import Report
from stp.data.raw_files import UnlockedFiles
from stp.prepare.opinions import PREDICTED, RATING_COLUMNS, TRUE, Source
from stp.studies.answer_key import RatingKey, VideoQuestion
from stp.studies.answers import Answer, Answers
from stp.studies.options import LETTERS, Ratings
from stp.studies.page import Draft, Opaque, Page
from stp.studies.sampling import assign, draw

WORDS = {
    "title": "How good is this video?",
    "intro": "Each question shows two short videos. The one on the left is natural. The one on the "
    "right is the one to rate: a computer may have generated what it shows after the first frames, "
    "and made mistakes in it. Look at all of it, as often as you like, and say with the slider how "
    "good it is. Number of videos: ",
    "beside": "Natural video",
    "choice": "Video to rate",
    "letters": LETTERS[:1],
    "note": "",
}


@dataclass(frozen=True)
class _Video:
    folder: str  # `PREDICTED` or `TRUE`
    name: str
    content: str  # class of the content
    kind: str  # tags, or else the dataset
    is_natural: bool  # no frame is predicted
    shape: tuple[int, ...]  # of the frames, (T, H, W, 3)
    first_frame: str  # checksum: predictions and the true future of a clip share the first frame

    @property
    def file(self) -> str:
        return f"{self.folder}/{self.name}.mp4"


def page_path(folder: Path, rater: int, session: int) -> Path:
    """Path of the page of a session; raters and sessions count from 1."""
    return folder / f"rater-{rater:02d}-session-{session}.html"


def ratings(study: Ratings, folder: Path, out: Path, study_file: Path, report: Report) -> Draft:
    """Assign videos to raters, and choose a natural video to show beside each, for a questionnaire.

    A natural video has no predicted frame: it lies in ``True_Videos``, or has the tag ``natural``
    in ``Tags.csv``. The one beside a video is of the same class and size, but of another clip.

    Args:
        study: configuration of the study.
        folder: folder with ``Predicted_Videos/<name>.mp4``, and optionally ``Tags.csv`` and
            ``True_Videos/<name>.mp4`` (`stp.prepare.opinions`).
        out: folder of the pages.
        study_file: the file of the configuration.
        report: callback for the progress.

    Returns:
        the questionnaire, without pictures yet.

    Raises:
        StpError: there are too few videos, a video cannot be read or has no class, or no natural
            video has its class and size.
    """
    root = folder.resolve()
    files = [p.relative_to(root.parent).as_posix() for p in root.rglob("*") if p.is_file()]
    source = Source(UnlockedFiles(root.parent, files), root.name)
    videos, secret = _survey(study, source, study_file, report)
    predicted = [video for video in videos if video.folder == PREDICTED]
    rated = sorted(predicted, key=lambda video: video.name)
    natural = _draw_natural_videos(study, rated, videos)
    opaque = Opaque(hashlib.sha256(secret + study.model_dump_json().encode()).digest())
    plan = assign(len(rated), study.raters, study.sessions, study.videos, study.seed)
    questions = [
        VideoQuestion(
            id=opaque(f"question {video.name}"),
            choices={opaque(video.file): video.name},
            natural=beside.file,
        )
        for video, beside in zip(rated, natural, strict=True)
    ]
    sessions_of: dict[str, list[list[str]]] = {}
    pages = []
    for number, sessions in enumerate(plan, start=1):
        rater = f"{opaque(f'rater {number}')}{number:04d}"
        names = sessions_of[rater] = [
            [questions[video].id for video in numbers] for numbers in sessions
        ]
        trainings = _training(study, rated, number, sessions)
        for session, (numbers, training) in enumerate(zip(names, trainings, strict=True), start=1):
            pages.append(
                Page(
                    page_path(out, number, session),
                    numbers,
                    {"rater": rater, "session": session},
                    [questions[video].id for video in training],
                )
            )
    key = RatingKey(
        about=study,
        folder=str(folder),
        questions=sorted(questions, key=lambda question: question.id),
        sessions=sessions_of,
    )
    words = {**WORDS, "height": study.height, "sessions": study.sessions, "hours": study.hours}
    pictures = {opaque(video.file): partial(_frames, source, video) for video in videos}
    others = {question.id: {"beside": opaque(question.natural)} for question in questions}
    return Draft(study_file, key, words, pages, pictures, others)


def _frames(source: Source, video: _Video) -> np.ndarray:
    frames = source.video(video.folder, video.name)
    assert frames is not None
    return frames


def _survey(
    study: Ratings, source: Source, study_file: Path, report: Report
) -> tuple[list[_Video], bytes]:
    stored = [
        (folder, name)
        for folder in (PREDICTED, TRUE)
        for name in dict.fromkeys(source.in_folder(folder))
        if source.has(f"{folder}/{name}.mp4")  # without subfolders
    ]
    names = [name for folder, name in stored if folder == PREDICTED]
    if not names:
        raise StpError(
            f"{source.folder}: no videos",
            expected=f"{PREDICTED}/<name>.mp4, and Tags.csv where videos have tags",
        )
    tags = source.tags(names)
    secret = hashlib.sha256()
    videos = []
    for number, (folder, name) in enumerate(stored, start=1):
        if name not in tags:
            continue  # the true future of a clip that nobody rates
        content = study.class_of(tags[name]["dataset"])
        if content is None:
            raise StpError(
                f"{name}: no class has the dataset {tags[name]['dataset']}",
                remedy=f"add it to one of `classes` in {study_file}",
            )
        secret.update(source.raw.find(source.at(f"{folder}/{name}.mp4")).read_bytes())
        frames = source.video(folder, name)
        assert frames is not None
        kind = tags[name]["tags"] or ""
        videos.append(
            _Video(
                folder=folder,
                name=name,
                content=content,
                kind=kind or tags[name]["dataset"],
                is_natural=folder == TRUE or "natural" in kind.split(),
                shape=frames.shape,
                first_frame=hashlib.sha256(frames[0].tobytes()).hexdigest(),
            )
        )
        report("videos read", number, len(stored))
    return videos, secret.digest()


def _draw_natural_videos(
    study: Ratings, rated: Sequence[_Video], videos: Sequence[_Video]
) -> list[_Video]:
    rng = np.random.default_rng(study.seed)
    chosen = []
    for video in rated:
        fit = [
            other
            for other in videos
            if other.is_natural
            and (other.content, other.shape) == (video.content, video.shape)
            and other.first_frame != video.first_frame
        ]
        if not fit:
            frames, height, width, _ = video.shape
            raise StpError(
                f"{video.name}: no natural video to be shown beside it",
                expected=f"one of {video.content}, {frames} frames of {height} x {width} pixels",
                remedy=f"put true futures into {TRUE}, or tag natural videos so in Tags.csv",
            )
        chosen.append(fit[rng.integers(len(fit))])
    return chosen


def _training(
    study: Ratings, rated: Sequence[_Video], number: int, assigned: np.ndarray
) -> list[list[int]]:
    """Draw the training videos before each session, of all tags, without videos that the rater
    rates.
    """
    count = study.sessions * study.training
    others = np.setdiff1d(np.arange(len(rated)), assigned)
    if len(others) < count:
        raise StpError(
            f"a rater rates {assigned.size} of {len(rated)} videos: {len(others)} are left, and "
            f"the training needs {count}",
            remedy="lower `videos` or `training` in the configuration of the study",
        )
    kinds = pd.Series([rated[video].kind for video in others])
    chosen = draw(kinds, count, study.seed, f"rater {number}")
    return [others[chosen[session :: study.sessions]].tolist() for session in range(study.sessions)]


def write_ratings(key: RatingKey, read: Answers, out: Path) -> None:
    """Write all ratings as ``Ratings.csv``, from which mean opinion scores are computed.

    It has the columns Rater, Session, Video Name and Rating, and is sorted by the first three.

    Raises:
        StpError: a rater rates a video that was not assigned to the rater, or two sessions of a
            rater are too close in time.
    """
    session_of = {
        (rater, name): number
        for rater, own_sessions in key.sessions.items()
        for number, session in enumerate(own_sessions, start=1)
        for name in session
    }
    sessions: dict[tuple[str, int], list[Answer]] = {}
    for answer in read.answers:
        name = key.questions[answer.question].id
        if (answer.rater, name) not in session_of:
            raise StpError(
                f"rater {answer.rater} was not asked to rate {name}",
                remedy="remove the file of this rater",
            )
        sessions.setdefault((answer.rater, session_of[answer.rater, name]), []).append(answer)
    hours = key.about.hours
    for (rater, number), ratings_of_session in sessions.items():
        before = [answer.answered_at for answer in sessions.get((rater, number - 1), [])]
        first = min(answer.answered_at for answer in ratings_of_session)
        if before and first - max(before) < timedelta(hours=hours):
            raise StpError(
                f"rater {rater}: session {number} began {first}, less than {hours:g} hours "
                f"after session {number - 1}",
                remedy="remove the file of one of the two sessions",
            )
    # Names are not escaped for spreadsheets: the reader compares them.
    rows = [
        (rater, number, key.questions[answer.question].video, answer.rating)
        for (rater, number), ratings_of_session in sessions.items()
        for answer in ratings_of_session
    ]
    table = pd.DataFrame(sorted(rows), columns=RATING_COLUMNS)
    with writing(out), atomic_path(out) as path:
        table.to_csv(path, index=False, lineterminator="\n")
