"""The key of a study of ratings: which video is behind which picture, and who rates what."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import TypeAdapter, ValidationError

from stp.core.errors import StpError
from stp.human_study.key import REMEDY


@dataclass(frozen=True)
class RatedVideo:
    """A question.

    Attributes:
        id: what it is called on the page.
        natural: raw file of the natural video beside it.
        choices: name of the video by what its picture is called; there is one.
    """

    id: str
    natural: str
    choices: dict[str, str]

    @property
    def video(self) -> str:
        """The name of the video."""
        return next(iter(self.choices.values()))


@dataclass(frozen=True)
class Seat:
    """What one rater is asked.

    Attributes:
        rater: name of the rater, 16 hexadecimal digits, the last four a decimal number from 1.
        sessions: ids of the questions of each session.
    """

    rater: str
    sessions: list[list[str]]


@dataclass(frozen=True)
class RatingKey:
    """All that is needed to read ratings.

    Attributes:
        study: checksum of what raters see.
        folder: where the videos are from.
        question: what raters were asked.
        seed: of the study.
        hours: from one session of a rater to the next, at least.
        pictures: how they are encoded.
        questions: one for each video, sorted by id.
        seats: one for each rater.
    """

    study: str
    folder: str
    question: str
    seed: int
    hours: float
    pictures: str
    questions: list[RatedVideo]
    seats: list[Seat]

    cannot_tell: ClassVar[bool] = False
    age_groups: ClassVar[tuple[str, ...]] = ()
    genders: ClassVar[tuple[str, ...]] = ()
    in_rounds: ClassVar[bool] = True
    """A rater has a file of answers for each session."""
    rates: ClassVar[bool] = True

    def text(self) -> str:
        """As JSON."""
        return json.dumps({"ratings": asdict(self)}, indent=1) + "\n"


_SCHEMA = TypeAdapter(RatingKey)
EXPECTED = "JSON as `stp questionnaire --ratings` writes it"


def load_rating_key(path: Path) -> RatingKey | None:
    """Read a key; None if the file is the key of a questionnaire of another kind, or no key.

    Raises:
        StpError: it is a damaged key of ratings.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None  # `stp.human_study.key.load_key` says what is wrong
    if not isinstance(content, dict) or set(content) != {"ratings"}:
        return None
    try:
        key = _SCHEMA.validate_python(content["ratings"])
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise StpError(
            f"{path} is no key of a study of ratings ({place}: {first['msg']})",
            expected=EXPECTED,
            remedy=REMEDY,
        ) from None
    problem = _problem(key)
    if problem:
        raise StpError(f"{path}: {problem}", expected=EXPECTED, remedy=REMEDY)
    return key


def _problem(key: RatingKey) -> str:
    """What does not fit together in a key; empty if all does."""
    ids = {asked.id for asked in key.questions}
    if len(ids) < len(key.questions) or any(len(asked.choices) != 1 for asked in key.questions):
        return "a question is there twice, or has not one video"
    for seat in key.seats:
        own = [name for session in seat.sessions for name in session]
        if len(set(own)) < len(own) or not ids.issuperset(own):
            return f"rater {seat.rater} has questions twice, or some that the key does not list"
    return ""
