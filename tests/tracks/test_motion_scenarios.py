"""Scenarios under both protocols: who is in them, gaps, noise and blocks."""

import numpy as np
import pytest
from crowds import line, tracks

from stp.core.errors import StpError
from stp.options.protocols import PROTOCOLS
from stp.tracks import scenarios
from stp.tracks.scenarios import extract
from stp.tracks.tracks import check, join_recordings

BOTH = pytest.mark.parametrize("protocol", ["atlas-paper", "strict"])


@BOTH
def test_everybody_seen_must_be_there_from_first_to_last(protocol):
    """Two walk for 20 steps; a third is there for 12 of them, and comes in step 4."""
    here = tracks((1, 0, line(20)), (2, 0, line(20) + 3), (3, 24, line(12) - 3))
    found = extract(here, observe=4, predict=4, protocol=protocol, smooth=0)
    # Step 0: the third is not seen yet. Then he is seen for too short a time, up to step 4: he is
    # there for 8 steps until his last beginning at step 8, after which his future is too short;
    # when he has left, from step 16, the others' futures end.
    assert (found.start / 6).tolist() == [0, 4, 5, 6, 7, 8]
    assert found.present.sum(axis=1).tolist() == [2, 3, 3, 3, 3, 3]
    assert found.person[0].tolist() == [1, 2, -1]
    np.testing.assert_array_equal(found.observed[0, 0], line(20)[:4])
    np.testing.assert_array_equal(found.future[0, 1], line(20)[4:8] + 3)
    assert np.isnan(found.observed[0, 2]).all()


@BOTH
def test_gaps_are_filled_and_long_ones_are_not(protocol):
    path = line(40)
    path[5:8] = np.nan  # 4 steps of 0.4 s: 1.6 s
    path[25:36] = np.nan  # 12 steps: 4.8 s
    found = extract(
        tracks((1, 0, path), (2, 0, line(40) + 2)), observe=4, predict=4, protocol=protocol,
        smooth=0,
    )  # fmt: skip
    starts = (found.start / 6).tolist()
    assert 8 in starts and 17 in starts and 18 not in starts
    at = starts.index(8)
    np.testing.assert_allclose(found.observed[at, 0], line(40)[8:12])
    # Filled within the observation, from both sides of the gap:
    assert (4 in starts) == (protocol == "atlas-paper")  # ends in step 7, within the gap
    # The truth may begin in a gap, after the last observed position.
    np.testing.assert_allclose(found.future[starts.index(1), 0], line(40)[5:9])


def test_overlapping_scenarios_are_one_episode():
    here = tracks((1, 0, line(12)), (2, 0, line(12) + 1), (3, 600, line(9)), (4, 600, line(9) + 1))
    found = extract(here, observe=4, predict=4, protocol="strict")
    assert found.episode.tolist() == [0] * 5 + [1] * 2


@BOTH
def test_noise_is_repeated_and_does_not_touch_the_truth(protocol):
    here = tracks((1, 0, line(60)), (2, 0, line(60) + 3))
    about = {"observe": 4, "predict": 4, "protocol": protocol, "smooth": 0}
    plain = extract(here, **about)
    noisy, again = (extract(here, noise=0.2, seed=3, **about) for _ in range(2))
    np.testing.assert_array_equal(noisy.observed, again.observed)
    np.testing.assert_array_equal(noisy.future, plain.future)
    sigma = np.std(noisy.observed - plain.observed)
    assert sigma == pytest.approx(0.2 * (0.4 if protocol == "atlas-paper" else 1), rel=0.1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_day_is_cut_in_blocks_of_moments_as_in_one(protocol, monkeypatch):
    """People come and go: most are in few of the blocks, and blocks have different crowds."""
    draw = np.random.default_rng(0)
    people = []
    for person in range(40):
        path = line(int(draw.integers(5, 30)), (0.3, 0.1), wobble=person)
        path[draw.random(len(path)) < 0.05] = np.nan
        people.append((person, 6 * int(draw.integers(0, 300)), path))
    here = tracks(*people)
    about = {"observe": 3, "predict": 4, "protocol": protocol, "fewest": 1, "noise": 0.1}
    whole = extract(here, **about)
    monkeypatch.setattr(scenarios, "BLOCK", 7)
    for name, blocks in vars(extract(here, **about)).items():
        np.testing.assert_array_equal(blocks, getattr(whole, name), err_msg=name)
    assert len(whole) > 20 and whole.present.sum(axis=1).max() > whole.present.sum(axis=1).min()


def test_decimation_keeps_every_so_manieth_step():
    here = tracks((1, 3, line(10)), (2, 9, line(9)))
    fewer = here.decimated(4)
    assert fewer.frame.tolist() == [3, 27, 27, 51, 51]
    assert (fewer.step, fewer.dt) == (24, 1.6)
    about = {"observe": 2, "predict": 1, "protocol": "atlas-paper", "smooth": 0, "fewest": 1}
    found = extract(tracks((1, 0, line(17))), decimate=4, **about)
    assert found.start.tolist() == [0, 24, 48] and found.dt == 1.6
    np.testing.assert_array_equal(found.observed[0, 0], line(17)[[0, 4]])


def test_batches_are_all_scenarios_in_their_order():
    found = extract(
        tracks((1, 0, line(20)), (2, 0, line(20) + 3)), observe=4, predict=4, protocol="strict"
    )
    batches = list(found.batches(5))
    assert [len(batch) for batch in batches] == [5, 5, 3]
    np.testing.assert_array_equal(np.concatenate([batch.start for batch in batches]), found.start)


def test_tracks_that_cannot_be_are_refused():
    here = tracks((7, 0, line(3)))
    here.position[1] = np.inf
    with pytest.raises(StpError, match=r"eth\.ndjson"):
        check(here, "eth.ndjson")
    here = tracks((7, 0, line(3)), (7, 6, line(1)))
    with pytest.raises(StpError, match=r"person 7 .*frame 6"):
        check(here, "eth.ndjson")
    with pytest.raises(StpError, match="rates"):
        join_recordings([tracks((1, 0, line(3))), tracks((1, 0, line(3)), step=10)])
    with pytest.raises(StpError, match="0 "):
        extract(here, observe=0, predict=3, protocol="strict")
