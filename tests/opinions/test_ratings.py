"""Opinions of raters who are made up come back: what they think, and who answers at random."""

import numpy as np
import pytest

from stp.core.errors import StpError
from stp.opinions.raters import Crowd, assignment, identical
from stp.opinions.ratings import Ratings, opinions, outliers, rescale_scores, split_half, z_scores

VIDEOS = np.array([f"v{number:03d}" for number in range(300)])


@pytest.fixture(scope="module")
def quality() -> np.ndarray:
    return np.random.default_rng(0).uniform(20, 80, 300)


def made(quality: np.ndarray, seed: int = 0, **crowd: float) -> Ratings:
    return Crowd(**crowd).answers(quality, VIDEOS, 20, seed)


def test_each_video_has_equally_many_ratings_and_each_rater_equally_many_videos():
    dealt = assignment(300, 50, 20, seed=3)
    assert (np.bincount(np.concatenate(dealt)) == 20).all()
    assert {len(videos) for videos in dealt} <= {119, 120, 121}
    assert all(len(set(videos)) == len(videos) for videos in dealt)
    with pytest.raises(StpError, match=r"20 .* 19"):
        assignment(300, 19, 20, seed=3)


@pytest.mark.parametrize("seed", range(3))
def test_raters_who_answer_at_random_are_found(quality: np.ndarray, seed: int):
    """Bias and scale are no reason. The screening also takes a few of the others, by chance."""
    ratings = made(quality, seed, random=3, bias=15.0)
    actual = set(opinions(ratings).rejected)
    random = set(Crowd().names()[-3:])
    assert len(actual & random) >= 2
    assert len(actual - random) <= 4


def test_raters_with_the_same_ratings_are_named(quality: np.ndarray):
    ratings = made(quality)
    assert identical(ratings.by_rater()) == []
    own = ratings.by_rater()
    copies = {"b_copy": own["rater_02"], "a_copy": dict(reversed(own["rater_02"].items()))}
    near = {"near": own["rater_03"] | {next(iter(own["rater_03"])): -1.0}}
    assert identical(own | copies | near) == [["a_copy", "b_copy", "rater_02"]]
    assert identical({"a": {"v": 1.0}, "b": {"v": 1.0}}) == []  # by chance


def test_opinions_follow_the_quality_that_raters_agree_on(quality: np.ndarray):
    actual = opinions(made(quality))
    assert (actual.video == VIDEOS).all()
    assert actual.count.min() >= 14
    assert np.corrcoef(actual.mos, quality)[0, 1] > 0.985
    slope, offset = np.polyfit(quality, actual.mos, 1)
    error = actual.mos - (slope * quality + offset)
    # 20 ratings with a noise of 8 points, on a scale that is stretched by the slope
    assert error.std() < 1.6 * slope * 8 / np.sqrt(20)


def test_both_rescalings_are_lines_of_each_other(quality: np.ndarray):
    ratings = made(quality)
    fixed, observed = opinions(ratings, "fixed"), opinions(ratings, "observed")
    assert np.corrcoef(fixed.mos, observed.mos)[0, 1] == pytest.approx(1)
    assert observed.scores.score.min() == 0 and observed.scores.score.max() == 100
    one = Ratings(*(np.array(["a", "b"]),) * 3, np.array([-3.0, 1.5]))
    assert rescale_scores(one, "fixed").score.tolist() == [0, 75]


def test_halves_of_raters_agree_as_much_as_noise_lets_them(quality: np.ndarray):
    """Spearman-Brown: the reliability of 10 ratings is v / (v + noise / 10)."""
    noise = 12.0
    actual = opinions(made(quality, random=0, noise=noise, bias=5.0))
    halves = split_half(actual.scores)
    assert len(halves) == 100
    variance = quality.var()
    assert np.median(halves) == pytest.approx(variance / (variance + noise**2 / 10), abs=0.02)


def test_z_scores_are_of_each_rater_and_session():
    ratings = Ratings(
        np.array(["a"] * 4 + ["b"] * 2),
        np.array(["1", "1", "2", "2", "1", "1"]),
        np.array(["x", "y", "z", "w", "x", "y"]),
        np.array([10.0, 20, 60, 80, 0, 100]),
    )
    expected = np.array([-1, 1] * 3) / np.sqrt(2)
    np.testing.assert_allclose(z_scores(ratings).score, expected)
    assert len(outliers(z_scores(ratings))) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.score.__setitem__(5, 101), "with 101"),
        (lambda r: r.score.__setitem__(5, np.nan), "with nan"),
        (lambda r: r.video.__setitem__(0, r.video[1]), "twice"),
        (lambda r: r.score.__setitem__(r.rater == "rater_04", 50), "rater_04 in session"),
    ],
)
def test_ratings_that_cannot_be_are_refused(quality: np.ndarray, change, message: str):
    ratings = made(quality)
    change(ratings)
    with pytest.raises(StpError, match=message):
        opinions(ratings)
