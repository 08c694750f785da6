"""SEVIR from small files made here, whose content says which event, time and place it is."""

from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from damage import content

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.datasets.sevir.reader import (
    COLUMNS,
    Event,
    count,
    cut_windows,
    run,
)
from stp.fetch.raw import run_generator
from stp.prepare.planned_counts import Lists

SHAPE = [1, 6, 6]
OFFSETS = ":".join(str(m) for m in range(-120, 121, 5))
STORMS, RANDOM = "vil/2018/SEVIR_VIL_STORMEVENTS_2018.h5", "vil/2019/SEVIR_VIL_RANDOMEVENTS_2019.h5"
# identifier, file, place in it, time, percentage of missing pixels
EVENTS = [
    ("S1", STORMS, 0, "2018-06-01 20:05:00", 0.0),
    ("S2", STORMS, 2, "2019-01-01 00:00:00", 0.0),  # the last moment of the training period
    ("S3", STORMS, 1, "2018-06-01 23:00:00", 0.0),
    ("R1", RANDOM, 0, "2019-01-01 00:05:00", 0.0),
    ("R2", RANDOM, 1, "2019-06-01 00:00:00", 0.0),  # the last one of the validation
    ("R3", RANDOM, 2, "2019-06-01 00:05:00", 0.0),
    ("R4", RANDOM, 3, "2019-08-01 12:00:00", 2.5),
    ("R5", RANDOM, 4, "2019-08-02 12:00:00", 0.0),
]
TRAIN, VAL, TEST = ["S1", "S3", "S2"], ["R1", "R2"], ["R3", "R5"]


def movie(number):
    """Frame t of event n is 5 n + t at the first pixel, 1 more in each row, 6 more each column."""
    y, x, t = np.ogrid[:6, :6, :49]
    return (5 * number + t + y + 6 * x).astype(np.uint8)


def row(name, file, place, time, missing, **more):
    return {
        **dict.fromkeys(COLUMNS, 0),
        **{"id": name, "file_name": file, "file_index": place, "img_type": "vil"},
        **{"time_utc": time, "minute_offsets": OFFSETS, "pct_missing": missing},
        **{"llcrnrlat": 33.5, "llcrnrlon": -98.25, "urcrnrlat": 37.0, "urcrnrlon": -94.0},
        **{"proj": "+proj=laea", "height_m": 384000.0, "width_m": 384000.0, "event_type": "Hail"},
        **more,
    }


def write_catalog(root, rows):
    table = pd.DataFrame(rows)
    table.to_csv(root / "sevir" / "CATALOG.csv", index=False)


def catalog_rows():
    other = [row("S1", "ir107/2018/IR107.h5", 0, EVENTS[0][3], 0.0, img_type="ir107")]
    return other + [row(*event) for event in EVENTS]


def write_files(root):
    for file in (STORMS, RANDOM):
        path = root / "sevir" / "data" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        its = sorted((place, name, n) for n, (name, f, place, *_) in enumerate(EVENTS) if f == file)
        with h5py.File(path, "w") as h5:
            h5["id"] = np.array([name.encode() for _, name, _ in its])
            h5["vil"] = np.stack([movie(n) for *_, n in its])
    write_catalog(root, catalog_rows())


@pytest.fixture
def raw(tmp_path):
    write_files(tmp_path / "raw")
    return tmp_path / "raw"


def prepare(make_job, options=None, **more):
    job = make_job("sevir", SHAPE, options or {}, context=13, horizon=12, **more)
    return job, run(job)


def test_windows_splits_and_values(make_job, raw):
    job, extras = prepare(make_job)
    data = Prepared(job.out)
    for split, events in (("train", TRAIN), ("val", VAL), ("test", TEST)):
        clips = data.clips(split)
        names = [f"{event}/{offset:02d}" for event in events for offset in (0, 12, 24)]
        assert clips.index["clip"].tolist() == names
    test = data.clips("test")
    assert (test.index["length"] == 25).all() and (test.index["stride"] == 1).all()
    assert test.index["cluster"].tolist() == ["2019-06-01"] * 3 + ["2019-08-02"] * 3
    # the window of R5 (event 7) that starts with its frame 24
    expected = movie(7)[:, :, 24:49].transpose(2, 0, 1)
    np.testing.assert_array_equal(test.read([5])[0, :, 0], expected)
    assert data.frames.dtype == np.uint8 and len(data.frames) == 7 * 49
    assert data.attrs["normalisation"]["scale"] == 255.0 and data.attrs["stored_scale"] == 1.0
    assert extras["clips"] == {"train": 9, "val": 6, "test": 6} and extras["missing pixels"] == 0
    # both storms of 1 June are one cluster
    assert extras["clusters"] == {"train": 2, "val": 2, "test": 2}
    stored = np.stack([movie(n) for n in (0, 1, 2)]).astype(float)
    assert extras["training mean and std"] == pytest.approx([stored.mean(), stored.std()])


def test_times_and_places_are_kept(make_job, raw):
    job, _ = prepare(make_job)
    data = xr.open_zarr(job.out / "frames.zarr", consolidated=False, chunks=None)["frames"]
    times = pd.DatetimeIndex(data["time"].to_numpy())
    assert times[0] == pd.Timestamp("2018-06-01 18:05") and times[1] - times[0] == pd.Timedelta(
        "5min"
    )
    assert times[49] == pd.Timestamp("2018-06-01 21:00"), "S3 lies before S2 in the file"
    np.testing.assert_allclose(data["x"], 64000 * (np.arange(6) + 0.5))
    assert data["x"].attrs["units"] == "m" and data.attrs["comment"]
    table = pd.read_parquet(job.out / "events.parquet")
    assert table["id"].tolist() == [*TRAIN, *VAL, *TEST]
    assert table["first_frame"].tolist() == [49 * n for n in range(7)]
    last = table.iloc[-1]
    assert last["time_utc"] == pd.Timestamp("2019-08-02 12:00") and last["llcrnrlon"] == -98.25
    assert last["proj"] == "+proj=laea" and last["split"] == "test"


def test_an_identifier_that_occurs_twice_is_left_out(make_job, raw):
    write_catalog(raw, [*catalog_rows(), row("R5", STORMS, 0, "2018-01-01", 0.0)])
    _, extras = prepare(make_job)
    assert extras["clips"] == {"train": 9, "val": 6, "test": 3}


def test_counting_without_the_catalogue(make_job, raw, tmp_path):
    job, _ = prepare(make_job)
    planned = count(job.recipe, Lists([tmp_path / "nowhere"]))
    assert not list(planned.clips) and set(planned.unknown) == {"train", "val", "test"}
    assert "CATALOG.csv" in planned.unknown["test"]


def test_published_counts_are_three_windows_of_each_event():
    """18,979 events; which they are is in the catalogue alone."""
    published = {"train": 35718, "val": 9060, "test": 12159}
    days = {"train": "2018-05-01", "val": "2019-03-01", "test": "2019-09-01"}
    seconds = {s: int(pd.Timestamp(d).timestamp()) for s, d in days.items()}
    offsets = tuple(range(-120, 121, 5))
    events = [
        Event(f"{split}{n}", split, "f", n, seconds[split], offsets)
        for split, clips in published.items()
        for n in range(clips // 3)
    ]
    found = pd.DataFrame(cut_windows(events, 25))["split"].value_counts()
    assert found.to_dict() == published and len(events) * 49 == 929971


def change_file(raw, file, **arrays):
    path = raw / "sevir" / "data" / file
    with h5py.File(path) as old:
        content = {name: old[name][()] for name in old}
    with h5py.File(path, "w") as new:
        for name, values in {**content, **arrays}.items():
            if values is not None:
                new[name] = values


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"id": np.array([b"S1", b"S2", b"S3"])}, "1 of 3 .*S2(.|\n)*S3"),
        ({"id": np.array([b"S1", b"S3"])}, "2 of 2 (.|\n)*S2"),
        ({"id": None}, "'id'.* vil"),
        ({"vil": None}, "'vil'.* id"),
        ({"vil": np.zeros((3, 6, 6, 49), np.int16)}, "vil .*int16"),
        ({"vil": np.zeros((3, 6, 6, 48), np.uint8)}, r"\(3, 6, 6, 48\)"),
        ({"vil": np.zeros((2, 6, 6, 49), np.uint8)}, r"\(2, 6, 6, 49\)(.|\n)* 2"),
        ({"vil": np.zeros((3, 8, 6, 49), np.uint8)}, r"S1: .*\(49, 1, 8, 6\)"),
    ],
)
def test_files_that_contradict_the_catalogue(make_job, raw, arrays, message):
    change_file(raw, STORMS, **arrays)
    with pytest.raises(StpError, match=message):
        prepare(make_job)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pct_missing": None}, "pct_missing"),
        ({"time_utc": "yesterday"}, "S1 .*time_utc"),
        ({"file_index": ""}, "S1 .*file_index"),
        ({"file_index": "1.5"}, "S1 .*file_index"),
        ({"width_m": "inf"}, "S1 .*width_m"),
        ({"pct_missing": ""}, "vil"),
        ({"minute_offsets": "0:5:10"}, r"S1: minute_offsets .*0:5:10(.|\n)*49"),
        ({"minute_offsets": OFFSETS.replace("-115", "-125")}, "S1: minute_offsets"),
        ({"minute_offsets": "noon"}, "S1: minute_offsets .*noon"),
        ({"img_type": "vis"}, "vil"),
    ],
)
def test_a_catalogue_that_lacks_something(make_job, raw, change, message):
    table = pd.DataFrame(catalog_rows())
    for name, value in change.items():
        table[name] = value
    write_catalog(raw, table if change != {"pct_missing": None} else table.drop(columns=[*change]))
    with pytest.raises(StpError, match=message):
        prepare(make_job)


def made(folder: Path, **options) -> Path:
    run_generator("sevir", {"events": 2, "size": 8, **options}, folder)
    return folder


def test_generated_events_keep_their_codes(make_job, tmp_path):
    root = made(tmp_path / "made")
    job = make_job("sevir", [1, 8, 8], {}, context=13, horizon=12, root=root)
    extras = run(job)
    frames, _ = content(job)
    table = pd.read_parquet(job.out / "events.parquet")
    assert extras["missing pixels"] == 0 and frames.max() <= 254
    for event in table.itertuples():
        with h5py.File(root / "sevir" / "data" / event.file_name) as file:
            there = file["vil"][event.file_index]
        stored = frames[event.first_frame : event.first_frame + 49, 0]
        np.testing.assert_array_equal(stored, there.transpose(2, 0, 1))
