"""Generated people: in the official formats, with scenarios enough for every stage."""

from functools import cache

import numpy as np
import pytest
from parts import long_except

from stp.core.options import build
from stp.fetch.raw import run_generator
from stp.plan import config
from stp.plan.checked_config import merge
from stp.prepare import track_maps as maps
from stp.prepare.track_readers import detections, ewap, qualisys, trajnetpp
from stp.prepare.track_survey import survey
from stp.prepare.tracks import TracksOptions, read_recording
from stp.tracks.prepared import PreparedTracks
from stp.tracks.tracks import check_detections, check_speed, join_recordings

TIME_FIRST = detections.Columns(time=0, person=1, x=2, y=3)
"""Of the files of ATC, and of resampled ones of THÖR."""

CROWD = {"format": "ewap", "files": ["a.txt"], "goals": [[0, 2], [20, 9]], "waves": 2, "seed": 1}
CHASING = {"situation": "chasing", "path": "a.ndjson", "times": 2}


@cache
def datasets():
    loaded = config.load({"scale": "a", "suite": "atlas", "dimensions": {}}).datasets
    return {name: dataset for name, dataset in loaded.items() if dataset.kind == "tracks"}


NAMES = [f"atlas_{name}" for name in (
    "eth", "hotel", "zara1", "zara2", "students3", "thor1", "thor3", "atc", "chasing", "crossing",
    "opposing", "groups", "around",
)]  # fmt: skip


def test_every_dataset_of_tracks_has_a_synthetic_release():
    assert set(datasets()) == set(NAMES)
    for dataset in datasets().values():
        release = dataset.releases["synthetic"]
        assert release.source == "synthetic" and release.generator


@pytest.mark.parametrize("name", long_except(["atlas_eth", "atlas_zara1"], NAMES, part="wide"))
def test_the_official_readers_read_it_and_find_scenarios(name, tmp_path):
    dataset = datasets()[name]
    release = dataset.releases["synthetic"]
    run_generator(release.generator, release.options, tmp_path / "raw")
    given = merge(dataset.prepare, release.prepare)
    options = build(TracksOptions, given, name)
    parts = [read_recording([tmp_path / "raw" / file], options).tracks for file in options.files]
    for part, file in zip(parts, options.files, strict=True):
        check_detections(part, file)
        check_speed(part.decimated(options.decimate), file)
    rules = {key: getattr(options, key) for key in ("calibration", "smooth", "fewest", "decimate")}
    about = {**rules, "dataset": name, "recordings": [len(part) for part in parts]}
    tracks = join_recordings(parts)
    assert 0.38 <= tracks.dt * options.decimate <= 0.4
    place = PreparedTracks(tracks, None, about)
    told = survey(place, observe=dataset.context, predict=dataset.horizon)
    for parts in told.values():
        assert parts["test"]["episodes"] >= 8
        assert options.calibration == 0 or parts["calibration"]["scenarios"] > 0
    if options.map and "picture" in options.map:
        around = maps.read_picture(*(tmp_path / "raw" / options.map[key] for key in options.map))
        assert maps.check_covered(around, tracks.position, "map") == 0
    if options.goals:
        goals = maps.read_goals(tmp_path / "raw" / options.goals)
        assert not maps.absurd_goals(goals, tracks.position).any()


READERS = {
    "ewap": lambda path: ewap.read(path, step=10, dt=0.4),
    "trajnetpp": lambda path: trajnetpp.read(path, step=10, dt=0.4),
    "atc": lambda path: detections.read(path, TIME_FIRST, metres=0.001, step=1, dt=0.4).tracks,
    "qualisys": lambda path: qualisys.read(path).decimated(40),
}


def test_the_same_walk_in_every_format(tmp_path):
    found = {}
    for format, read in READERS.items():
        run_generator("atlas.crowd", {**CROWD, "format": format}, tmp_path / format)
        found[format] = read(tmp_path / format / "a.txt")
    seconds = {format: np.ptp(tracks.frame) / tracks.step for format, tracks in found.items()}
    assert max(seconds.values()) - min(seconds.values()) <= 2
    for tracks in found.values():
        middle = tracks.position[len(tracks) // 2]
        assert 0 < middle[0] < 20 and len(tracks.people()) >= 4


def test_parameters_are_drawn_between_their_bounds(tmp_path):
    options = {**CHASING, "times": 6, "noise": 0, "parameters": {"fast": [1.3, 1.6], "slow": 0.9}}
    run_generator("atlas.situation", options, tmp_path / "raw")
    tracks = trajnetpp.read(tmp_path / "raw" / "a.ndjson", step=1, dt=0.1)
    ways = [np.ptp(tracks.position[rows][:, 0]) / 9 for rows in tracks.people().values()]
    np.testing.assert_allclose(ways[1::2], 0.9, atol=0.01)
    assert 1.3 - 0.01 <= min(ways[::2]) < max(ways[::2]) <= 1.6 + 0.01
