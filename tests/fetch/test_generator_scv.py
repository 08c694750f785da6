"""Generated StarCraft videos keep the rules of their scenarios and the official layout."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from stp.datasets.scv.appearance import DEPTH, GROUND, MEDIVAC, RADII
from stp.datasets.scv.scenarios import (
    LIMIT,
    MARINE_REACH,
    SCENARIOS,
    SPEEDS,
    Scenario,
    brawl,
    play,
)
from stp.fetch.raw import run_generator
from stp.prepare.tfrecord import read_record, records, sequence_example
from stp.suites.scv.rules import ARMY_STEP, MARINE_STEP, MEDIVAC_STEP

VIDEOS = 4


@cache
def tables(name, scenario=None):
    """State of some videos, as the generator keeps it."""
    found = []
    for video in range(VIDEOS):
        frames, _ = play(name, np.random.default_rng(video), scenario or Scenario())
        rows = [(t, *thing) for t, things in enumerate(frames) for thing in things]
        columns = ["frame", "number", "what", "kind", "colour", "x", "y", "turn"]
        found.append(pd.DataFrame(rows, columns=columns))
    return found


def test_videos_are_as_long_as_the_official_ones():
    length = {}
    for name in SCENARIOS:
        length[name] = [table.frame.max() + 1 for table in tables(name)]
    assert min(length["move_unit_to_border"]) >= 11 and max(length["move_unit_to_border"]) <= 27
    assert set(length["collect_mineral_shards"]) == {99}
    assert max(length["brawl"]) <= 99
    assert set(length["road_trip_with_medivac"]) == {32}


@pytest.mark.parametrize(
    ("name", "every"),
    [
        ("move_unit_to_border", 6),
        ("collect_mineral_shards", 4),
        ("brawl", 4),
        ("road_trip_with_medivac", 8),
    ],
)
def test_the_first_two_frames_are_dropped_and_every_nth_is_recorded(name, every):
    frames, length = play(name, np.random.default_rng(0), Scenario())
    game = list(SCENARIOS[name][2](np.random.default_rng(0), Scenario()))
    assert len(game) == length
    assert frames == [game[t] for t in range(2, length, every)]


def test_a_unit_walks_straight_to_the_border():
    for table in tables("move_unit_to_border"):
        unit = table[table.what == "unit"]
        assert (unit.frame == np.arange(len(unit))).all()
        steps = np.diff(unit[["x", "y"]], axis=0)
        np.testing.assert_allclose(steps, np.broadcast_to(steps[0], steps.shape), atol=1e-9)
        ahead = np.abs(unit[["x", "y"]].iloc[-1] - 0.5).max() + np.abs(steps[0]).max()
        assert ahead > 0.5 - 1.2 * RADII[unit.kind.iloc[0]]
        cue = table[table.what == "cue"]
        assert cue.frame.tolist() == [0]
        towards = cue[["x", "y"]].to_numpy()[0] - 0.5
        assert np.cross(np.append(towards, 0), np.append(steps[0], 0))[2] == pytest.approx(0)


def test_shards_are_collected_once_each_by_a_unit_that_reaches_it():
    for table in tables("collect_mineral_shards"):
        shards, units = (table[table.what == what] for what in ("shard", "unit"))
        assert shards[shards.frame == 0].shape[0] == 20
        assert (units.groupby("frame").number.nunique() == 2).all()
        last = shards.groupby("number").frame.max()
        assert (shards.groupby("number").size() == last + 1).all(), "no shard comes back"
        gone = last[last < 98]
        assert len(gone) >= 8
        for number, frame in gone.items():
            at = shards[shards.number == number][["x", "y"]].iloc[0]
            near = units[units.frame.isin([frame, frame + 1])][["x", "y"]] - at
            # Contact, and what a unit walks in the four frames between two recorded ones.
            assert np.hypot(near.x, near.y).min() < MARINE_REACH + 4 * SPEEDS[1]


def test_armies_only_shrink_and_the_fight_ends_when_one_is_gone():
    for table in tables("brawl"):
        units = table[table.what == "unit"]
        counts = units.groupby(["frame", "colour"]).size().unstack(fill_value=0)
        assert counts.iloc[0].tolist() == [9, 9]
        assert (counts.diff().dropna() <= 0).all(axis=None)
    frames = list(brawl(np.random.default_rng(0), Scenario()))
    assert len({thing.colour for thing in frames[-1]}) == 1 or len(frames) == LIMIT


def test_armies_meet_within_a_clip():
    """Of the demo (2 -> 10 frames), or of the paper (2 -> 14)."""
    for table in tables("brawl"):
        counts = table[table.what == "unit"].groupby("frame").size()
        assert counts[2] > counts[11] >= counts[15]


@pytest.mark.parametrize(
    ("name", "what", "most"),
    [
        ("move_unit_to_border", "unit", 6 * SPEEDS[0]),
        ("collect_mineral_shards", "unit", MARINE_STEP),
        ("brawl", "unit", ARMY_STEP),
        ("road_trip_with_medivac", "medivac", MEDIVAC_STEP),
    ],
)
def test_nothing_goes_farther_than_the_rules_allow(name, what, most):
    for table in tables(name):
        paths = table[table.what == what].pivot(index="frame", columns="number", values=["x", "y"])
        steps = paths.diff()
        assert 0 < np.hypot(steps.x, steps.y).max(axis=None) <= most + 1e-9


def test_units_do_not_touch():
    """Those of one colour, on the frames of a clip: each is a blob of its own at 32 pixels, too."""
    for table in (*tables("brawl"), *tables("collect_mineral_shards")):
        units = table[(table.what == "unit") & (table.frame < 16)]
        for _, army in units.groupby(["frame", "colour"]):
            places, edges = army[["x", "y"]].to_numpy(), np.array(RADII)[army.kind] * (1 + DEPTH)
            gaps = np.hypot(*(places[:, None] - places).transpose(2, 0, 1))
            gaps -= edges[:, None] + edges
            np.fill_diagonal(gaps, np.inf)
            assert gaps.min() > 1.1 / 32


def test_the_same_units_are_delivered():
    for table in tables("road_trip_with_medivac"):
        units, medivac = (table[table.what == what] for what in ("unit", "medivac"))
        assert (medivac.groupby("frame").size() == 1).all() and len(medivac) == 32
        first, last = (units[units.frame == frame] for frame in (0, 31))
        assert 1 <= len(first) <= 4
        columns = ["number", "kind", "colour"]
        assert first[columns].values.tolist() == last[columns].values.tolist()
        there = units.groupby("frame").size().reindex(range(32), fill_value=0)
        assert there.min() == 0
        final = medivac[medivac.frame == 31][["x", "y"]].iloc[0]
        beacons = table[(table.what == "beacon") & (table.frame == 31)][["x", "y"]]
        assert np.abs(beacons.iloc[-1] - final).max() < 1e-9
        assert (np.hypot(*(last[["x", "y"]] - final).to_numpy().T) < MEDIVAC + 0.1).all()


def test_parameters_of_the_scenarios_can_be_changed():
    smaller = Scenario(types=1, colours=2, shards=5, army=3, most_units=1, beacons=1)
    (table, *_) = tables("collect_mineral_shards", smaller)
    assert (table[(table.what == "shard") & (table.frame == 0)]).shape[0] == 5
    for table in tables("brawl", smaller):
        assert table[(table.frame == 0) & (table.what == "unit")].kind.tolist() == [0] * 6
    for table in tables("road_trip_with_medivac", smaller):
        assert table[(table.frame == 0) & (table.what == "beacon")].shape[0] == 1


def test_files_have_the_official_layout_and_one_state_at_both_sizes(tmp_path):
    options = {"scenario": "road_trip_with_medivac", "train": 3, "valid": 1, "test": 1, "files": 2}
    for size in (64, 128):
        run_generator("scv", {**options, "size": size}, tmp_path / str(size))
    names = {}
    for size in (64, 128):
        folder = tmp_path / str(size) / "scv" / f"RoadTripWithMedivac_{size}x{size}_png"
        paths = sorted(folder.glob("*.tfrecords"))
        assert len(paths) * 2 == len(list(folder.iterdir()))
        names[size] = {path.stem: len(list(records(path))) for path in paths}
        (record,) = records(folder / "test-00000-of-00001.tfrecords")
        data = read_record(folder / "test-00000-of-00001.tfrecords", record)
        context, lists = sequence_example(data, "made")
        assert context["n_steps"].ints().tolist() == [32] == [len(lists["rgb_screen"])]
        assert context["screen_size"].ints().tolist() == [size, size]
        assert context["game_duration_loops"].ints().tolist() == [258 * 8]
        assert context["game_duration_seconds"].floats()[0] == pytest.approx(258 * 8 / 22.4)
    assert names[64] == names[128]
    assert names[64] == {
        "test-00000-of-00001": 1,
        "train-00000-of-00002": 2,
        "train-00001-of-00002": 1,
        "valid-00000-of-00001": 1,
    }
    states = [
        next((tmp_path / str(size)).rglob("train-00000*.state.parquet")) for size in (64, 128)
    ]
    pd.testing.assert_frame_equal(*(pd.read_parquet(path) for path in states))
    assert set(pd.read_parquet(states[0]).video) == {0, 1}


def test_what_is_drawn_is_where_the_state_says():
    from stp.datasets.scv.appearance import COLOURS, Thing, draw

    for size in (64, 128):
        for kind, radius in enumerate(RADII):
            thing = Thing(0, "unit", kind, "red", 0.4, 0.63, 0.7)
            frame = draw([thing], size).astype(float)
            ground, red = (np.array(c, float) for c in (GROUND, COLOURS["red"]))
            cover = ((frame - ground) @ (red - ground)) / ((red - ground) ** 2).sum()
            assert cover.sum() / size**2 == pytest.approx(np.pi * radius**2, rel=0.06)
            rows, columns = (np.arange(size) + 0.5) / size, (np.arange(size) + 0.5) / size
            assert (cover.sum(0) @ columns) / cover.sum() == pytest.approx(0.4, abs=0.003)
            assert (cover.sum(1) @ rows) / cover.sum() == pytest.approx(0.63, abs=0.003)
