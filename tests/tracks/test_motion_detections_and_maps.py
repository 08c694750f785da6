"""Files of detections and maps: read, and refused where they are damaged."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from stp.core.errors import StpError
from stp.prepare import track_maps as maps
from stp.prepare.track_readers import detections, ewap, qualisys, trajnetpp
from stp.prepare.tracks import UNITS
from stp.tracks.scenarios import extract
from stp.tracks.tracks import join_recordings, labels

TIME_FIRST = detections.Columns(time=0, person=1, x=2, y=3)
"""Of the files of ATC, and of resampled ones of THÖR."""


def test_ewap_and_the_file_of_four_columns_that_is_another_dataset(tmp_path):
    path = tmp_path / "obsmat.txt"
    np.savetxt(path, [[780, 1, 8.5, 0, 3.6, 1.7, 0, 0.2], [786, 1, 9.1, 0, 3.7, 1.6, 0, 0.1]])
    tracks = ewap.read(path, step=6, dt=0.4)
    assert tracks.position.tolist() == [[8.5, 3.6], [9.1, 3.7]]
    np.savetxt(path, [[0, 1, 8.5, 3.6]])
    with pytest.raises(StpError, match=r"obsmat.txt: .*4 "):
        ewap.read(path, step=6, dt=0.4)


def test_units_in_metres():
    inch = 25.4 * 0.001
    expected = {"m": 1, "cm": 10 * 0.001, "mm": 0.001, "km": 1000, "ft": 12 * inch, "in": inch}
    assert pytest.approx(expected) == UNITS


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_own_detections_with_named_columns(tmp_path, suffix):
    path = tmp_path / f"hall{suffix}"
    table = pd.DataFrame({"t": [0, 0, 1], "who": [4, 7, 4], "x_mm": [1000, 0, 1100], "y_mm": 500})
    if suffix == ".csv":
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path)
    columns = detections.Columns(frame="t", person="who", x="x_mm", y="y_mm")
    tracks = detections.read(path, columns, metres=0.001, step=1, dt=0.04).tracks
    assert tracks.position.tolist() == [[1, 0.5], [0, 0.5], [1.1, 0.5]]
    wrong = detections.Columns(frame="t", person="whom", x="x_mm", y="y_mm")
    with pytest.raises(StpError, match=r"whom(.|\n)*who"):
        detections.read(path, wrong, metres=0.001, step=1, dt=0.04)


@pytest.mark.parametrize(
    "names",
    [
        ["p-17", "anna"],
        [2**53 + 1, 2**62],
        [-1, 7],
        ["7", "007"],
        ["1e3", "1000"],
        [str(2**64), "2"],
    ],
    ids=["words", "large", "negative", "zeros", "hexadecimal", "larger"],
)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_people_keep_their_names(tmp_path, suffix, names):
    path = tmp_path / f"hall{suffix}"
    table = pd.DataFrame({"t": [0, 0, 1], "who": [*names, names[0]], "x": [0, 9, 0.5], "y": 0.0})
    write = table.to_csv if suffix == ".csv" else table.to_parquet
    write(path, index=False)
    columns = detections.Columns(frame="t", person="who", x="x", y="y")
    tracks = detections.read(path, columns, metres=1, step=1, dt=0.4).tracks
    assert labels(tracks.person, tracks.names) == [str(name) for name in [*names, names[0]]]
    assert tracks.person.min() >= 0


@pytest.mark.parametrize("person", ["2", str(2**64)])
def test_a_row_without_a_person_is_refused(tmp_path, person):
    path = tmp_path / "a.csv"
    path.write_text(f"t,who,x,y\n0,{person},0,0\n0,,5,0\n")
    columns = detections.Columns(frame="t", person="who", x="x", y="y")
    with pytest.raises(StpError, match="line 3"):
        detections.read(path, columns, metres=1, step=1, dt=0.4)


def test_a_name_in_several_recordings_has_one_number(tmp_path):
    columns = detections.Columns(frame="t", person="who", x="x", y="y")
    parts = []
    for file, names in {"a": ("bob", "anna"), "b": ("carl", "bob")}.items():
        (tmp_path / file).write_text(f"t,who,x,y\n0,{names[0]},0,0\n0,{names[1]},5,0\n")
        parts.append(detections.read(tmp_path / file, columns, metres=1, step=1, dt=0.4).tracks)
    tracks = join_recordings(parts)
    assert labels(tracks.person, tracks.names) == ["bob", "anna", "carl", "bob"]
    assert len(set(tracks.person)) == 3


def test_files_of_one_person_each_are_their_names(tmp_path):
    paths = [tmp_path / f"{name}.csv" for name in ("anna", "p-17")]
    for at, path in enumerate(paths):
        path.write_text(f"s,x,y\n0,{at},0\n0.4,{at},1\n")
    columns = detections.Columns(time="s", x="x", y="y")
    tracks = detections.read(paths, columns, metres=1, step=1, dt=0.4).tracks
    assert labels(tracks.person, tracks.names) == ["anna", "p-17"] * 2


def test_atc_in_millimetres_and_with_a_clock_of_each_person(tmp_path):
    """Two walk at 1 m/s; one is seen at full, one at half tenths of a second."""
    path = tmp_path / "atc-20121024.csv"
    rows = [
        (1351039200 + t, who, 1000 * t, 2000.0 * who, 1700, 1000, 0.1, 0.2)
        for who, shift in ((9, 0.0), (10, 0.05))
        for t in np.arange(40) / 10 + shift
    ]
    np.savetxt(path, rows, delimiter=",", fmt="%.3f")
    tracks = detections.read(path, TIME_FIRST, metres=0.001, step=1, dt=0.4).tracks
    seconds = 0.4 * tracks.frame
    np.testing.assert_allclose(tracks.position[:, 0], seconds, atol=1e-5)
    assert set(tracks.person) == {9, 10}
    assert len(extract(tracks, observe=2, predict=3, protocol="strict")) > 0


@pytest.mark.parametrize("place", [1.0, 5.0])
def test_a_person_is_in_one_place_at_a_time(tmp_path, place):
    path = tmp_path / "hall.csv"
    path.write_text(f"s,who,x,y\n0.0,7,0,0\n0.4,7,1,0\n0.4,7,{place},0\n0.8,7,2,0\n")
    columns = detections.Columns(time="s", person="who", x="x", y="y")
    if place == 1:  # a line that stands there twice
        tracks = detections.read(path, columns, metres=1, step=1, dt=0.4).tracks
        assert tracks.position[:, 0].tolist() == [0, 1, 2]
    else:
        with pytest.raises(StpError, match=r"person 7 .*0\.4 s"):
            detections.read(path, columns, metres=1, step=1, dt=0.4)


def test_times_between_detections_are_those_of_one_person():
    time = np.array([0.8, 0.0, 5.0, 0.4, 6.0, 5.0, 9.0])
    person = np.array([2, 2, 3, 2, 3, 3, 7])  # 3 is at 5.0 twice, 7 once
    passed, who = detections.time_between(time, person)
    assert passed.tolist() == pytest.approx([0.4, 0.4, 1.0]) and who.tolist() == [2, 2, 3]
    assert detections.intervals(time, person) == (
        pytest.approx(0.4),
        {2: pytest.approx(0.4), 3: pytest.approx(1.0)},
    )
    assert detections.intervals(time[-1:], person[-1:]) == (0.0, {})


def test_a_clock_bridges_no_pause():
    time = np.concatenate([np.arange(0, 4, 0.4), np.arange(10, 12, 0.4)])
    position = np.column_stack([time, time])
    tracks, interpolated = detections.on_one_clock(time, np.ones(len(time), int), position, 0.4)
    assert interpolated == 0
    shifted = np.where(time < 5, time, time + 0.1)  # of five rows, the moments lie between four
    assert detections.on_one_clock(shifted, np.ones(len(time), int), position, 0.4)[1] == 4
    assert not ((tracks.frame > 9) & (tracks.frame < 25)).any()


def test_helmets_of_thor(tmp_path):
    """Two helmets of two markers each: a person is where the seen ones are, on the mean."""
    path = tmp_path / "Exp_1_run_1.tsv"
    names = ["Frame", "Time"]
    names += [f"Helmet_{n} - {m} {axis}" for n in (2, 5) for m in (1, 2) for axis in "XYZ"]
    rows = [
        [1, 0.0, 1000, 2000, 1700, 1200, 2000, 1700, 0, 0, 0, 0, 0, 0],
        [2, 0.01, 0, 0, 0, 1300, 2000, 1700, -500, 0, 1700, -500, 100, 1700],
    ]
    head = [f"LINE_{i}\t1" for i in range(10)]
    lines = [*head, "\t".join(names), *("\t".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    tracks = qualisys.read(path)
    assert tracks.person.tolist() == [2, 2, 5]
    np.testing.assert_allclose(tracks.position, [[1.1, 2], [1.3, 2], [-0.5, 0.05]])
    path.write_text("\n".join([*head, "Frame\tTime", "1\t0"]) + "\n")
    with pytest.raises(StpError, match=path.name):
        qualisys.read(path)


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ({"NO_OF_FRAMES": 3, "FREQUENCY": 100}, "2 of 3 "),
        ({"NO_OF_FRAMES": 2, "FREQUENCY": 50}, "50 (.|\n)*100 "),
        ({"NO_OF_FRAMES": "two"}, "Exp_1_run_1"),
        ({"NO_OF_FRAMES": 2, "FREQUENCY": "100.0"}, None),
    ],
)
def test_what_the_first_lines_of_thor_say(tmp_path, head, message):
    path = tmp_path / "Exp_1_run_1.tsv"
    lines = [f"{key}\t{value}" for key, value in head.items()]
    lines += ["MARKER_NAMES\ta\tb"] * (qualisys.HEADER - len(lines))
    lines += ["Frame\tTime\tHelmet_2 - 1 X\tHelmet_2 - 1 Y", "1\t0\t1000\t0", "2\t0.01\t1010\t0"]
    path.write_text("\n".join(lines) + "\n")
    if message is None:
        assert len(qualisys.read(path)) == 2
        return
    with pytest.raises(StpError, match=message):
        qualisys.read(path)


def test_a_picture_with_a_homography(tmp_path):
    grey = np.zeros((4, 5), np.uint8)
    grey[1, 3], grey[2, 0] = 255, 254
    Image.fromarray(grey).save(tmp_path / "map.png")
    np.savetxt(tmp_path / "H.txt", [[0.1, 0, -1], [0, 0.2, 2], [0, 0, 1]])
    found = maps.read_picture(tmp_path / "map.png", tmp_path / "H.txt")
    np.testing.assert_allclose(found.position, [[-0.9, 2.6]])
    np.savetxt(tmp_path / "H.txt", [[1, 2]])
    with pytest.raises(StpError, match=r"H.txt: .*1 x 2"):
        maps.read_picture(tmp_path / "map.png", tmp_path / "H.txt")


def test_a_semantic_grid(tmp_path):
    about = {"origin_x": -11, "origin_y": -10, "theta": 0, "h": 2, "w": 2, "resolution": 0.1}
    surfaces = [{"x": x, "y": y, "surf_class": int(x == y)} for x in (0, 1) for y in (0, 1)]
    lines = [{"map": about}, *({"surface": surface} for surface in surfaces)]
    path = tmp_path / "thor.ndjson"
    path.write_text("\n".join(map(json.dumps, lines)))
    np.testing.assert_allclose(
        maps.of_surface(maps.read_surface(path), path).position, [[-11, -10], [-10.9, -9.9]]
    )
    path.write_text("\n".join(map(json.dumps, lines[:-1])))
    with pytest.raises(StpError, match=r"3 (.|\n)*4, "):
        maps.read_surface(path)


def test_discs(tmp_path):
    path = tmp_path / "obstacles.txt"
    path.write_text("8 5 2\n1 1 0.5\n")
    found = maps.read_discs(path)
    assert found.kind == "discs" and found.radius.tolist() == [2, 0.5]
    centre, radius = found.nearest(np.array([[7.0, 5.0], [np.nan, np.nan]]))
    assert centre[0].tolist() == [8, 5] and radius[0] == 2 and np.isnan(radius[1])


@pytest.mark.sample_bytes
def test_the_real_fragments_of_thor(raw_mirror: Path):
    folder = raw_mirror / "atlas"
    path = folder / "cliff_lhmp/dataset/thor1/exp-1-run-2.csv"
    tracks = detections.read(path, TIME_FIRST, metres=1, step=1, dt=0.4).tracks
    assert len(extract(tracks, observe=4, predict=4, protocol="strict", fewest=1)) > 0
    path = folder / "atlas_dataset/thor_data/thor_Ex_1-f_s.ndjson"
    grid = maps.of_surface(maps.read_surface(path), path)
    assert len(grid.position) == 38_846


@pytest.mark.sample_bytes
@pytest.mark.parametrize(("name", "scenarios"), [("chasing", 4), ("crossing", 5), ("opposing", 6)])
def test_the_released_simulated_scenarios(raw_mirror: Path, name, scenarios):
    path = raw_mirror / f"atlas/atlas_dataset/simulated/{name}.ndjson"
    tracks = trajnetpp.read(path, step=1, dt=0.1).decimated(4)
    found = extract(tracks, observe=8, predict=12, protocol="atlas-paper", smooth=0)
    assert len(found) == scenarios


def test_goals_far_from_all_detections_are_absurd():
    position, far = np.array([[0.0, 5.0], [10.0, 20.0]]), maps.FAR
    goals = [[5, 5], [-far, 5], [10 + far + 1, 20], [0, 5 - far - 1], [-0.8 * far, 20 + 0.8 * far]]
    absurd = maps.absurd_goals(np.array(goals, float), position)
    assert absurd.tolist() == [False, False, True, True, True]


def test_a_map_of_16_bits_is_refused(tmp_path):
    """Pillow makes 255 of all that is above."""
    Image.fromarray(np.full((4, 5), 300, np.uint16)).save(tmp_path / "map.png")
    np.savetxt(tmp_path / "H.txt", np.eye(3))
    with pytest.raises(StpError, match=r"map\.png: .*I;16"):
        maps.read_picture(tmp_path / "map.png", tmp_path / "H.txt")
