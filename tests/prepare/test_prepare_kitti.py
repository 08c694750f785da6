"""KITTI from small drives made here, the published numbers, and real pictures."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from PIL import Image

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.datasets.kitti.reader import count, read_timestamps, run
from stp.fetch.film_write import encode_picture
from stp.prepare import driving
from stp.prepare.planned_counts import Lists

DRIVES = {"train": "2011_09_26_drive_0002", "val": "2011_09_30_drive_0016"}
DRIVES["test"] = "2011_09_26_drive_0018"
FRAMES = {"train": 12, "val": 5, "test": 7}
GREY = {"train": 10, "val": 60, "test": 120}
SHAPE = [3, 4, 5]
OPTIONS = {"resize": [4, 13]}  # 40 x 12 pixels keep their aspect


def png(grey, height=12, width=40):
    picture = np.zeros((height, width, 3), np.uint8)
    picture[:, 10:30] = grey  # the crop takes columns 12.3 to 27.7
    return encode_picture(picture)


def folder_of(root, split):
    drive = DRIVES[split]
    return root / "kitti" / drive[:10] / f"{drive}_sync" / "image_02"


def stamps(frames, step_ns=103_300_123):
    first = np.datetime64("2011-09-26T13:02:25.964389445", "ns")
    times = [first + np.timedelta64(n * step_ns, "ns") for n in range(frames)]
    return [str(time).replace("T", " ") for time in times]


def write_list(root, split, listed):
    path = root / "predbench_annotations" / "KITTI" / f"kitti_{split}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(listed, indent=4))


@pytest.fixture
def raw(tmp_path):
    root = tmp_path / "raw"
    for split, frames in FRAMES.items():
        folder = folder_of(root, split)
        (folder / "data").mkdir(parents=True)
        for n in range(frames):
            (folder / "data" / f"{n:010d}.png").write_bytes(png(GREY[split] + n))
        (folder / "timestamps.txt").write_text("".join(f"{s}\n" for s in stamps(frames)))
        write_list(root, split, {f"{DRIVES[split]}_sync": frames})
    # what is not wanted: a drive in no list, and the right camera
    other = root / "kitti/2011_09_26/2011_09_26_drive_0017_sync/image_02/data"
    other.mkdir(parents=True)
    (other / "0000000000.png").write_bytes(png(250))
    right = folder_of(root, "test").parent / "image_03" / "data"
    right.mkdir(parents=True)
    (right / "0000000099.png").write_bytes(png(250))
    return root


def test_windows_values_and_times(make_job, raw):
    job = make_job("kitti", SHAPE, OPTIONS)
    extras = run(job)
    # windows of 3: range(0, 12 - 3, 4), range(0, 5 - 3), range(0, 7 - 3); the last never counts
    assert extras["clips"] == {"train": 3, "val": 2, "test": 4, "without_gaps": 4}
    data = Prepared(job.out)
    assert data.index["start"].tolist()[:5] == [0, 4, 8, 12, 13]
    assert data.index["cluster"].tolist()[0] == "2011_09_26_drive_0002_sync"
    test = np.rint(data.clips("test").read(range(4)) * 255).astype(int)
    assert test.shape == (4, 3, 3, 4, 5)
    expected = 120 + np.add.outer(range(4), range(3))
    np.testing.assert_array_equal(
        test, np.broadcast_to(expected[..., None, None, None], test.shape)
    )
    assert data.attrs["fps"] == 10 and data.attrs["stored_scale"] == 1 / 255
    opened = xr.open_zarr(job.out / "frames.zarr", consolidated=False, chunks=None)["frames"]
    times = opened["time"].values
    assert times.shape == (24,)
    assert times[0] == np.datetime64("2011-09-26T13:02:25.964389", "us")
    assert times[1] - times[0] == np.timedelta64(103_300, "us")


def test_windows_across_a_gap_are_left_out(make_job, raw):
    lines = stamps(7)
    late = [line.replace(" 13:", " 14:") for line in lines]
    (folder_of(raw, "test") / "timestamps.txt").write_text("\n".join(lines[:4] + late[4:]))
    job = make_job("kitti", SHAPE, OPTIONS)
    extras = run(job)
    assert extras["clips"]["test"] == 4
    index = Prepared(job.out).index
    strict = index[index["split"] == "without_gaps"]["clip"].tolist()
    assert strict == ["2011_09_26_drive_0018_sync/00000", "2011_09_26_drive_0018_sync/00001"]
    assert extras["gaps of more than 0.25 s"] == {"2011_09_26_drive_0018_sync": 1}


def test_clusters_are_drives_unless_blocks_are_named(make_job, raw):
    """Seven frames a little over 0.1 s apart: windows start at 0 s to 0.31 s, all in one second."""
    job = make_job("kitti", SHAPE, {**OPTIONS, "clusters": "block-1s"})
    assert run(job)["clusters"]["test"] == 1
    data = Prepared(job.out)
    names = data.index[data.index["split"] == "test"]["cluster"]
    assert set(names) == {"2011_09_26_drive_0018_sync/block-1s-0000"}
    assert data.attrs["clusters"] == "block-1s"


@pytest.mark.parametrize("timed", [True, False])
def test_blocks_count_from_the_first_frame_of_a_drive(timed):
    times = 10**15 + np.arange(200) * 500_000 if timed else None
    drives = [driving.Drive("test", name, 200, times) for name in ("one", "two")]
    clips = driving.cut_windows(drives, {"test": 20}, 20, fps=2, clusters="block-60s")
    # Windows start at 0, 20, ..., 160 frames: every 10 s up to 80 s.
    found = [clip.cluster for clip in clips]
    of_one = ["one/block-60s-0000"] * 6 + ["one/block-60s-0001"] * 3
    assert found == of_one + [name.replace("one", "two") for name in of_one]
    whole = driving.cut_windows(drives, {"test": 20}, 20, fps=2)
    assert [clip._replace(cluster="") for clip in whole] == [
        clip._replace(cluster="") for clip in clips
    ]
    assert {clip.cluster for clip in whole} == {"one", "two"}


def test_a_piece_of_the_official_size_is_small():
    drive = driving.Drive("train", "2011_09_30_drive_0028_sync", 5177)  # the longest one
    pieces = driving.make_pieces(drive, range(5177), [0] * 5177)
    assert sum(piece.frames for piece in pieces) == 5177
    assert max(piece.frames for piece in pieces) * 3 * 128 * 160 < 64e6


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (
            lambda root: (folder_of(root, "test") / "data/0000000007.png").write_bytes(png(1)),
            r"8 (.|\n)* 7 ",
        ),
        (lambda root: write_list(root, "test", {f"{DRIVES['test']}_sync": 9}), "^7 |: 7 "),
        (lambda root: write_list(root, "test", {"2011_10_03_drive_0001_sync": 4}), "^0 |: 0 "),
        (
            lambda root: (folder_of(root, "test") / "timestamps.txt").write_text(
                "\n".join(stamps(6))
            ),
            "timestamps.txt: 6 ",
        ),
        (
            lambda root: (folder_of(root, "val") / "data/0000000001.png").write_bytes(png(1, 9, 9)),
            "0000000001.png: 9 x 9",
        ),
        (lambda root: write_list(root, "val", [1, 2]), "kitti_val.json"),
        (lambda root: write_list(root, "val", {"a": "b"}), "kitti_val.json"),
        (lambda root: write_list(root, "val", {f"{DRIVES['test']}_sync": 7}), DRIVES["test"]),
    ],
)
def test_what_is_missing_or_wrong_is_one_clear_error(make_job, raw, broken, message):
    broken(raw)
    with pytest.raises(StpError, match=message):
        run(make_job("kitti", SHAPE, OPTIONS))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*stamps(3), stamps(3)[2]], "frame 3 .*frame 2"),
        (stamps(3)[::-1], "frame 1 "),
        (["2011-09-26 13:02"], "times"),
        (["2011-13-26 13:02:25.0"], "times"),
        (["2011-09-26 13:02:25.964389445Z"], "times"),
        (["", *stamps(2)], "times"),
    ],
)
def test_times_that_are_wrong(lines, message):
    with pytest.raises(StpError, match=f"timestamps.txt: .*{message}"):
        read_timestamps("\n".join(lines), "timestamps.txt")


def odometry(root, frames):
    folder = root / "kitti" / "odometry_seq1" / "image_0"
    folder.mkdir(parents=True)
    for n in range(frames):
        picture = np.full((12, 40), 10 * n, np.uint8)
        (folder / f"{n:06d}.png").write_bytes(encode_picture(picture))


ODOMETRY = {
    **OPTIONS,
    "layout": "odometry",
    "strides": {"train": 1, "val": 1, "test": 1},
    "frames": {"train": [0, 6], "val": [7, 11], "test": [13, 18]},
}


def test_grey_odometry_pictures(make_job, tmp_path):
    odometry(tmp_path / "raw", 18)
    job = make_job("kitti", SHAPE, ODOMETRY)
    extras = run(job)
    assert extras["clips"] == {"train": 3, "val": 1, "test": 2}
    test = np.rint(Prepared(job.out).clips("test").read([1]) * 255)
    np.testing.assert_array_equal(test[0, :, :, 2, 2], np.repeat([[140], [150], [160]], 3, 1))
    recipe = {"options": ODOMETRY, "context": 2, "horizon": 1}
    splits = pd.Series([clip.split for clip in count(recipe, Lists([])).clips]).value_counts()
    assert splits.to_dict() == extras["clips"]


def test_odometry_pictures_that_are_not_there(make_job, tmp_path):
    odometry(tmp_path / "raw", 17)
    with pytest.raises(StpError, match=r"image_0/000017\.png(.|\n)*13\.\.17"):
        run(make_job("kitti", SHAPE, ODOMETRY))


@pytest.mark.sample_bytes
def test_published_numbers_of_windows(raw_mirror):
    recipe = {"options": {}, "context": 10, "horizon": 10}
    planned = count(recipe, Lists([raw_mirror]))
    clips = pd.DataFrame(planned.clips)
    assert clips["split"].value_counts().to_dict() == {"train": 9209, "val": 2224, "test": 2198}
    assert clips.groupby("split")["cluster"].nunique().to_dict() == {
        "train": 50,
        "val": 6,
        "test": 6,
    }
    assert not planned.numbers and set(planned.unknown) == {"without_gaps"}


@pytest.mark.sample_bytes
def test_real_pictures(make_job, raw_mirror):
    folder = "kitti/odometry_seq1/image_0"
    names = [f"{folder}/{n:06d}.png" for n in range(51)]
    options = {**ODOMETRY, "resize": [128, 424]}
    options["frames"] = {"train": [0, 21], "val": [22, 35], "test": [36, 51]}
    job = make_job(
        "kitti", [3, 128, 160], options, context=10, horizon=2, root=raw_mirror, names=names
    )
    assert run(job)["clips"] == {"train": 9, "val": 1, "test": 3}
    clips = Prepared(job.out).clips("test")
    frames = clips.read(range(3))
    assert frames.shape == (3, 12, 3, 128, 160)
    np.testing.assert_array_equal(frames[:, :, 0], frames[:, :, 2])
    # against Pillow's own bilinear sampling of the same grid, which has no smoothing either
    with Image.open(raw_mirror / names[36]) as picture:
        x, y = 132, 0  # the first of the 160 columns in the middle of 424
        scale = np.array([picture.width / 424, picture.height / 128])
        affine = (scale[0], 0, x * scale[0], 0, scale[1], y * scale[1])
        expected = picture.transform(
            (160, 128), Image.Transform.AFFINE, affine, Image.Resampling.BILINEAR
        )
    difference = np.abs(frames[0, 0, 0] * 255 - np.asarray(expected, float))[1:-1, 1:-1]
    assert difference.max() <= 2
    # the car drives on: a little from frame to frame
    assert 0 < np.abs(np.diff(frames, axis=1)).mean() < 0.1
