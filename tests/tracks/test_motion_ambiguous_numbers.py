"""Times of day over midnight, commas that may separate thousands, and positions in degrees."""

import numpy as np
import pandas as pd
import pytest
from stages import Stages

from stp.core.errors import StpError
from stp.prepare.track_readers import detections

TIMED = detections.Columns(time="time", person="id", x="x", y="y")
NUMBERED = detections.Columns(frame="frame", person="id", x="x", y="y")


def table(clocks, people):
    """A row for each time and person, at places of their own."""
    rows = range(len(clocks))
    return pd.DataFrame({"time": clocks, "id": people, "x": [0.1 * row for row in rows], "y": 1.5})


def read(*paths, columns=TIMED):
    return detections.read(list(paths), columns, metres=1.0, step=1, dt=1.0)


OVER = [f"23:59:{second}" for second in range(56, 60)] + [f"00:00:0{s}" for s in range(4)]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("clocks", "people", "row"),
    [
        (OVER, [7] * 8, 0),
        (OVER, [7] * 4 + [8] * 4, 0),  # another person on each side
        (OVER[::-1], [7] * 8, 7),
        # day and night, and one person at midnight
        (
            [*(f"{hour:02}:30:00" for hour in range(24)), *OVER],
            [*range(100, 124), *[7] * 8],
            24,
        ),
    ],
)
def test_times_of_day_over_midnight_are_refused(tmp_path, suffix, clocks, people, row):
    path = tmp_path / f"night.{suffix}"
    if suffix == "csv":
        table(clocks, people).to_csv(path, index=False)
    else:
        table(clocks, people).to_parquet(path)
    line = f"line {row + 2}" if suffix == "csv" else f"row {row + 1}"
    with pytest.raises(StpError, match=rf"night\.{suffix}: {line}: .*23:59:56"):
        read(path)


def test_midnight_is_found_between_files_of_one_recording(tmp_path):
    table(OVER[:4], [7] * 4).to_csv(tmp_path / "evening.csv", index=False)
    table(OVER[4:], [7] * 4).to_csv(tmp_path / "night.csv", index=False)
    with pytest.raises(StpError, match=r"evening\.csv: line 2.*night\.csv: line 5"):
        read(tmp_path / "evening.csv", tmp_path / "night.csv")


@pytest.mark.parametrize(
    "clocks",
    [
        [f"2024-05-0{1 + (row > 3)} {clock}" for row, clock in enumerate(OVER)],
        [f"11:59:{second}" for second in range(56, 60)] + [f"12:00:0{s}" for s in range(4)],
        [86396 + second for second in range(8)],  # seconds since the start, over a day
    ],
    ids=["dates", "noon", "seconds"],
)
def test_times_that_go_on_are_read(tmp_path, clocks):
    table(clocks, [7] * 8).to_csv(tmp_path / "a.csv", index=False)
    tracks = read(tmp_path / "a.csv").tracks
    np.testing.assert_array_equal(tracks.frame, range(8))
    np.testing.assert_allclose(tracks.position[:, 0], 0.1 * np.arange(8))


def write(path, x, y, separator=";"):
    rows = [f"{row}{separator}7{separator}{x[row]}{separator}{y[row]}" for row in range(len(x))]
    path.write_text("\n".join([f"frame{separator}id{separator}x{separator}y", *rows]))


@pytest.mark.parametrize(
    ("x", "y", "separator", "place"),
    [
        (["4,505", "4,605"], ["1,200", "1,250"], ";", "line 2, column x: 4,505"),
        (["995", "1,005"], ["20", "30"], "\t", "line 3, column x: 1,005"),
        (['"4,505"', '"4,605"'], ["1200", "1250"], ",", "line 2, column x: 4,505"),
        (["1,5", "2,5"], ["1.200", "1.250"], ";", "line 2, column y: 1.200"),  # as Germans write
    ],
    ids=["all", "some", "quoted", "points"],
)
def test_commas_that_may_separate_thousands_are_refused(tmp_path, x, y, separator, place):
    write(tmp_path / "a.csv", x, y, separator)
    with pytest.raises(StpError, match=rf"a\.csv: {place}"):
        read(tmp_path / "a.csv", columns=NUMBERED)


def test_commas_are_decimal_signs_where_one_number_shows_it(tmp_path):
    write(tmp_path / "a.csv", ["4,505", "4,605", "-0,505"], ["1,200", "1,250", "2"])
    position = read(tmp_path / "a.csv", columns=NUMBERED).tracks.position
    np.testing.assert_array_equal(position, [[4.505, 1.2], [4.605, 1.25], [-0.505, 2]])


def test_further_columns_may_have_separators_of_thousands(tmp_path):
    (tmp_path / "a.csv").write_text("frame;id;x;y;steps\n0;7;4.5;1.5;1,005\n1;7;4.6;1.5;1,006\n")
    position = read(tmp_path / "a.csv", columns=NUMBERED).tracks.position
    np.testing.assert_array_equal(position, [[4.5, 1.5], [4.6, 1.5]])


@pytest.mark.parametrize("first", [0, 5])
def test_an_unquoted_comma_makes_one_column_too_many(tmp_path, first):
    """With frames from 0, pandas takes them for the numbers of the rows."""
    rows = "".join(f"{first + row},7,4,505,1.5\n" for row in range(4))
    (tmp_path / "a.csv").write_text("frame,id,x,y\n" + rows)
    with pytest.raises(StpError, match=r"a\.csv"):
        read(tmp_path / "a.csv", columns=NUMBERED)


@pytest.mark.parametrize(
    ("scale", "is_refused"),
    [(1 / 111_000, True), (1, False), (0, False)],
    ids=["degrees", "metres", "still"],
)
def test_positions_in_degrees_are_refused(tmp_path, scale, is_refused):
    rows = [(frame, who, 8 + scale * frame, 47 + who) for frame in range(40) for who in (0, 1)]
    pd.DataFrame(rows, columns=["frame", "id", "x", "y"]).to_csv(tmp_path / "gps.csv", index=False)
    stages = Stages(tmp_path / "store", tmp_path)
    options = {"columns": {"frame": "frame", "person": "id", "x": "x", "y": "y"}, "dt": 0.8}
    if not is_refused:
        assert stages.prepare(["gps.csv"], **options)[1]["people"] == 2
        return
    with pytest.raises(StpError, match=r"gps\.csv(.|\n)*degrees"):
        stages.prepare(["gps.csv"], **options)
