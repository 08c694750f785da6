"""Rules of generated StarCraft videos: true ones keep them, faulty ones are found."""

import numpy as np
import pytest
import scv_faults
from conventions import convention
from parts import long_except
from scipy import ndimage
from scv_faults import (
    CONTEXT,
    OF_RULES,
    RULES,
    SIZES,
    change,
    drawn,
    empty,
    faults,
    faulty,
    film,
    games,
    without,
)

from stp.datasets.scv.appearance import Thing, draw
from stp.suites.scv.blobs import follow, match_appearance, see
from stp.suites.scv.rules import GAMES

VIDEOS = 3


def success(name, predicted, observed) -> list[float]:
    return RULES[name].statistics(predicted, observed)[:, 0, 0].tolist()


def partial(name):
    return convention(f"scv_partial_success.{OF_RULES[name]}")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", RULES)
def test_true_videos_keep_the_rules(name, size):
    """Of the sizes of the paper, and of the demo; rates over more videos are in docs/scv.md."""
    number = 1 if size == 128 else VIDEOS
    films = film(games(name, number, size=size), size)
    metric = partial(name) if size == 32 else RULES[name]
    assert metric.statistics(films, films)[:, 0, 0].tolist() == [1] * number


@pytest.mark.parametrize(
    ("name", "size"),
    long_except(
        [*((name, 32) for name in RULES), (scv_faults.RTWM, 64)],
        [(name, size) for name in RULES for size in (32, 64, 128)],
        part="suites",
    ),
)
def test_faulty_videos_break_the_rules(name, size):
    """Each fault breaks a rule, so that the share of the rules that are kept is below 1.

    Two small videos are judged, and the second one at the larger sizes.
    """
    videos = [*games(name, 1, size=size), *games(name, 1, seed=6, size=size)]
    frames = drawn(videos, size)
    observed = frames[:, CONTEXT:]
    game = GAMES[OF_RULES[name]]
    true = [see(video, game.colours) for video in observed]
    for what in faults(name):
        predicted = faulty(name, what, videos, frames)
        spoilt = (predicted != observed).any(axis=(1, 2, 3, 4))
        assert spoilt[1] or size == 32, "a clip of the demo ends before units are delivered"
        for video in np.flatnonzero(spoilt) if size == 32 else [1]:
            judged = game.judge(see(predicted[video], game.colours), true[video])
            assert 0 <= judged.share < 1, what


@pytest.mark.parametrize("name", RULES)
def test_persistence_keeps_no_share_of_the_rules(name):
    """The last context frame is a step from the first observed one, which is no motion."""
    videos = games(name, VIDEOS)
    frames = drawn(videos)
    predicted = faulty(name, "the last frame (persistence)", videos, frames)
    assert (partial(name).statistics(predicted, frames[:, CONTEXT:]) == 0).all()
    assert success(name, predicted, frames[:, CONTEXT:]) == [0] * VIDEOS


def test_units_that_come_near_each_other_are_followed():
    """Nearest places would exchange them, and one that vanished is not taken for its neighbour."""

    def frame(*places):
        things = [Thing(i, "unit", 1, "red", x, 0.5) for i, x in enumerate(places)]
        return draw(things, 64)

    frames = (
        np.array(
            [
                frame(0.3, 0.45),
                frame(0.34, 0.49),
                frame(
                    0.53,
                ),
            ],
            np.float32,
        )
        / 255
    )
    seen = see(np.moveaxis(frames, -1, 1), ["red", "blue"])
    left, right = sorted(seen.blobs[0], key=lambda blob: blob.place[1])
    assert match_appearance([left], seen.blobs[2]).tolist() == [[True]]
    paths = follow([left, right], seen.blobs, step=0.05 * 64)
    assert paths.seen.tolist() == [[True, True, False], [True, True, True]]
    np.testing.assert_allclose(paths.places[:, -1, 1], [0.34 * 64 - 0.5, 0.53 * 64 - 0.5], atol=0.1)
    assert paths.others.tolist() == [0, 0, 0]
    assert paths.farthest == pytest.approx((0.04 + 0.08) / 2 * 64, abs=0.1)
    # Those that are not seen are sought farther off, behind those that are.
    unseen = follow([left, right], [seen.blobs[0], [], seen.blobs[2]], step=0.05 * 64)
    assert unseen.seen.tolist() == [[True, False, False], [True, False, True]]
    none = follow([left, right], [[], seen.blobs[0][:1]], step=0.01 * 64)
    assert none.others.tolist() == [0, 0] and none.seen.sum() == 1


@pytest.mark.parametrize("name", RULES)
@pytest.mark.long(part="suites")
def test_truth_that_is_a_little_blurred_or_noisy_is_still_recognised(name):
    """Rates at other levels are in docs/scv.md."""
    observed = film(games(name, 2))
    blurred = ndimage.gaussian_filter(observed, (0, 0, 0, 0.5, 0.5))
    assert success(name, blurred, observed) == [1, 1]
    noise = np.random.default_rng(0).normal(0, 0.02, observed.shape)
    noisy = np.clip(observed + noise, 0, 1).astype(np.float32)
    assert success(name, noisy, observed) == [1, 1]


@pytest.mark.parametrize("name", RULES)
@pytest.mark.long(part="suites")
def test_the_share_of_rules_tells_imperfect_videos_apart(name):
    """Blurred ones keep more than noisy ones; those in which nothing happens keep nothing."""
    observed = film(games(name, VIDEOS))
    share = partial(name)

    def mean(predicted) -> float:
        return share.statistics(predicted, observed).mean()

    blurred = mean(ndimage.gaussian_filter(observed, (0, 0, 0, 1, 1)))
    noise = np.random.default_rng(0).normal(0, 0.1, observed.shape)
    noisy = mean(np.clip(observed + noise, 0, 1).astype(np.float32))
    assert 1 >= blurred > noisy >= 0
    assert mean(np.repeat(observed[:, :1], observed.shape[1], axis=1)) == 0
    grey = mean(np.full_like(observed, 0.5))
    assert grey < 0.05 and mean(np.random.default_rng(1).random(observed.shape)) < 0.05


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        (scv_faults.MUTB, without("unit")),
        (scv_faults.CMS, without("unit")),
        (scv_faults.BRAWL, empty),
        (scv_faults.RTWM, without("medivac")),
    ],
)
@pytest.mark.long(part="suites")
def test_what_goes_wrong_later_keeps_more_of_the_rules(name, spoil):
    states = games(name, VIDEOS)
    observed = film(states)
    shares = [
        partial(name).statistics(film([change(at, spoil)(video) for video in states]), observed)
        for at in (4, 8, 12)
    ]
    means = [float(share.mean()) for share in shares]
    assert 0 < means[0] < means[1] < means[2] < 1


def test_videos_of_another_kind_have_no_value():
    """Nothing is recognised in them, so nothing can be said."""
    frames = np.random.default_rng(0).random((2, 14, 3, 64, 64), np.float32)
    for metric in (*RULES.values(), *map(partial, RULES)):
        assert np.isinf(metric.statistics(frames, frames)).all()
        assert np.isinf(metric.statistics(frames[:, :, :1], frames[:, :, :1])).all()
        assert "not recognised" in metric.no_value
    bad = film(games("brawl", 2))
    broken = bad.copy()
    broken[1, 3, 0, 0, 0] = np.nan
    actual = RULES["brawl"].statistics(broken, bad)[:, 0, 0]
    assert actual[0] == 1 and np.isnan(actual[1])
