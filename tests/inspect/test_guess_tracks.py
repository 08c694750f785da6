"""What `stp new-dataset` makes of files of detections: forms, columns, clocks, what is left out."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from stp.core.errors import StpError
from stp.core.options import build
from stp.inspect.guess_tracks import guess, members
from stp.inspect.track_columns import guess_columns
from stp.prepare.tracks import TracksOptions, group_files, read_recording
from stp.tracks.tracks import Tracks, join_recordings

NAMES = ["frame", "id", "x", "y"]


def walks(people: int = 12, steps: int = 24, step: int = 10) -> pd.DataFrame:
    """Pairs that walk at about 1.2 m/s, one pair after the other; 25 frames a second."""
    moments = np.arange(steps) * step
    parts = []
    for person in range(people):
        way = 1.2 * moments / 25 * (-1) ** person
        parts.append(
            pd.DataFrame({
                "frame": 1000 + (person // 2) * (steps + 5) * step + moments,
                "id": person + 1,
                "x": way.round(4),
                "y": person % 2 + 0.3 * np.sin(moments / 60).round(4),
            })
        )  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def drafted(folder: Path, *names: str, **given):
    """What is guessed, and the detections that the reader makes of it."""
    looked = guess(folder, names, **given)
    options = build(TracksOptions, looked.prepare, "options")
    groups = group_files(names, options.recording).values()
    parts = [read_recording([folder / name for name in group], options).tracks for group in groups]
    return looked, join_recordings(parts)


def same(tracks: Tracks, table: pd.DataFrame) -> bool:
    """Are these the detections of a table, whatever their clock and order?"""
    tracks = tracks.sorted_by_frame()
    table = table.sort_values(["frame", "id"])
    moments = (tracks.frame - tracks.frame.min()) * tracks.dt / tracks.step
    seconds = (table.frame - table.frame.min()).to_numpy() / 25
    return (
        len(tracks) == len(table)
        and np.allclose(moments, seconds, atol=1e-4)
        and np.allclose(tracks.position, table[["x", "y"]], atol=1e-4)
        and len(set(tracks.person)) == table.id.nunique()
    )


def lines(table: pd.DataFrame, separator: str, header: bool = True) -> str:
    return table.to_csv(sep=separator, index=False, header=header)


def decimal(table: pd.DataFrame, separator: str) -> str:
    return lines(table, separator).replace(".", ",")


def obsmat(table: pd.DataFrame) -> pd.DataFrame:
    """The eight columns of EWAP: frame, person, x, z, y and velocities."""
    zeros = table.y * 0
    columns = [table.frame, table.id, table.x, zeros, table.y, zeros, zeros, table.x]
    return pd.concat(columns, axis=1, keys=range(8)).astype(float)


FORMS = {
    "semicolons.csv": lambda t: lines(t, ";"),
    "tabs.csv": lambda t: lines(t, "\t"),
    "tabs.tsv": lambda t: lines(t, "\t"),
    "blanks.csv": lambda t: lines(t, " "),
    "blanks.dat": lambda t: t.to_string(index=False),
    "decimal.csv": lambda t: decimal(t, ";"),
    "decimal.txt": lambda t: decimal(t, " "),
    "comment.csv": lambda t: "# recorded by camera 1\n" + lines(t, ","),
    "percent.csv": lambda t: "% recorded by camera 1\n\n" + lines(t, ","),
    "between.csv": lambda t: lines(t, ",").replace("\n1010,", "\n# a break\n1010,", 1),
    "mark.csv": lambda t: "\ufeff" + lines(t, ","),
    "returns.csv": lambda t: lines(t, ",").replace("\n", "\r\n"),
    "named in a comment.txt": lambda t: "# frame id x y\n" + lines(t, " ", header=False),
    "any comment.txt": lambda t: "# recorded by camera 1\n" + lines(t, " ", header=False),
    "four.txt": lambda t: lines(t, "\t", header=False),
    "four commas.csv": lambda t: lines(t, ",", header=False),
    "floats.txt": lambda t: lines(t.astype(float), "\t", header=False),
    "person first.txt": lambda t: lines(t[["id", "frame", "x", "y"]], " ", header=False),
    "obsmat.txt": lambda t: lines(obsmat(t), " ", header=False),
    "units.csv": lambda t: lines(t, ",").replace("x,y", "x [m],y [m]"),
    "units.txt": lambda t: lines(t, " ").replace("x y", "x [m] y (m)"),
    "blanks in names.csv": lambda t: lines(t, ",").replace(
        "frame,id,x,y", "Frame No, Ped ID, X , Y"
    ),
    "trajnet.csv": lambda t: lines(t, ",").replace("frame,id,x,y", "f,p,x,y"),
    "opentraj.csv": lambda t: lines(t, ",").replace(
        "frame,id,x,y", "frame_id,agent_id,pos_x,pos_y"
    ),
    "ind.csv": lambda t: lines(t, ",").replace("frame,id,x,y", "frame,trackId,xCenter,yCenter"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_the_usual_forms_of_tables_are_read_alike(tmp_path, name):
    """Whatever separates columns, and wherever their names are."""
    table = walks(4)
    (tmp_path / name).write_text(FORMS[name](table), encoding="utf-8", newline="")
    looked, tracks = drafted(tmp_path, name, fps=25)
    assert same(tracks, table), looked.prepare
    assert looked.prepare["step"] == 10 and looked.prepare["units"] == "m"
    assert members(tmp_path) == [tmp_path / name]


def test_a_table_of_a_spreadsheet_in_utf_16(tmp_path):
    (tmp_path / "a.csv").write_text(lines(walks(), "\t"), encoding="utf-16")
    assert same(drafted(tmp_path, "a.csv", fps=25)[1], walks())


def test_a_line_is_named_below_comments_and_blank_lines(tmp_path):
    text = "# a\n\nframe;id;x;y\n0;1;2;3\n# b\n1;1;far;3\n"
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(StpError, match=r"a\.csv: line 6"):
        guess(tmp_path, ["a.csv"])


def test_columns_without_names_are_told_by_their_values(tmp_path):
    table = walks()
    (tmp_path / "eth.txt").write_text(lines(obsmat(table), " ", header=False))
    guessed = guess_columns(tmp_path / "eth.txt")
    assert guessed.columns == {"frame": 0, "person": 1, "x": 2, "y": 4} and guessed.by_values
    timed = table.assign(frame=1351039200 + table.frame / 25, z=1700, v=1, a=0.1, f=0.2)
    timed.to_csv(tmp_path / "atc.csv", index=False, header=False)
    assert guess_columns(tmp_path / "atc.csv").columns == {"time": 0, "person": 1, "x": 2, "y": 3}
    assert "CHECK" in guess(tmp_path, ["eth.txt"]).notes["columns"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("frame,id,bb_left,bb_top,bb_width,bb_height\n1,1,5,6,7,8\n", "boxes"),
        ("track_id xmin ymin xmax ymax frame lost\n1 5 6 7 8 1 0\n", "boxes"),
        ("1,1,912,484,97,109,0.9,-1,-1,-1\n2,1,913,484,97,109,0.9,-1,-1,-1\n", "MOTChallenge"),
        ('0 5 6 7 8 1 0 0 0 "Biker"\n0 6 6 8 8 2 0 0 1 "Biker"\n', "Stanford Drone"),
        ("1 1 5\n2 1 6\n", "3 columns"),
        ("frame,x,y\n1,1,5\n2,1,6\n", "person"),
    ],
)
def test_what_has_no_positions_on_the_ground_or_no_people(tmp_path, text, says):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(StpError, match=says):
        guess(tmp_path, ["a.csv"])


# Clocks

START = 1_714_557_640


@pytest.mark.parametrize(
    ("column", "of_seconds", "unit", "is_sure"),
    [
        ("time", lambda s: s, None, True),
        ("time", lambda s: START + s, None, True),
        ("time", lambda s: (1000 * s).round().astype(int), "ms", False),
        ("timestamp", lambda s: (1000 * (START + s)).round().astype("int64"), "ms", False),
        ("t", lambda s: (1e6 * s).round().astype(int), "us", False),
        ("timestamp", lambda s: START * 10**9 + (1e9 * s).round().astype("int64"), "ns", False),
        ("time_s", lambda s: (1000 * s).round().astype(int), "ms", False),
        ("time_ms", lambda s: (1000 * s).round().astype(int), "ms", True),
        ("time [ns]", lambda s: (1e9 * s).round().astype("int64"), "ns", True),
        ("timestamp", lambda s: pd.to_datetime(START + s, unit="s").dt.round("ms"), None, True),
        ("datetime", lambda s: pd.to_datetime(START + s, unit="s", utc=True)
            .dt.round("ms").dt.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), None, True),
    ],
)  # fmt: skip
def test_units_of_time_and_dates(tmp_path, column, of_seconds, unit, is_sure):
    table = walks(4)
    timed = table.assign(frame=of_seconds(table.frame / 25)).rename(columns={"frame": column})
    timed.to_csv(tmp_path / "a.csv", index=False)
    looked, tracks = drafted(tmp_path, "a.csv")
    assert looked.prepare.get("time_unit") == unit and looked.prepare["dt"] == 0.4
    assert ("time_unit" in looked.notes) == (not is_sure)
    assert same(tracks, table) and not looked.remarks
    timed.to_parquet(tmp_path / "a.parquet")
    assert same(drafted(tmp_path, "a.parquet")[1], table)


@pytest.mark.parametrize("every", [0.1, 1 / 30, 0.8, 1.0, 2.0])
def test_the_step_of_a_clock_is_that_of_the_data(tmp_path, every):
    """Nobody is made up between two detections, and no detection is left out."""
    table = walks(steps=40)
    seconds = table.frame / 10 * every
    table.x *= every / 0.4
    table.assign(frame=seconds.round(3)).rename(columns={"frame": "time"}).to_csv(
        tmp_path / "a.csv", index=False
    )
    looked, tracks = drafted(tmp_path, "a.csv")
    assert looked.prepare["dt"] == pytest.approx(every, abs=1e-6)
    assert len(tracks) == len(table) and not looked.remarks
    assert looked.prepare.get("decimate", 1) == max(1, round(0.4 / every))


@pytest.mark.parametrize(("rate", "unit"), [(50.0, 1), (2.5, 1), (30.0, 1000), (29.97, 1)])
def test_frames_and_times_in_one_file_tell_the_rate(tmp_path, rate, unit):
    table = walks(steps=60, step=1)
    table["Time"] = ((table.frame - 1000) / rate * unit).round(3 if unit == 1 else 0)
    table.to_csv(tmp_path / "a.csv", index=False)
    looked, tracks = drafted(tmp_path, "a.csv")
    assert looked.prepare["fps"] == pytest.approx(rate, rel=2e-4)
    assert "CHECK" not in looked.notes["fps"] and "Time" in looked.notes["columns"]
    assert tracks.dt == pytest.approx(1 / rate, rel=2e-4) and len(tracks) == len(table)


@pytest.mark.parametrize(
    ("every", "metres", "rate", "unit"),
    [(10, 1, 2.5, "m"), (10, 0.4, 1.0, "m"), (1, 1, 25.0, "m"), (1, 0.01, 25.0, "cm")],
)
def test_a_rate_or_a_unit_that_nobody_knows_is_that_at_which_people_walk(
    tmp_path, every, metres, rate, unit
):
    table = walks(steps=240 // every, step=every)
    table["frame"] = (table.frame - 1000) // every
    table[["x", "y"]] /= metres
    table.to_csv(tmp_path / "a.csv")
    looked, _ = drafted(tmp_path, "a.csv")
    assert (looked.prepare["fps"], looked.prepare["units"]) == (rate, unit)
    assert "CHECK" in looked.notes["fps"] and "CHECK" in looked.notes["units"]


def test_frames_at_uneven_times_are_left_to_the_times(tmp_path):
    table = walks()
    table["time"] = np.where(table.frame > 1800, 2, 1) * (table.frame - 1000) / 25
    table.to_csv(tmp_path / "a.csv", index=False)
    looked, _ = drafted(tmp_path, "a.csv")
    assert looked.prepare["columns"]["time"] == "time" and "frame" in looked.notes["columns"]


def test_scenes_of_trajnetpp_say_the_rate(tmp_path):
    scene = '{"scene": {"id": 0, "p": 1, "s": 1000, "e": 1090, "fps": 2.5}}'
    rows = [
        f'{{"track": {{"f": {f}, "p": {p}, "x": {x}, "y": {y}}}}}'
        for f, p, x, y in walks().itertuples(index=False)
    ]
    (tmp_path / "a.ndjson").write_text("\n".join([scene, *rows]))
    looked, tracks = drafted(tmp_path, "a.ndjson")
    assert (looked.prepare["fps"], looked.prepare["step"]) == (25, 10)
    assert "CHECK" not in looked.notes["fps"] and same(tracks, walks())


def test_annotations_at_uneven_frames_are_taken_for_times(tmp_path):
    """Every tenth frame, give or take one: there is no step that all intervals are multiples of."""
    table = walks(steps=40)
    table["frame"] += np.random.default_rng(0).integers(-1, 2, len(table))
    table.to_csv(tmp_path / "a.csv", index=False)
    looked, tracks = drafted(tmp_path, "a.csv", fps=25)
    assert looked.prepare["time_unit"] == 0.04 and looked.prepare["dt"] == 0.4
    assert "uneven" in looked.notes["time_unit"] and len(tracks) > 0.8 * len(table)
    assert any("CHECK" in line and "interpolated" in line for line in looked.remarks)


def test_gaps_in_frames_are_counted(tmp_path):
    table = walks()
    table = table.drop(index=[3, 30, 31])
    table.to_csv(tmp_path / "a.csv", index=False)
    looked, tracks = drafted(tmp_path, "a.csv", fps=25)
    assert looked.prepare["step"] == 10 and len(tracks) == len(table)
    assert any("3 positions" in line for line in looked.remarks)


# What is left out


def test_people_who_are_seen_too_seldom_are_counted_and_named(tmp_path):
    often, seldom = walks(12), walks(8, steps=10, step=25)
    seldom.id += 100
    table = pd.concat([often, seldom])
    table.assign(frame=table.frame / 25).rename(columns={"frame": "time"}).to_csv(
        tmp_path / "a.csv", index=False
    )
    looked, tracks = drafted(tmp_path, "a.csv")
    assert looked.prepare["dt"] == 0.4 and set(tracks.person) == set(often.id)
    (told,) = (line for line in looked.remarks if "person 101" in line)
    assert "CHECK: 8 people" in told and "5 more" in told


def test_other_columns_and_marked_rows_are_named(tmp_path):
    table = walks().assign(speed=1.2, lost=0)
    table.to_csv(tmp_path / "a.csv", index=False)
    looked, _ = drafted(tmp_path, "a.csv", fps=25)
    assert looked.notes["columns"] == "left out: speed, lost"
    table.loc[table.id > 6, "lost"] = 1
    table.loc[table.id > 6, "x"] = np.nan
    table.to_csv(tmp_path / "a.csv", index=False)
    looked, tracks = drafted(tmp_path, "a.csv", fps=25)
    assert looked.prepare["columns"]["lost"] == "lost" and tracks.person.max() == 6
    assert "CHECK: 144 rows" in looked.notes["columns"] and "speed" in looked.notes["columns"]
    assert "144 of 288 rows" in looked.remarks[0]


# Several files


def crowd(folder: Path, table: pd.DataFrame, path: str, **options) -> list[str]:
    names = []
    for person, rows in table.groupby("id"):
        name = path.format(person)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        rows.to_csv(folder / name, index=False, **options)
        names.append(name)
    return names


@pytest.mark.parametrize(
    ("path", "columns"),
    [("p{:02}.csv", NAMES), ("{:02}/track.csv", NAMES), ("p{:02}.csv", ["frame", "x", "y"])],
)
def test_a_file_for_each_person_of_a_crowd(tmp_path, path, columns):
    names = crowd(tmp_path, walks(6), path, columns=columns)
    looked, tracks = drafted(tmp_path, *names, fps=25)
    assert looked.prepare["recording"] == "all" and "CHECK" in looked.notes["recording"]
    assert same(tracks, walks(6))
    assert [one.relative_to(tmp_path).as_posix() for one in members(tmp_path)] == names


def test_a_file_for_each_person_whose_numbers_are_all_the_same(tmp_path):
    names = crowd(tmp_path, walks(6), "p{:02}.csv")
    for name in names:
        pd.read_csv(tmp_path / name).assign(id=1).to_csv(tmp_path / name, index=False)
    looked, tracks = drafted(tmp_path, *names, fps=25)
    assert "id" in looked.notes["columns"] and same(tracks, walks(6))


def test_a_folder_for_each_crowd(tmp_path):
    table = walks(6)
    names = crowd(tmp_path, table, "one/p{:02}.csv") + crowd(tmp_path, table, "two/p{:02}.csv")
    looked, tracks = drafted(tmp_path, *names, fps=25)
    assert looked.prepare["recording"] == "folder" and len(tracks) == 2 * len(table)


@pytest.mark.parametrize("metres", [1, 0.01])
def test_files_of_several_people_are_recordings(tmp_path, metres):
    for name, unit in (("a.csv", 1), ("b.csv", metres)):
        table = walks()
        table[["x", "y"]] /= unit
        table.to_csv(tmp_path / name, index=False)
    looked, _ = drafted(tmp_path, "a.csv", "b.csv", fps=25)
    assert "recording" not in looked.prepare and looked.people == 24
    assert ("100 times" in looked.notes["units"]) == (metres != 1)


def test_a_speed_at_which_nobody_walks_is_said(tmp_path):
    table = walks()
    table[["x", "y"]] /= 111_000  # degrees
    table.to_csv(tmp_path / "a.csv", index=False)
    assert "at 1.1e-05 m/s" in drafted(tmp_path, "a.csv", fps=25)[0].notes["units"]
    walks().assign(frame=walks().frame * 40).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(StpError, match="milliseconds"):
        guess(tmp_path, ["a.csv"], fps=25)


def test_what_lies_beside_detections_is_none(tmp_path):
    (tmp_path / "hall.txt").write_text(lines(walks(), " "))
    for name, text in {
        "README.txt": "Recorded in the hall, by us.\n", "goals.txt": "1 2 3\n", "H.txt": "1 0 0\n",
        "notes.txt": "the camera\nwas moved\n",
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text)
    assert members(tmp_path) == [tmp_path / "hall.txt"]
