"""Traffic4Cast from small files made here, and the published lists of files."""

import json
import tracemalloc
from collections import Counter

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.data.raw_files import RawFiles
from stp.datasets.traffic4cast import reader as traffic4cast
from stp.datasets.traffic4cast.reader import (
    Traffic4CastOptions,
    cut_windows,
    decode_day,
    read_days,
    run,
)
from stp.datasets.traffic4cast.reader import count_shared_days as in_common
from stp.prepare.planned_counts import Lists

GRID = (9, 7)
SHAPE = [8, 4, 4]
OPTIONS = {"grid": list(GRID)}
DAYS = {
    "train": ["BERLIN/2019-01-04", "CHICAGO/2019-02-01"],
    "val": ["BERLIN/2019-01-09"],
    "test": ["BERLIN/2019-01-05", "CHICAGO/2019-01-04"],
    "moscow": ["MOSCOW/2019-01-02"],
}


def file_of(day):
    city, date = day.split("/")
    return f"{city}/training/{date}_{city}_8ch.h5"


def traffic(day):
    """Bytes (288, 9, 7, 8), different in all places."""
    seed = sum(map(ord, day))
    return np.random.default_rng(seed).integers(0, 256, (288, *GRID, 8), np.uint8)


def write_day(root, day, values):
    path = root / "traffic4cast2021" / file_of(day)
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w", libver="latest") as file:
        file.create_dataset("array", data=values, chunks=(1, *values.shape[1:]), compression="gzip")
    return path


def write_list(root, split, text):
    path = root / traffic4cast.LISTS[split]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("t4c") / "raw"
    for split, days in DAYS.items():
        write_list(root, split, json.dumps([file_of(day) for day in days]))
        for day in days:
            write_day(root, day, traffic(day))
    return root


@pytest.fixture
def raw(made, tmp_path):
    """A copy that a test may change: links to what it does not."""
    root = tmp_path / "raw"
    for path in made.rglob("*"):
        if path.is_file():
            target = root / path.relative_to(made)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    return root


def test_clips_are_the_middle_of_the_days(make_job, made):
    job = make_job("traffic4cast", SHAPE, OPTIONS, root=made, context=9, horizon=3)
    extras = run(job)
    assert extras["clips"] == {"train": 56, "val": 28, "test": 56, "moscow": 28}
    assert extras["frames"] == 6 * 288
    data = Prepared(job.out)
    for split, days in DAYS.items():
        clips = data.clips(split)
        assert clips.index["cluster"].tolist() == [day for day in days for _ in range(28)]
        steps = [step for _ in days for step in range(0, 280, 10)]
        assert clips.phases(range(len(clips))).tolist() == steps
        for row in (0, 13, len(clips) - 1):
            day, step = clips.index["cluster"][row], steps[row]
            # rows 2..5 of 9 and columns 1..4 of 7: the smaller half of an odd rest comes first
            expected = traffic(day)[step : step + 12, 2:6, 1:5].transpose(0, 3, 1, 2)
            np.testing.assert_array_equal(clips.read([row])[0], expected)
    assert data.attrs["normalisation"]["scale"] == 255


def test_the_crop_of_the_official_grid(tmp_path, make_job):
    """Rows 183..310 and columns 162..273, as PredBench's crop rounds; and little memory for it."""
    root = tmp_path / "raw"
    path = root / "traffic4cast2021" / file_of(DAYS["val"][0])
    path.parent.mkdir(parents=True)
    y, x = np.meshgrid(np.arange(495), np.arange(436), indexing="ij")
    with h5py.File(path, "w", libver="latest") as file:
        # Steps that are not written read as 0, so the file is small, and its array 497 MB.
        array = file.create_dataset(
            "array", (288, 495, 436, 8), np.uint8, chunks=(1, 495, 436, 8), compression="gzip"
        )
        frame = np.zeros((495, 436, 8), np.uint8)
        frame[..., 0], frame[..., 1] = y % 256, x % 256
        frame[..., 2], frame[..., 3] = y // 256, x // 256
        array[287] = frame
    job = make_job("traffic4cast", [8, 128, 112], {}, root=root)
    files = RawFiles(job.inputs["raw"], job.runtime["raw_roots"])
    name = path.relative_to(root).as_posix()
    files.find(name)
    tracemalloc.start()
    found = decode_day(files, (name, (495, 436), (128, 112)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.shape == (288, 8, 128, 112)
    assert not found[:287].any()
    last = found[287].astype(int)
    assert (last[0] + 256 * last[2])[:, 0].tolist() == list(range(183, 311))
    assert (last[1] + 256 * last[3])[0].tolist() == list(range(162, 274))
    assert peak < 3 * found.nbytes  # a day is 33 MB of the 497


def test_it_opens_in_xarray_with_time_and_names(make_job, made):
    job = make_job("traffic4cast", SHAPE, OPTIONS, root=made, context=9, horizon=3)
    run(job)
    frames = xr.open_zarr(job.out / "frames.zarr", consolidated=False, chunks=None)["frames"]
    assert frames["variable"].values.tolist() == [
        *("volume_NE", "speed_NE", "volume_NW", "speed_NW"),
        *("volume_SE", "speed_SE", "volume_SW", "speed_SW"),
    ]
    time = pd.DatetimeIndex(frames["time"].values)
    assert time[0] == pd.Timestamp("2019-01-04 00:00")
    assert time[287] == pd.Timestamp("2019-01-04 23:55")
    assert time[288 + 12] == pd.Timestamp("2019-02-01 01:00")
    assert frames.attrs["units"] == "1"


def test_what_test_days_have_in_common_with_training(made):
    assert in_common(read_days(Lists([made]))) == {
        "test days": 2,
        "test days in cities of training": 2,
        "test days on dates of training": 1,  # 4 January, in another city
        "test days next to a training day of their city": 1,  # Berlin, 4 and 5 January
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, r"traffic4cast2021_train\.json"),
        ("[]", r"traffic4cast2021_train\.json"),
        ('{"a": 1}', r"traffic4cast2021_train\.json"),
        ("[3]", r"traffic4cast2021_train\.json: '3'"),
        ('["BERLIN/training/2019-01-04_CHICAGO_8ch.h5"]', "2019-01-04_CHICAGO"),
        ('["BERLIN/training/2019-02-30_BERLIN_8ch.h5"]', "2019-02-30"),
        (json.dumps([file_of("BERLIN/2019-01-09")]), "2019-01-09.* train"),
        (json.dumps([file_of("BERLIN/2019-06-09")]), "2019-06-09_BERLIN_8ch.h5"),
    ],
)
def test_lists_that_are_wrong(make_job, raw, text, message):
    write_list(raw, "train", text)
    with pytest.raises(StpError, match=message):
        run(make_job("traffic4cast", SHAPE, OPTIONS))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((287, *GRID, 8), np.uint8), r"\(287, 9, 7, 8\)"),
        (np.zeros((288, 7, 9, 8), np.uint8), r"\(288, 7, 9, 8\)"),
        (np.zeros((288, *GRID, 9), np.uint8), r"\(288, 9, 7, 9\)"),
        (np.zeros((288, *GRID), np.uint8), r"\(288, 9, 7\)"),
        (np.zeros((288, *GRID, 8), np.float32), "float32"),
    ],
)
def test_arrays_of_another_kind(make_job, raw, values, message):
    path = write_day(raw, "BERLIN/2019-01-04", values)
    with pytest.raises(StpError, match=message) as caught:
        run(make_job("traffic4cast", SHAPE, OPTIONS))
    assert path.name in str(caught.value)


@pytest.mark.sample_bytes
def test_published_numbers_of_clips(raw_mirror):
    """PredBench, Table 1: 35,840 / 4,480 / 4,508, and 2,576 of Moscow."""
    days = read_days(Lists([raw_mirror]))
    assert Counter(clip.split for clip in cut_windows(days, Traffic4CastOptions(), 12)) == {
        **{"train": 35840, "val": 4480, "test": 4508, "moscow": 2576},
    }
    assert len({day.file for day in days}) == 1693
    assert len({day.city for day in days if day.split != "moscow"}) == 7
    assert in_common(days) == {
        "test days": 161,
        "test days in cities of training": 161,
        "test days on dates of training": 152,
        "test days next to a training day of their city": 154,
    }
