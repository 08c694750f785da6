"""Caltech Pedestrian from small .seq files."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from damage import content
from test_prepare_norpix import jpeg, seq

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.datasets.caltech import reader as caltech
from stp.datasets.caltech.reader import run

SHAPE = [3, 4, 5]
# 16 x 8 pixels keep their aspect as 8 x 4
OPTIONS = {"resize": [4, 8], "sets": [6, 7]}
LENGTHS = {"set06/V000": 20, "set06/V001": 14, "set07/V000": 12}


def write_videos(folder, padding=8, **options):
    for base, (video, frames) in zip((10, 90, 170), LENGTHS.items(), strict=True):
        path = folder / f"{video}.seq"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(seq([jpeg(base + n) for n in range(frames)], padding=padding, **options))


@pytest.fixture
def raw(tmp_path, monkeypatch):
    monkeypatch.setattr(caltech, "STRIDE", 2)
    write_videos(tmp_path / "raw" / "caltech")
    # a training set, which is not read
    (tmp_path / "raw" / "caltech" / "set00").mkdir()
    (tmp_path / "raw" / "caltech" / "set00" / "V000.seq").write_bytes(b"not looked at")
    return tmp_path / "raw"


def test_windows_values_and_times(make_job, raw):
    job = make_job("caltech", SHAPE, OPTIONS)
    extras = run(job)
    # every third frame: 6, 4 and 4; windows of 3: range(0, 6 - 3, 2), range(0, 4 - 3, 2) twice
    assert extras["clips"] == {"test": 4}
    assert extras["clusters"] == {"test": 3} and extras["frames"] == 14
    data = Prepared(job.out)
    assert data.index["clip"].tolist() == [
        "set06/V000/00000",
        "set06/V000/00002",
        "set06/V001/00000",
        "set07/V000/00000",
    ]
    frames = np.rint(data.clips("test").read(range(4)) * 255)[..., 0, 2, 2]
    # the third, sixth and ninth frame of a video are numbers 2, 5 and 8 from 0
    expected = np.add.outer([10 + 2, 10 + 8, 90 + 2, 170 + 2], [0, 3, 6])
    assert np.abs(frames - expected).max() <= 1
    assert data.attrs["fps"] == 10
    assert len(data.clips("train")) == 0
    # from the times of the frames, since the header is not always right
    assert extras["frames per second"]["set06/V000"] == 10.0
    times = xr.open_zarr(job.out / "frames.zarr", consolidated=False, chunks=None)["frames"][
        "time"
    ].values
    assert times[0] == np.datetime64(1_213_000_000_999_000 + 2 * 33_333, "us")
    assert times[1] - times[0] == np.timedelta64(99_999, "us")


@pytest.mark.parametrize("written", [{"padding": 0}, {"frames": 0}], ids=["8 bytes", "no number"])
def test_footers_of_8_bytes_and_a_header_without_the_number_of_frames(
    make_job, raw, tmp_path, written
):
    plain = make_job("caltech", SHAPE, OPTIONS)
    run(plain)
    write_videos(tmp_path / "other" / "caltech", **written)
    job = make_job("caltech", SHAPE, OPTIONS, root=tmp_path / "other")
    run(job)
    (frames, index), (frames2, index2) = content(plain), content(job)
    np.testing.assert_array_equal(frames, frames2)
    pd.testing.assert_frame_equal(index, index2)


def video(raw):
    return raw / "caltech" / "set06" / "V001.seq"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: b"", "0 "),
        (lambda c: c[:-30], ""),
        (lambda c: seq([jpeg(n) for n in range(14)], kind=100), "100"),
        (lambda c: seq([jpeg(n, 9, 9) for n in range(14)]), "9 x 9(.|\n)*16 x 8"),
        (lambda c: seq([jpeg(1)] * 2), "2 (.|\n)* 3"),
        (lambda c: seq([jpeg(1)] * 14, step=0), "frame 1 "),
        (lambda c: seq([jpeg(1)] * 14, step=-40), "frame 1 "),
        (lambda c: seq([b"\xff\xd8 no picture"] * 14), "1094"),
    ],
)
def test_bad_videos(make_job, raw, change, message):
    video(raw).write_bytes(change(video(raw).read_bytes()))
    with pytest.raises(StpError, match=rf"set06/V001\.seq.*{message}"):
        run(make_job("caltech", SHAPE, OPTIONS))


def test_times_need_not_increase_if_so_configured(make_job, raw):
    video(raw).write_bytes(seq([jpeg(90 + n) for n in range(14)], step=0))
    assert run(make_job("caltech", SHAPE, {**OPTIONS, "check_times": False}))["clips"]["test"] == 4


def test_a_missing_set(make_job, raw):
    with pytest.raises(StpError, match=r"caltech/set08/V000\.seq"):
        run(make_job("caltech", SHAPE, {**OPTIONS, "sets": [6, 8]}))
