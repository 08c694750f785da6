"""Bad input of tracks: one error that names the file and what to do, or a count of what is left.

A corruption is cut, put or changed somewhere in a good file; whatever comes of it is a finite table
or an StpError with the name of the file, and never another exception.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from crowds import line, tracks
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from stages import Stages

from stp.core.errors import StpError
from stp.fetch.raw import run_generator
from stp.prepare import track_maps as maps
from stp.prepare.track_readers import detections, ewap, numbers, qualisys, trajnetpp
from stp.prepare.track_survey import survey
from stp.tracks import prepared
from stp.tracks.obstacles import cells, discs
from stp.tracks.tracks import check, check_detections, jumps

TIME_FIRST = detections.Columns(time=0, person=1, x=2, y=3)
"""Of the files of ATC, and of resampled ones of THÖR."""

CROWD = {
    "goals": [[0, 2], [12, 9]], "waves": 1, "people": [2, 2], "goals_file": "goals.txt",
    "pillars": [[6, 5, 1]], "area": [-1, 0, 13, 10], "cell": 0.5,
}  # fmt: skip
NAMED = detections.Columns(frame="frame", person="id", x="x", y="y")


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A good file of each kind, and what reads it: {name: (bytes, read)}."""
    folder = tmp_path_factory.mktemp("good")
    grid = {"grid": "grid.ndjson", "classes": "classes.ndjson"}
    made = [
        ("ewap", "obsmat.txt", {"picture": "map.png", "homography": "H.txt"}),
        ("trajnetpp", "eth.ndjson", {}),
        ("atc", "atc.csv", {}),
        ("qualisys", "thor.tsv", grid),
    ]
    for format, file, around in made:
        options = {**CROWD, "format": format, "files": [file], "map": around}
        run_generator("atlas.crowd", options, folder / format)
        for path in (folder / format).iterdir():
            path.replace(folder / path.name)
    table = pd.DataFrame({"frame": [0, 0, 1, 1], "id": list("abab"), "x": [0, 1, 0.1, 1.1], "y": 2})
    table.to_csv(folder / "hall.csv", index=False)
    table.to_parquet(folder / "hall.parquet")
    np.savetxt(folder / "discs.txt", [[8, 5, 2], [1, 1, 0.5]])
    own = {"metres": 1.0, "step": 1, "dt": 0.1}
    readers = {
        "obsmat.txt": lambda path: ewap.read(path, step=10, dt=0.4),
        "eth.ndjson": lambda path: trajnetpp.read(path, step=10, dt=0.4),
        "atc.csv": lambda path: detections.read(path, TIME_FIRST, metres=1, step=1, dt=0.4).tracks,
        "thor.tsv": qualisys.read,
        "hall.csv": lambda path: detections.read(path, NAMED, **own).tracks,
        "hall.parquet": lambda path: detections.read(path, NAMED, **own).tracks,
        "map.png": lambda path: maps.read_picture(path, folder / "H.txt"),
        "H.txt": lambda path: maps.read_picture(folder / "map.png", path),
        "grid.ndjson": maps.read_surface,
        "classes.ndjson": lambda path: maps.read_surface(folder / "grid.ndjson", path),
        "goals.txt": maps.read_goals,
        "discs.txt": maps.read_discs,
    }
    return {name: ((folder / name).read_bytes(), read) for name, read in readers.items()}


FILES = (
    "obsmat.txt", "eth.ndjson", "atc.csv", "thor.tsv", "hall.csv", "hall.parquet", "map.png",
    "H.txt", "grid.ndjson", "classes.ndjson", "goals.txt", "discs.txt",
)  # fmt: skip
JUNK = (
    b"",
    b"\0\0\0\0",
    b"nan",
    b"inf",
    b"-",
    b"1e999",
    b",",
    b"\t",
    b"\n",
    b"}",
    b"null",
    b"\xff",
)


def positions(found):
    return getattr(found, "position", found)


@pytest.mark.parametrize("name", FILES)
@settings(
    max_examples=25, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(at=st.floats(0, 1), cut=st.integers(0, 40), junk=st.sampled_from(JUNK), ends=st.booleans())
def test_whatever_is_damaged_is_named_or_harmless(good, tmp_path, name, at, cut, junk, ends):
    whole, read = good[name]
    place = int(at * len(whole))
    bad = whole[:place] + junk + (b"" if ends else whole[place + cut :])
    path = tmp_path / name
    path.write_bytes(bad)
    try:
        found = read(path)
        if name in FILES[:6]:
            check_detections(found, name)
    except StpError as error:
        assert name in error.what and error.expected and error.remedy
    else:
        assert np.isfinite(positions(found)).all() and len(positions(found))


@pytest.mark.parametrize("name", FILES)
def test_what_is_missing_or_empty_is_named(good, tmp_path, name):
    _, read = good[name]
    with pytest.raises(StpError, match=name):
        read(tmp_path / name)
    (tmp_path / name).write_bytes(b"")
    if name == "eth.ndjson":  # which may hold scenes only
        with pytest.raises(StpError, match=name):
            check(read(tmp_path / name), name)
    elif name == "classes.ndjson":
        assert read(tmp_path / name).names == {}
    else:
        with pytest.raises(StpError, match=name):
            read(tmp_path / name)


BROKEN = {
    "obsmat.txt": (5, lambda old: "nan " + old.split(maxsplit=1)[1], "line 6 "),
    "eth.ndjson": (5, lambda old: old[:-4], "line 6 "),
    "atc.csv": (5, lambda old: old.replace(",", ",far", 2), "line 6"),
    "hall.csv": (3, lambda old: "1,a,,2", "line 4"),
    "thor.tsv": (30, lambda old: "x" + old, "line 31 "),
    "goals.txt": (1, lambda old: "1 2 3", "line 2 .*3 "),
    "grid.ndjson": (5, lambda old: old[:20], "line 6 "),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_line_is_named(good, tmp_path, name):
    whole, read = good[name]
    number, breaks, says = BROKEN[name]
    lines = whole.decode().splitlines()
    lines[number] = breaks(lines[number])
    (tmp_path / name).write_text("\n".join(lines))
    with pytest.raises(StpError, match=f"{name}: {says}"):
        read(tmp_path / name)


def test_people_and_frames_are_whole_numbers(tmp_path):
    (tmp_path / "obsmat.txt").write_text("0 1.5 0 0 0 0 0 0\n")
    with pytest.raises(StpError, match=r"obsmat.txt: .*1 .*1\.5"):
        ewap.read(tmp_path / "obsmat.txt", step=1, dt=0.1)
    here = tracks((1, 0, line(4)), step=1)
    here.frame[2] = 1.5
    with pytest.raises(StpError, match=r"row 3 .*1\.5"):
        check(here, "a.csv")
    assert numbers.to_whole_numbers(np.array([1.0, -3.0]), Path("a"), "person").dtype == np.int64


def test_mixed_rates_are_refused():
    """One person every 6 frames, one every 10; and everybody at another rate than declared."""
    both = tracks((1, 0, line(9)), (2, 0, line(9)))
    slow = both.person == 2
    both.frame[slow] = both.frame[slow] / 6 * 10
    with pytest.raises(StpError, match=r"eth.txt: .*8 of 16 .*6"):
        check(both, "eth.txt")
    every_twelfth = tracks((1, 0, line(9)))
    every_twelfth.frame[:] *= 2
    with pytest.raises(StpError, match=r"eth.txt: .*12 ") as e:
        check(every_twelfth, "eth.txt")
    assert "step: 12" in e.value.remedy


def test_a_teleport_is_refused_or_its_person_left_out_and_named(tmp_path):
    """Person 3 is 30 m away for a moment."""
    away = line(30, (0.4, 0))
    away[9:] += 30
    here = tracks((1, 0, line(30)), (2, 0, line(30, (0.5, 0.1))), (3, 0, away), step=1)
    assert len(jumps(here)) == 1 and jumps(here).person.tolist() == [3]
    with pytest.raises(StpError, match="factor of 1000"):
        check(replace(here, dt=here.dt / 1000), "hall.csv")
    write_csv(tmp_path / "hall.csv", here)
    options = {"columns": {"frame": "frame", "person": "id", "x": "x", "y": "y"}, "dt": 0.4}
    stages = Stages(tmp_path / "store", tmp_path)
    says = r"hall.csv: person 3 .*106\.8 m/s .*8 to 9; 1 of 3 "
    with pytest.raises(StpError, match=says):
        stages.prepare(["hall.csv"], **options)
    data, told = stages.prepare(["hall.csv"], **options, teleports="exclude")
    assert told["people"] == 2
    (excluded,) = told["excluded_people"]
    assert excluded.startswith("hall.csv: person 3 ") and "106.8 m/s" in excluded
    assert prepared.read(data).tracks.person.max() == 2
    _, told = stages.prepare(["hall.csv"], **options, fastest=200.0)
    assert told["people"] == 3 and told["excluded_people"] == []
    with pytest.raises(StpError, match=r" 3 .*0\.1 m/s"):
        stages.prepare(["hall.csv"], **options, teleports="exclude", fastest=0.1)


def write_csv(path, here):
    table = {"frame": here.frame, "id": here.person, "x": here.position[:, 0]}
    pd.DataFrame({**table, "y": here.position[:, 1]}).to_csv(path, index=False)


def test_obstacles_that_cover_everyone_are_refused():
    here = tracks((1, 0, line(9)))
    wide = discs(np.array([[2.0, 0.0]]), np.array([10.0]))
    with pytest.raises(StpError, match=r"map.txt: .*9 of 9 "):
        maps.check_covered(wide, here.position, "map.txt")
    beside = discs(np.array([[0.0, 0.0]]), np.array([0.6]))
    assert maps.check_covered(beside, here.position, "map.txt") == 2
    floor = cells(np.argwhere(np.ones((60, 20))) * 0.1 - 0.5)
    with pytest.raises(StpError, match=r"grid: .*9 of 9 "):
        maps.check_covered(floor, here.position, "grid")


def test_absurd_goals_are_left_out_and_counted(tmp_path):
    write_csv(tmp_path / "hall.csv", tracks((1, 0, line(30)), (2, 0, line(30)), step=1))
    (tmp_path / "goals.txt").write_text("15 0\n0 -271090.02\n-600 0\n")
    stages = Stages(tmp_path / "store", tmp_path)
    columns = {"frame": "frame", "person": "id", "x": "x", "y": "y"}
    data, told = stages.prepare(
        ["hall.csv", "goals.txt"], columns=columns, dt=0.4, goals="goals.txt"
    )
    assert told["goals"] == 2 and told["absurd_goals"] == [[0, -271090.02]]
    assert prepared.read(data).goals.tolist() == [[15, 0], [-600, 0]]


def test_a_semantic_grid_is_prepared_with_the_names_of_its_classes(good, tmp_path):
    names = ["thor.tsv", "grid.ndjson", "classes.ndjson", "goals.txt"]
    for name in names:
        (tmp_path / name).write_bytes(good[name][0])
    stages = Stages(tmp_path / "store", tmp_path)
    around = {"grid": "grid.ndjson", "classes": "classes.ndjson"}
    data, told = stages.prepare(
        names, format="qualisys", dt=0.01, decimate=40, map=around, goals="goals.txt", fewest=1
    )
    room = prepared.read(data)
    assert room.surface.names == {0: "free_space", 1: "obstacle"} and room.surface.size == 0.5
    assert told["cells"] == len(room.surface.kind) == 28 * 20
    assert told["obstacles"] == (room.surface.kind == 1).sum() == len(room.obstacles.position)
    away = np.linalg.norm(room.obstacles.position - (6, 5), axis=1)
    assert away.max() <= 1 and told["on_obstacles"] == 0
    (data / "surface.parquet").write_bytes(b"cut")
    with pytest.raises(StpError, match=r"surface.parquet"):
        prepared.read(data)


def test_a_file_of_another_eth_is_named_and_refused(tmp_path):
    """The four columns of SGAN, and the same as ndjson: 5492 rows of 360 people every 10 frames."""
    each = np.full(360, 15)
    each[:92] += 1  # 5492 of them
    paths = [(p, 10 * p, line(n, (0.4, 0.1))) for p, n in enumerate(each)]
    other = tracks(*paths, step=10)
    with (tmp_path / "eth.ndjson").open("w") as file:
        for f, p, (x, y) in zip(other.frame, other.person, other.position, strict=True):
            file.write(json.dumps({"track": {"f": f, "p": int(p), "x": x, "y": y}}) + "\n")
    stages = Stages(tmp_path / "store", tmp_path)
    with pytest.raises(StpError, match=r"biwi_eth.txt of SGAN"):
        stages.prepare(["eth.ndjson"], format="trajnetpp", step=6, dt=0.4)
    official = {"rows": 8908, "people": 360, "step": 6}
    with pytest.raises(StpError, match=r"5492 (.|\n)*ETH: biwi_eth.txt of SGAN") as e:
        stages.prepare(["eth.ndjson"], format="trajnetpp", step=10, dt=0.4, variant=official)
    assert "ETH: obsmat.txt of EWAP" in e.value.expected
    unknown = other.rows(slice(100))
    write_csv(tmp_path / "eth.csv", unknown)
    columns = {"frame": "frame", "person": "id", "x": "x", "y": "y"}
    with pytest.raises(StpError, match=r"eth\.csv"):
        stages.prepare(["eth.csv"], columns=columns, step=10, dt=0.4, variant=official)


def place(here, calibration=0.0):
    """A place with nothing around it."""
    about = {"dataset": "hall", "calibration": calibration, "smooth": 0, "fewest": 2}
    return prepared.PreparedTracks(here, None, about)


def test_no_scenario_is_counted_with_its_reasons():
    """Nobody is there long enough: everybody comes or goes."""
    brief = tracks(*[(p, 6 * 9 * p, line(9)) for p in range(6)])
    told = survey(place(brief, calibration=0.5), observe=6, predict=10)
    for protocol in ("atlas-paper", "strict"):
        for about in told[protocol].values():
            assert about["scenarios"] == about["episodes"] == about["people"] == 0
            assert sum(about["left_out"].values()) == about["moments"] > 0
    reasons = told["strict"]["test"]["left_out"]
    assert reasons["somebody comes or goes while observed"] > 0


def test_every_reason_is_what_it_says():
    """A and B walk 40 steps together; C comes late, is alone at the end, and has a long gap."""
    gap = line(30)
    gap[3:15] = np.nan
    here = tracks((1, 0, line(40)), (2, 0, line(40)), (3, 6 * 60, gap), (4, 6 * 100, line(30)))
    about = survey(place(here), observe=4, predict=4)["strict"]["test"]
    assert about["scenarios"] == 33 and about["episodes"] == 1 and about["people"] == 66
    assert set(about["left_out"]) == {
        "nobody is there", "somebody comes or goes while observed",
        "somebody leaves before the end", "too few people",
    }  # fmt: skip
    assert about["scenarios"] + sum(about["left_out"].values()) == about["moments"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"dt": 0.4, "fps": 25}, "fps .*dt"),
        ({}, "fps .*dt"),
        ({"dt": 0.4, "units": "furlong"}, "units .*furlong"),
        ({"dt": 0.4, "units": "mm", "metres": 0.001}, "units .*mm"),
        ({"dt": float("nan")}, "dt .*nan"),
        ({"dt": 0.4, "teleports": "ignore"}, "teleports .*ignore"),
        ({"dt": 0.4, "fastest": 0}, "fastest .*0"),
        ({"dt": 0.4, "calibration": 1}, "calibration .*1"),
        ({"dt": 0.4, "map": {"picture": "map.png"}}, "map"),
        ({"dt": 0.4, "files": []}, "files"),
        ({"dt": 0.4, "format": "csv"}, "format .*csv"),
        ({"dt": 0.4, "smooth": 4}, "smooth .*4"),
    ],
)
def test_options_that_make_no_sense(tmp_path, options, says):
    write_csv(tmp_path / "hall.csv", tracks((1, 0, line(9)), step=1))
    columns = {"frame": "frame", "person": "id", "x": "x", "y": "y"}
    with pytest.raises(StpError, match=says):
        Stages(tmp_path / "store", tmp_path).prepare(["hall.csv"], columns=columns, **options)


def test_a_picture_without_white_and_a_flat_homography(tmp_path):
    Image.fromarray(np.zeros((4, 5), np.uint8)).save(tmp_path / "map.png")
    np.savetxt(tmp_path / "H.txt", np.eye(3))
    with pytest.raises(StpError, match=r"map.png: .*255"):
        maps.read_picture(tmp_path / "map.png", tmp_path / "H.txt")
    Image.fromarray(np.full((4, 5), 255, np.uint8)).save(tmp_path / "map.png")
    np.savetxt(tmp_path / "H.txt", [[1, 0, 0], [2, 0, 0], [0, 0, 1]])
    with pytest.raises(StpError, match=r"H.txt"):
        maps.read_picture(tmp_path / "map.png", tmp_path / "H.txt")


TIMED = {"time": "time", "person": "id", "x": "x", "y": "y"}


def write_times(path, *people):
    """Of each person how many detections there are, how far apart, and from when on; seconds."""
    parts = [
        pd.DataFrame({"time": begin + every * np.arange(count), "id": f"p{number}"})
        for number, (count, every, begin) in enumerate(people)
    ]
    table = pd.concat(parts, ignore_index=True)
    table.assign(x=table.time, y=0.0).sample(frac=1, random_state=0).to_csv(path, index=False)


def test_what_a_clock_makes_up_or_leaves_out_is_in_the_receipt(tmp_path):
    """Three at 0.4 s, one of them between the moments of the others; one every second."""
    write_times(tmp_path / "a.csv", (40, 0.4, 0), (40, 0.4, 0.2), (40, 0.4, 4), (20, 1.0, 0))
    stages = Stages(tmp_path / "store", tmp_path)
    data, told = stages.prepare(["a.csv"], columns=TIMED, dt=0.4)
    assert (told["rows"], told["detections"], told["people"]) == (140, 119, 3)
    assert told["interpolated"] == 39
    assert told["sparse_people"] == 1
    (sparse,) = told["some_sparse_people"]
    assert sparse.startswith("a.csv: person p3")
    assert prepared.read(data).tracks.person.max() == 3


@pytest.mark.parametrize(("every", "dt"), [(1.0, 0.4), (400.0, 0.4), (0.8, 0.1)])
def test_a_clock_that_is_too_fine_is_refused_with_the_step_of_the_data(tmp_path, every, dt):
    write_times(tmp_path / "a.csv", (40, every, 0), (40, every, 0))
    with pytest.raises(StpError, match=f" {every:g} s") as e:
        Stages(tmp_path / "store", tmp_path).prepare(["a.csv"], columns=TIMED, dt=dt)
    assert f"dt: {every:g}" in e.value.remedy


def test_interpolated_positions_are_counted_where_a_clock_is_finer_than_the_data(tmp_path):
    write_times(tmp_path / "a.csv", (40, 0.8, 0), (40, 0.8, 0.1))
    told = Stages(tmp_path / "store", tmp_path).prepare(["a.csv"], columns=TIMED, dt=0.4)[1]
    assert told["detections"] > 1.9 * told["rows"] and told["interpolated"] > told["rows"]


def test_prepared_scenarios_do_not_depend_on_the_order_of_lines(tmp_path):
    """People with names, who are numbered; lines by time, and in any order."""
    here = tracks(*[(p, 60 * (p // 2), line(24, wobble=p) + p % 2) for p in range(20)])
    frame, x, y = here.frame, *here.position.T
    table = pd.DataFrame({"frame": frame, "id": [f"w{p}" for p in here.person], "x": x, "y": y})
    columns = {"frame": "frame", "person": "id", "x": "x", "y": "y"}
    stages, cut = Stages(tmp_path / "store", tmp_path, 4, 4), []
    for seed in range(2):
        table.sample(frac=1, random_state=seed).to_csv(tmp_path / f"{seed}.csv", index=False)
        data, told = stages.prepare([f"{seed}.csv"], columns=columns, step=6, dt=0.4)
        place = prepared.read(data)
        cut.append((place.scenarios("test", "strict-relaxed", 4, 4, noise=0.1), told))
    for name, value in vars(cut[0][0]).items():
        np.testing.assert_array_equal(value, getattr(cut[1][0], name), err_msg=name)
    assert cut[0][1]["scenarios"]["strict"] == cut[1][1]["scenarios"]["strict"]


def test_files_of_one_recording_share_clock_and_people(tmp_path):
    for number in range(3):
        write_times(tmp_path / f"{number}.csv", (20, 0.4, 4 * number))
    names = [f"{number}.csv" for number in range(3)]
    columns = {key: name for key, name in TIMED.items() if key != "person"}
    stages = Stages(tmp_path / "store", tmp_path, 4, 4)
    data, told = stages.prepare(names, columns=columns, dt=0.4, recording="all")
    here = prepared.read(data)
    assert told["people"] == 3 and here.about["recordings"] == [60]
    assert sorted(np.unique(here.tracks.frame[here.tracks.person == 3])) == list(range(20, 40))
    for wrong in ({"recording": "day"}, {"time_unit": "h"}, {"time_unit": 0}):
        with pytest.raises(StpError, match=next(iter(wrong))):
            stages.prepare(names, columns=columns, dt=0.4, **wrong)
