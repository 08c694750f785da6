"""The rules of `atlas-paper` against plain loops, and what the protocols do otherwise."""

from dataclasses import replace

import numpy as np
import pytest
import slow_atlas
from crowds import line, tracks
from hypothesis import given, settings
from hypothesis import strategies as st

from stp.tracks import prepared
from stp.tracks.scenarios import extract
from stp.tracks.tracks import Tracks, join_recordings, split_in_time, with_released_clock


@st.composite
def recordings(draw) -> tuple[int, list[list[slow_atlas.Row]]]:
    """Several files of people who come and go, with gaps short and long, and short tracks."""
    step = draw(st.sampled_from([1, 6, 10]))
    files = []
    for _ in range(draw(st.integers(1, 3))):
        rows: list[slow_atlas.Row] = []
        for person in range(1, draw(st.integers(1, 4)) + 1):
            begin = draw(st.integers(1, 12 * step))
            ways = [step] * 12 + [2 * step, 3 * step, 10 * step, 11 * step, 2 * step + 1]
            intervals = draw(st.lists(st.sampled_from(ways), max_size=40))
            frames = np.cumsum([begin, *intervals])
            random = np.random.default_rng(draw(st.integers(0, 99)))
            path = np.cumsum(random.normal(0, 0.4, (len(frames), 2)), axis=0)
            rows += [
                (float(f), person, *map(float, at)) for f, at in zip(frames, path, strict=True)
            ]
        files.append(sorted(rows))
    return step, files


def as_tracks(rows: list[slow_atlas.Row], step: int, dt: float) -> Tracks:
    frame, person, x, y = np.array(rows).T
    return Tracks(frame, person.astype(np.int64), np.column_stack([x, y]), step, dt)


@settings(max_examples=150, deadline=None)
@given(
    recordings(), st.sampled_from([1, 1, 2, 4]), st.sampled_from([0, 3, 5]),
    st.sampled_from([(0.0, 1.0), (0.2, 1.0), (0.0, 0.3)]), st.integers(2, 7), st.integers(1, 6),
)  # fmt: skip
def test_the_same_as_in_plain_loops(made, rate, width, split, observe, predict):
    step, files = made
    dt = 0.4 / rate
    expected = slow_atlas.scenarios(
        files, split=split, interval=step, frequency=1 / dt, rate=rate, width=width,
        observe=observe, predict=predict, fewest=1,
    )  # fmt: skip
    whole = join_recordings([as_tracks(rows, step, dt) for rows in files])
    part = with_released_clock(whole, [len(rows) for rows in files]).part(*split)
    if not len(part):
        assert not expected
        return
    found = extract(
        part, observe=observe, predict=predict, protocol="atlas-paper", smooth=width, fewest=1,
        decimate=rate,
    )  # fmt: skip
    assert found.start.tolist() == [start for start, _ in expected]
    for number, (_, people) in enumerate(expected):
        there = found.present[number]
        assert found.person[number, there].tolist() == list(people)
        paths = np.concatenate([found.observed, found.future], axis=2)[number, there]
        np.testing.assert_allclose(paths, list(people.values()), atol=1e-9)


def test_short_recordings_meet_in_the_released_code_and_nowhere_else():
    """A person of two recordings: 1.01 times the last frame is half a second later."""
    one = tracks((1, 0, line(20)), (2, 0, line(20) + 1), step=1)
    both = join_recordings([one, one])
    released = with_released_clock(both, [len(one), len(one)])
    assert released.frame.max() == pytest.approx(1.01 * 19 + 19)
    about = {"observe": 4, "predict": 4, "smooth": 0}
    apart = extract(both, protocol="strict", **about)
    led = extract(released, protocol="atlas-paper", **about)
    assert len(apart) == 2 * 13
    # The last frame of the first is 19, the first of the second 19.19: no window knows of the cut.
    assert len(led) > len(apart)


def test_the_last_gap_of_a_track_is_filled_under_strict_alone():
    path = line(20)
    path[17:19] = np.nan  # the last interval of the track
    here = tracks((1, 0, path), (2, 0, line(20) + 2))
    starts = {
        protocol: (extract(here, observe=4, predict=4, protocol=protocol).start / 6).tolist()
        for protocol in ("atlas-paper", "strict")
    }
    assert starts["atlas-paper"][-1] == 9 and 12 in starts["strict"]


def test_the_part_is_cut_before_it_is_decimated():
    """The first frame of the part is the first of those that are kept."""
    whole = tracks((1, 0, line(100)), (2, 0, line(100) + 2), step=1)
    about = {"dataset": "hall", "calibration": 0.3, "smooth": 0, "fewest": 2, "decimate": 4}
    place = prepared.PreparedTracks(replace(whole, dt=0.1), None, about)
    found = place.scenarios("test", "atlas-paper", 4, 4)
    assert place.step == 4 and found.dt == pytest.approx(0.4)
    assert found.start.tolist() == list(range(30, 30 + 4 * len(found), 4))
    np.testing.assert_array_equal(found.observed[0, 0], line(100)[30:46:4])


def test_noise_depends_on_dataset_scenario_and_sigma():
    here = tracks((1, 0, line(30)), (2, 0, line(30) + 3))

    def noise(**given):
        about = {"observe": 4, "predict": 4, "protocol": "strict", "smooth": 0}
        noisy = extract(here, **about, **{"noise": 0.2, "seed": 3, "name": "eth", **given})
        return noisy.observed - extract(here, **about).observed

    one = noise()
    np.testing.assert_array_equal(noise(), one)
    for other in ({"name": "hotel"}, {"seed": 4}, {"noise": 0.1}):
        assert abs(np.corrcoef(one.ravel(), noise(**other).ravel())[0, 1]) < 0.25, other
    assert abs(np.corrcoef(one[0].ravel(), one[1].ravel())[0, 1]) < 0.9


def test_relaxed_scenarios_are_those_of_crowds():
    """Two walk for 20 steps; a third leaves after 9, a fourth comes in step 3."""
    here = tracks(
        (1, 0, line(20)), (2, 0, line(20) + 3), (3, 0, line(9) - 3), (4, 18, line(17) + 6)
    )
    about = {"observe": 4, "predict": 8, "smooth": 0}
    assert len(extract(here, protocol="strict", **about)) == 0
    found = extract(here, protocol="strict-relaxed", **about)
    assert found.start.tolist() == [6 * step for step in range(9)]
    # In step 0 the third is seen in all of the observation, and leaves; the fourth is not yet seen
    # for long enough.
    assert found.person[0].tolist() == [1, 2, 3, -1]
    assert found.has_future[0].tolist() == [True, True, False, False]
    assert found.left_out.tolist() == [1, 1, 1, 0, 0, 0, 1, 1, 1]
    assert np.isfinite(found.observed[0, 2]).all() and np.isnan(found.future[0, 2]).all()
    assert [len(batch.left_out) for batch in found.batches(4)] == [4, 4, 1]


@pytest.mark.sample_bytes
def test_a_crowd_has_relaxed_scenarios(raw_mirror):
    """students03 has none under the paper's rule (facts, 1.4)."""
    from stp.prepare.track_readers import ewap

    path = raw_mirror / "atlas/opentraj/datasets/UCY/students03/obsmat.txt"
    crowd = ewap.read(path, step=10, dt=0.4)
    assert len(extract(crowd, observe=8, predict=12, protocol="strict")) == 0
    found = extract(crowd, observe=8, predict=12, protocol="strict-relaxed")
    neighbours = found.present & ~found.has_future
    counts = (len(found), found.has_future.sum(), neighbours.sum(), found.left_out.sum())
    assert counts == (521, 14046, 4475, 5329)
    assert found.has_future.sum(axis=1).min() >= 2
    assert set(found.episode) == {0}, "all of them overlap: no interval can be had from them"


def hall(share: float = 0.2) -> prepared.PreparedTracks:
    """Ten pairs who walk for 24 steps; the next pair comes six steps before one leaves."""
    people = [
        (2 * pair + one, 6 * 18 * pair, line(24, (0.5, 0.1), wobble=2 * pair + one) + 2 * one)
        for pair in range(10)
        for one in (0, 1)
    ]
    about = {"dataset": "hall", "calibration": share, "smooth": 5, "fewest": 2}
    return prepared.PreparedTracks(tracks(*people), None, about)


@pytest.mark.parametrize("protocol", ["strict", "strict-relaxed"])
@pytest.mark.parametrize("part", ["calibration", "test"])
def test_scenarios_do_not_depend_on_the_order_of_lines(protocol, part):
    """By frame, by person, or shuffled: the same, except under atlas-paper."""
    here = hall()
    orders = [
        np.lexsort((here.tracks.frame, here.tracks.person)),
        np.random.default_rng(0).permutation(len(here.tracks)),
    ]
    expected = here.scenarios(part, protocol, 4, 4)
    for order in orders:
        other = replace(here, tracks=here.tracks.rows(order))
        for name, value in vars(other.scenarios(part, protocol, 4, 4)).items():
            np.testing.assert_array_equal(value, getattr(expected, name), err_msg=name)
    by_person = replace(here, tracks=here.tracks.rows(orders[0]))
    released = [one.scenarios("test", "atlas-paper", 4, 4) for one in (here, by_person)]
    assert released[0].start.tolist() != released[1].start.tolist()


@pytest.mark.parametrize("share", [0.16, 0.2, 0.37, 0.5])
def test_nobody_and_no_moment_is_in_both_parts(share):
    here = hall(share)
    before, after, lacking = split_in_time(here.tracks, share, [len(here.tracks)])
    assert before.frame.max() < after.frame.min()
    assert not set(before.person) & set(after.person)
    cut = after.frame.min()
    there = set(here.tracks.person[here.tracks.frame < cut]) & set(after.person)
    assert lacking == len(there) and here.count_shared_people()[1] == lacking
    # The test has everybody who is there.
    assert len(after) == (here.tracks.frame >= cut).sum()
    assert abs(len(after) / len(here.tracks) - (1 - share)) < 0.01


def test_the_same_number_in_another_recording_is_somebody_else():
    """A person of the first recording, all before the cut, has the number of one of the second."""
    one = tracks((1, 0, line(10)), (2, 0, line(10)))
    two = tracks((1, 0, line(30)), (2, 0, line(30)))
    before, _, lacking = split_in_time(join_recordings([one, two]), 0.4, [len(one), len(two)])
    assert len(before) == len(one) and lacking == 2
