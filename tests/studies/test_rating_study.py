"""People rate videos: who rates what, the pages, and answers that become opinion scores."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from opinion_files import prepare
from raters import line, write
from rating_study import CONTENT, VIDEOS, RatingStudy
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.opinions import prepared
from stp.plan.checked_config import CONFIG_FOLDER
from stp.studies.answer_key import RatingKey
from stp.studies.answers import read_answers
from stp.studies.options import Ratings, load_item
from stp.studies.page import read_page
from stp.studies.questionnaire import write_questionnaire
from stp.studies.ratings import page_path, write_ratings
from stp.studies.sampling import assign

BEGAN = datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_every_video_has_as_many_raters_as_the_study_says() -> None:
    """50 raters with two sessions of 60 give each of 300 videos 20 ratings."""
    study = load_item(Ratings, CONFIG_FOLDER / "human_ratings.yaml")
    assert (study.raters, study.sessions, study.videos, study.training) == (50, 2, 60, 6)
    assert (study.frames_per_second, study.hours) == (4, 24)
    found = assign(300, study.raters, study.sessions, study.videos, study.seed)
    assert np.bincount(found.ravel()).tolist() == [20] * 300
    assert all(len(set(rater.ravel().tolist())) == 120 for rater in found)
    uneven = Counter(assign(7, 3, 1, 5, 0).ravel().tolist())
    assert sorted(uneven.values()) == [2] * 6 + [3]
    with pytest.raises(StpError, match="2 sessions of 4 videos"):
        assign(7, 1, 2, 4, 0)


def test_a_page_tells_nothing_of_the_videos(rated: RatingStudy) -> None:
    asked_of = rated.key.sessions
    counted = Counter(name for own in asked_of.values() for session in own for name in session)
    assert counted == {asked.id: 4 for asked in rated.key.questions}
    for number, (rater, sessions) in enumerate(asked_of.items(), start=1):
        own = {name for session in sessions for name in session}
        for session in (1, 2):
            path = page_path(rated.pages, number, session)
            page = read_page(path)
            asked, training = ([q["id"] for q in page[part]] for part in ("questions", "training"))
            assert page["rater"] == rater and page["study"] == rated.key.study
            assert set(asked) == set(sessions[session - 1]) and len(asked) == 4
            assert len(training) == 2 and not own & set(training)
            assert not [one for one in rated.key.questions if one.video in path.read_text()]
    for one in rated.key.questions:
        of, name = one.natural.removesuffix(".mp4").split("/")
        dataset, video = name.split("_")
        assert of == "Predicted_Videos" and int(video) < 4
        assert name != one.video and one.video.startswith(dataset)


def test_videos_without_a_natural_one_or_a_class_are_refused(
    rated: RatingStudy, tmp_path: Path
) -> None:
    raw = rated.raw / "pvqa"
    file = tmp_path / "study.json"

    def refused(said: str, **changes: object) -> None:
        file.write_text(json.dumps({**CONTENT, **changes}))
        with pytest.raises(StpError, match=said):
            write_questionnaire(raw, tmp_path / "pages", study_file=file)

    refused("BAIR_001.*BAIR", classes={"people": ["KTH"]})
    refused("8 of 12 videos", training=3)
    tags = (raw / "Tags.csv").read_text()
    (raw / "Tags.csv").write_text(tags.replace("natural", "blur"))
    try:
        refused("BAIR_001")
    finally:
        (raw / "Tags.csv").write_text(tags)


def answer(
    folder: Path, key: RatingKey, quality: Callable[[str], float], hours: float = 25
) -> Path:
    """Write the files of all raters as their pages would: one for each session."""
    by_id, rng = {asked.id: asked for asked in key.questions}, np.random.default_rng(0)
    for rater, sessions in key.sessions.items():
        for number, names in enumerate(sessions):
            moment = (BEGAN + number * timedelta(hours=hours)).isoformat()
            lines = []
            for position, name in enumerate(names, start=1):
                rating = f"{quality(by_id[name].video):g}"
                given = {"position": str(position), "choice": rating, "answered_at": moment}
                lines.append(line(key, by_id[name], "", rng, rater, **given))
            write(folder / f"answers-{rater}-{number}.csv", lines)
    return folder


def test_answers_become_the_opinion_scores_that_raters_had(
    rated: RatingStudy, tmp_path: Path
) -> None:
    """A video's number is what everybody thinks of it."""
    answers = answer(tmp_path / "answers", rated.key, lambda video: 5 + 7.5 * int(video[-3:]))
    out = rated.raw / "pvqa" / "Ratings.csv"
    command = ["study", "preferences", str(answers), "--key", str(rated.pages / "key.json")]
    told = CliRunner().invoke(app, [*command, "--out", str(out)])
    assert told.exit_code == 0 and "48 answers of 6 raters" in told.output
    prepare(rated.raw, tmp_path / "data", mos="ratings")
    table = prepared.open_database(tmp_path / "data", 4).table
    assert table["ratings"].to_pylist() == [4] * VIDEOS
    numbers = [int(name[-3:]) for name in table["video"].to_pylist()]
    # Z-scores are of a session of four videos, so a mean of four of them follows the truth roughly.
    assert np.corrcoef(numbers, table["mos"].to_numpy())[0, 1] > 0.8


@pytest.mark.parametrize(
    ("hours", "old", "new", "message"),
    [
        (23, "", "", "24 hours"),
        (25, ",50,", ",101,", "choice '101'"),
        (25, ",50,", ",good,", "choice 'good'"),
        (25, "0001,", "0002,", "was not asked to rate"),
        (25, "0001,", "0099,", "was not asked to rate"),
    ],
)
def test_answers_that_cannot_be_are_refused(
    rated: RatingStudy, tmp_path: Path, hours: float, old: str, new: str, message: str
) -> None:
    answers = answer(tmp_path / "answers", rated.key, lambda _: 50, hours)
    path = answers / f"answers-{next(iter(rated.key.sessions))}-0.csv"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(StpError, match=message):
        read = read_answers([answers], rated.key, rated.pages / "key.json")
        write_ratings(rated.key, read, tmp_path / "Ratings.csv")
