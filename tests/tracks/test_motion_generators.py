"""Made scenarios: what they are called is what happens in them."""

import numpy as np
import pytest

from stp.tracks import generators
from stp.tracks.scenarios import extract
from stp.tracks.tracks import check


def paths(tracks):
    """Positions (people, steps, 2)."""
    return np.stack([tracks.position[rows] for rows in tracks.people().values()])


def test_the_faster_one_overtakes_on_the_left():
    fast, slow = paths(generators.chasing(fast=1.6))
    assert fast[0, 0] < slow[0, 0] and fast[-1, 0] > slow[-1, 0]
    beside = np.argmin(np.abs(fast[:, 0] - slow[:, 0]))
    assert fast[beside, 1] - slow[beside, 1] > 0.5


def test_ways_cross_and_people_do_not_meet():
    one, other = paths(generators.crossing())
    assert one[0, 1] < 0 < one[-1, 1] and other[0, 1] > 0 > other[-1, 1]
    assert np.linalg.norm(one - other, axis=1).min() > 0.2


def test_opposing_people_give_way():
    one, other = paths(generators.opposing())
    assert one[-1, 0] > other[-1, 0]
    assert np.linalg.norm(one - other, axis=1).min() > 0.3


def test_groups_pass_through_each_other():
    all_of_them = paths(generators.groups_meeting(size=3))
    gaps = np.linalg.norm(all_of_them[:3, None] - all_of_them[None, 3:], axis=-1)
    assert len(all_of_them) == 6 and gaps.min() > 0.3


def test_nobody_walks_through_the_obstacle():
    tracks, obstacle = generators.around_an_obstacle(people=3)
    away = np.linalg.norm(tracks.position - obstacle.position[0], axis=1)
    assert away.min() > obstacle.radius[0]


@pytest.mark.parametrize(
    ("make", "begin", "end"),
    [
        (generators.chasing, [[0, 0], [3.1, 0]], [[11.7, 0.95], [12.1, 0]]),
        (generators.crossing, [[-3.9, -2.25], [-4.16, 2.4]], [[3.9, 2.25], [3.64, -2.1]]),
        (generators.opposing, [[0, 0], [16, -0.2]], [[10, -0.04], [6, -0.16]]),
        (
            generators.groups_meeting,
            [[0, -0.8], [0, 0], [0, 0.8], [14, -0.8], [14, 0], [14, 0.8]],
            [[14.04, -0.8], [14.04, 0], [14.04, 0.8], [-0.04, -0.8], [-0.04, 0], [-0.04, 0.8]],
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_where_people_begin_and_end(make, begin, end):
    found = paths(make())
    np.testing.assert_allclose(found[:, 0], begin, atol=0.01)
    np.testing.assert_allclose(found[:, -1], end, atol=0.02)


@pytest.mark.parametrize(
    "make",
    [generators.chasing, generators.crossing, generators.opposing, generators.groups_meeting],
    ids=lambda make: make.__name__,
)
def test_they_are_ready_for_predictors(make):
    tracks = make()
    check(tracks, make.__name__)
    found = extract(tracks.decimated(4), observe=8, predict=12, protocol="strict", smooth=0)
    assert len(found) > 0
