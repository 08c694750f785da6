"""People rate videos: who rates what, the pages, and answers that become opinion scores."""

import csv
import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from opinion_files import prepare
from rating_study import CONTENT, VIDEOS, Study
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.opinions import prepared
from stp.plan.strict import CONFIG_FOLDER
from stp.studies.answers import COLUMNS
from stp.studies.key import RatingKey
from stp.studies.options import Ratings, load_study
from stp.studies.questionnaire import write_questionnaire
from stp.studies.ratings import page_path, write_ratings
from stp.studies.sampling import assign

BEGAN = datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_every_video_has_as_many_raters_as_the_study_says():
    """50 raters with two sessions of 60 give each of 300 videos 20 ratings."""
    study = load_study(CONFIG_FOLDER / "human_ratings.yaml")
    assert isinstance(study, Ratings)
    assert (study.raters, study.sessions, study.videos, study.training) == (50, 2, 60, 6)
    assert (study.frames_per_second, study.hours) == (4, 24)
    found = assign(300, study.raters, study.sessions, study.videos, study.seed)
    assert np.bincount(found.ravel()).tolist() == [20] * 300
    assert all(len(set(rater.ravel().tolist())) == 120 for rater in found)
    uneven = Counter(assign(7, 3, 1, 5, 0).ravel().tolist())
    assert sorted(uneven.values()) == [2] * 6 + [3]
    with pytest.raises(StpError, match="2 sessions of 4 videos, of which there are 7"):
        assign(7, 1, 2, 4, 0)


def payload(page: Path) -> dict[str, object]:
    text = page.read_text().split('<script type="application/json" id="study">')[1]
    return dict(json.loads(text.split("</script>")[0]))


def test_a_page_tells_nothing_of_the_videos(study: Study):
    by_id = {asked.id: asked for asked in study.key.questions}
    assert Counter(
        q for own in study.key.sessions.values() for session in own for q in session
    ) == dict.fromkeys(by_id, 4)
    for rater, (name, sessions) in enumerate(study.key.sessions.items(), start=1):
        own = {asked for session in sessions for asked in session}
        for session in (1, 2):
            path = page_path(study.pages, rater, session)
            page = payload(path)
            asked, training = (
                [one["id"] for one in page[part]]  # type: ignore[attr-defined]
                for part in ("questions", "training")
            )
            assert page["rater"] == name and page["study"] == study.key.study
            assert set(asked) == set(sessions[session - 1]) and len(asked) == 4
            assert len(training) == 2 and not own & set(training)
            assert not [one for one in study.key.questions if one.video in path.read_text()]
    for one in study.key.questions:
        of, name = one.natural.removesuffix(".mp4").split("/")
        dataset, number = name.split("_")
        assert of == "Predicted_Videos" and int(number) < 4
        assert name != one.video and one.video.startswith(dataset)


def test_videos_without_a_natural_one_or_a_class_are_refused(study: Study, tmp_path: Path):
    raw = study.raw / "pvqa"
    few = tmp_path / "few.json"
    few.write_text(json.dumps({**CONTENT, "classes": {"people": ["KTH"]}}))
    with pytest.raises(StpError, match="BAIR_001: no class has the dataset BAIR"):
        write_questionnaire(raw, tmp_path / "pages", study_file=few)
    few.write_text(json.dumps({**CONTENT, "training": 3}))
    with pytest.raises(StpError, match="8 of 12 videos, which leaves 4"):
        write_questionnaire(raw, tmp_path / "pages", study_file=few)
    tags = (raw / "Tags.csv").read_text()
    (raw / "Tags.csv").write_text(tags.replace("natural", "blur"))
    try:
        with pytest.raises(StpError, match="no natural video to be shown beside it"):
            write_questionnaire(raw, tmp_path / "pages", study_file=study.file)
    finally:
        (raw / "Tags.csv").write_text(tags)


def answer(
    folder: Path, key: RatingKey, quality: Callable[[str], float], hours: float = 25
) -> Path:
    """Write the files of all raters as their pages would: one for each session."""
    folder.mkdir()
    by_id = {asked.id: asked for asked in key.questions}
    for rater, sessions in key.sessions.items():
        for number, session in enumerate(sessions):
            with (folder / f"answers-{rater}-{number}.csv").open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(COLUMNS)
                for position, name in enumerate(session, start=1):
                    (picture,) = by_id[name].choices
                    moment = BEGAN + number * timedelta(hours=hours)
                    rating = f"{quality(by_id[name].video):g}"
                    writer.writerow(
                        [key.study, rater, "", "", position, name, rating, picture, "3.0",
                         moment.isoformat()]
                    )  # fmt: skip
    return folder


def test_answers_become_the_opinion_scores_that_raters_had(study: Study, tmp_path: Path):
    """A video's number is what everybody thinks of it."""

    def quality(video: str) -> float:
        return 5 + 7.5 * int(video[-3:])

    answers = answer(tmp_path / "answers", study.key, quality)
    raw = study.raw
    out = raw / "pvqa" / "Ratings.csv"
    arguments = ["preferences", str(answers), "--key", str(study.pages / "key.json")]
    told = CliRunner().invoke(app, [*arguments, "--out", str(out)])
    assert told.exit_code == 0 and "48 answers of 6 raters" in told.output
    prepare(raw, tmp_path / "data", mos="ratings")
    table = prepared.open_database(tmp_path / "data", 4).table
    assert table["ratings"].to_pylist() == [4] * VIDEOS
    numbers = [int(name[-3:]) for name in table["video"].to_pylist()]
    # Z-scores are of a session of four videos, so a mean of four of them follows the truth roughly.
    assert np.corrcoef(numbers, table["mos"].to_numpy())[0, 1] > 0.8


@pytest.mark.parametrize(
    ("hours", "damage", "message"),
    [
        (23, lambda text: text, "less than 24 hours after session 1"),
        (25, lambda text: text.replace(",50,", ",101,", 1), "rating '101', not a number from 0"),
        (25, lambda text: text.replace(",50,", ",good,", 1), "rating 'good'"),
        (25, lambda text: text.replace("0001,", "0002,"), "was not asked to rate"),
        (25, lambda text: text.replace("0001,", "0099,"), "was not asked to rate"),
    ],
)
def test_answers_that_cannot_be_are_refused(
    study: Study,
    tmp_path: Path,
    hours: float,
    damage: Callable[[str], str],
    message: str,
):
    answers = answer(tmp_path / "answers", study.key, lambda _: 50, hours)
    path = answers / f"answers-{next(iter(study.key.sessions))}-0.csv"
    path.write_text(damage(path.read_text()))
    with pytest.raises(StpError, match=message):
        write_ratings([answers], study.key, study.pages / "key.json", tmp_path / "Ratings.csv")
