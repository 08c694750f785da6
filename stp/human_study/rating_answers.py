"""From files of answers to ``Ratings.csv``, which the reader of opinions takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pandas as pd

from stp.core.disk import beside, writing
from stp.core.errors import StpError
from stp.human_study.answers import Answer, read_answers
from stp.human_study.rating_key import RatingKey
from stp.prepare.opinions import RATING_COLUMNS


@dataclass(frozen=True)
class Rating:
    """What a rater says of a video.

    Attributes:
        rater: name of the rater.
        session: that the video was seen in, from 1.
        video: its name.
        value: from 0 to 100.
    """

    rater: str
    session: int
    video: str
    value: float


def read_ratings(answers: Sequence[Path], key: RatingKey, key_path: Path) -> list[Rating]:
    """Read files of answers, sorted by rater, session and video.

    Raises:
        StpError: a file cannot be read or is of another study, somebody rates what another rater
            was asked, or sessions of a rater are too near to each other.
    """
    read = read_answers(answers, key, key_path)
    session_of = {
        (seat.rater, question): number
        for seat in key.seats
        for number, session in enumerate(seat.sessions, start=1)
        for question in session
    }
    sessions: dict[tuple[str, int], list[Answer]] = {}
    for answer in read.answers:
        asked = answer.rater, key.questions[answer.question].id
        if asked not in session_of:
            raise StpError(
                f"rater {answer.rater} was not asked to rate {asked[1]}",
                expected=f"answers to the pages of {key_path}",
                remedy="take the file of this rater away",
            )
        sessions.setdefault((answer.rater, session_of[asked]), []).append(answer)
    for (rater, number), own in sessions.items():
        before = sessions.get((rater, number - 1), [])
        first = min(answer.answered_at for answer in own)
        if before and first - max(a.answered_at for a in before) < timedelta(hours=key.hours):
            raise StpError(
                f"rater {rater}: session {number} began {first}, less than {key.hours:g} hours "
                f"after session {number - 1}",
                expected=f"sessions that are {key.hours:g} hours apart",
                remedy="take the file of one of the two sessions away",
            )
    return sorted(
        (
            Rating(rater, number, key.questions[answer.question].video, answer.rating or 0.0)
            for (rater, number), own in sessions.items()
            for answer in own
        ),
        key=lambda one: (one.rater, one.session, one.video),
    )


def by_rater(ratings: Sequence[Rating]) -> dict[str, dict[str, float]]:
    """Rater -> video -> rating."""
    found: dict[str, dict[str, float]] = {}
    for one in ratings:
        found.setdefault(one.rater, {})[one.video] = one.value
    return found


def write_ratings(ratings: Sequence[Rating], out: Path) -> None:
    """Write ``Ratings.csv``, names of videos as they are: the reader compares them."""
    rows = [(one.rater, one.session, one.video, one.value) for one in ratings]
    table = pd.DataFrame(rows, columns=RATING_COLUMNS)
    with writing(out), beside(out) as path:
        table.to_csv(path, index=False, lineterminator="\n")
