"""nuScenes from small logs made here, the published numbers, and a real picture."""

import io
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from PIL import Image

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.data.raw_files import RawFiles
from stp.datasets.nuscenes.reader import NuscenesOptions, count, decode_pictures, read_table, run
from stp.fetch.film_write import encode_picture
from stp.prepare.members import Member
from stp.prepare.planned_counts import Lists

LOGS = {
    "train": "n008-2018-05-21-11-06-59-0400",
    "val": "n015-2018-07-27-11-24-31+0800",
    "test": "n015-2018-07-24-11-03-52+0800",
}
FIRST = 1532402927612460
SHAPE = [3, 4, 5]
# 32 x 18 pixels keep their aspect as 7 x 4
OPTIONS = {"resize": [4, 7], "stride": 2, "subsets": {"extrapolation": 6}}


def jpeg(grey, height=18, width=32):
    return encode_picture(np.full((height, width, 3), grey, np.uint8), "JPEG", quality=100)


def picture_name(log, n, time):
    kind = "samples" if n % 6 == 0 else "sweeps"
    return f"{kind}/CAM_FRONT/{log}__CAM_FRONT__{time}.jpg"


def list_path(root, split):
    return root / "predbench_annotations" / "nuscenes" / f"nuscenes_{split}.json"


def table_path(root):
    return root / "nuscenes" / "v1.0-trainval" / "sample_data.json"


def entry(name):
    # as in the official table, but for the tokens
    return {
        "token": "03bea5763f0f4722933508d5999c5fd8",
        "timestamp": int(name[-20:-4]),
        "fileformat": "jpg",
        "is_key_frame": name.startswith("samples"),
        "height": 18,
        "width": 32,
        "filename": name,
        "prev": "",
        "next": "",
    }


@pytest.fixture
def raw(tmp_path):
    """Ten pictures in each log; the test log has a cut after the fifth."""
    root = tmp_path / "raw"
    for folder in ("samples", "sweeps"):
        (root / "nuscenes" / folder / "CAM_FRONT").mkdir(parents=True)
    for path in (list_path(root, "val"), table_path(root)):
        path.parent.mkdir(parents=True)
    entries = []
    for base, (split, log) in zip((10, 80, 150), LOGS.items(), strict=True):
        times = FIRST + np.cumsum([0, *[50_000, 100_000, 100_000] * 3])
        if split == "test":
            times[5:] += 30_000_000
        names = [picture_name(log, n, time) for n, time in enumerate(times)]
        for n, name in enumerate(names):
            (root / "nuscenes" / name).write_bytes(jpeg(base + n))
        entries += [entry(name) for name in names[::-1]]
        if split != "train":
            list_path(root, split).write_text(json.dumps({log: names}, indent=4))
    other = "samples/LIDAR_TOP/n015-2018-07-24-11-03-52+0800__LIDAR_TOP__1532402927647951.pcd.bin"
    back = f"samples/CAM_BACK/{LOGS['train']}__CAM_BACK__{FIRST}.jpg"
    entries[3:3] = [entry(other.replace(".pcd.bin", ".jpg")), entry(back)]
    table_path(root).write_text(json.dumps(entries, indent=0))
    return root


def test_windows_values_and_times(make_job, raw):
    job = make_job("nuscenes", SHAPE, OPTIONS)
    extras = run(job)
    # windows of 3 in ten frames: range(0, 10 - 3, 2); of 6: range(0, 10 - 6, 2)
    assert extras["clips"] == {
        "train": 4,
        "val": 4,
        "test": 4,
        "extrapolation": 2,
        "without_gaps": 3,
    }
    assert extras["gaps of more than 1.0 s"] == {LOGS["test"]: 1}
    data = Prepared(job.out)
    # training pictures are in the order of time, though the table has them the other way round
    for split, base in (("train", 10), ("val", 80), ("test", 150)):
        frames = np.rint(data.clips(split).read(range(4)) * 255)[..., 0, 2, 2]
        assert np.abs(frames - base - np.add.outer([0, 2, 4, 6], range(3))).max() <= 1
    # 0-2 and 2-4 lie before the cut, 4-6 across it, 6-8 after it
    strict = data.index[data.index["split"] == "without_gaps"]["clip"].tolist()
    assert strict == [f"{LOGS['test']}/{n:05d}" for n in (0, 2, 6)]
    longer = data.clips("extrapolation").read([1], length=6)
    assert longer.shape == (1, 6, 3, 4, 5)
    assert abs(longer[0, 5, 0, 0, 0] * 255 - 157) <= 1
    times = xr.open_zarr(job.out / "frames.zarr", consolidated=False, chunks=None)["frames"][
        "time"
    ].values
    assert times[0] == np.datetime64(FIRST, "us")
    steps = np.diff(times[:4]) / np.timedelta64(1, "us")
    assert steps.tolist() == [50_000, 100_000, 100_000]


@pytest.mark.parametrize("released", [False, True])
def test_the_crop_of_validation_pictures(make_job, raw, released):
    """A bright bar at the left edge is cut off by the crop, and kept by the released code."""
    for path in (raw / "nuscenes").rglob("*.jpg"):
        picture = np.zeros((18, 32, 3), np.uint8)
        picture[:, :5] = 255
        Image.fromarray(picture).save(path, "JPEG", quality=100)
    job = make_job("nuscenes", SHAPE, {**OPTIONS, "released_crop": released})
    run(job)
    data = Prepared(job.out)
    bright = {split: data.clips(split).read([0])[0, 0, 0, :, 0].mean() for split in LOGS}
    assert bright["train"] < 0.3
    assert (bright["val"] > 0.7) == released and (bright["test"] > 0.7) == released


def test_the_table_is_read_in_blocks(raw, tmp_path, monkeypatch):
    path = tmp_path / "table.json"
    entries = [{"filename": f"{n}", "text": "é" * (n % 50)} for n in range(3000)]
    for indent in (None, 0, 2):
        path.write_text(json.dumps(entries, indent=indent, ensure_ascii=False), encoding="utf-8")
        monkeypatch.setattr("stp.datasets.nuscenes.reader._BLOCK", 1000)
        monkeypatch.setattr("stp.datasets.nuscenes.reader._MOST_ENTRY", 500)
        assert list(read_table(path)) == entries
    for length in (1, 500, 100_000):
        path.write_text(json.dumps(entries)[:length])
        with pytest.raises(StpError, match=r"table\.json"):
            list(read_table(path))
    path.write_text("[1, 2]")
    with pytest.raises(StpError, match=r"table\.json"):
        list(read_table(path))


def test_the_table_is_not_held_as_a_whole(monkeypatch):
    monkeypatch.setattr("stp.datasets.nuscenes.reader._BLOCK", 1000)
    monkeypatch.setattr("stp.datasets.nuscenes.reader._MOST_ENTRY", 500)
    entries = [{"filename": f"{n:080d}"} for n in range(200)]  # 100 characters each
    file = io.StringIO(json.dumps(entries))
    table = read_table(SimpleNamespace(open=lambda encoding: file))
    assert [next(table) for _ in range(50)] == entries[:50]
    assert file.tell() < 7000


def rewrite(path, change):
    text = path.read_text()
    changed = change(text)
    assert changed != text
    path.write_text(changed)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda r: list_path(r, "val").write_text("[]"), "nuscenes_val.json"),
        (lambda r: list_path(r, "val").write_text('{"a": [3]}'), "nuscenes_val.json"),
        (lambda r: list_path(r, "val").write_text('{"a": []}'), "nuscenes_val.json"),
        (
            lambda r: list_path(r, "val").write_text(list_path(r, "test").read_text()),
            LOGS["test"][:15],
        ),
        (
            lambda r: rewrite(list_path(r, "val"), lambda t: t.replace("FRONT__1", "FRONT__x")),
            "n015-2018-07-27",
        ),
        (
            lambda r: rewrite(list_path(r, "val"), lambda t: t.replace("27612460", "99612460")),
            "frame 1 .*frame 0",
        ),
        (
            lambda r: rewrite(list_path(r, "val"), lambda t: t.replace("27762460", "27662460")),
            "frame 2 .*frame 1",
        ),
        (lambda r: rewrite(table_path(r), lambda t: t[:-30]), "sample_data.json"),
        (
            lambda r: rewrite(table_path(r), lambda t: t.replace("[", "[" + t[1:-1] + ",", 1)),
            "sample_data.json: n008.*frame 1",
        ),
        (
            lambda r: next((r / "nuscenes/sweeps/CAM_FRONT").glob(f"{LOGS['val']}*")).unlink(),
            "1 of 30 .*nuscenes/sweeps/CAM_FRONT/n015-2018-07-27",
        ),
        (
            lambda r: next((r / "nuscenes/sweeps/CAM_FRONT").iterdir()).write_bytes(jpeg(3, 9, 9)),
            "9 x 9|32 x 18",
        ),
    ],
)
def test_what_is_missing_or_wrong_is_one_clear_error(make_job, raw, broken, message):
    broken(raw)
    with pytest.raises(StpError, match=message):
        run(make_job("nuscenes", SHAPE, OPTIONS))


def test_counting_needs_the_official_table_for_training_only(raw):
    recipe = {"options": OPTIONS, "context": 2, "horizon": 1}
    planned = count(recipe, Lists([raw]))
    splits = pd.Series([clip.split for clip in planned.clips]).value_counts().to_dict()
    assert splits["train"] == 4 and not planned.unknown
    table_path(raw).unlink()
    planned = count(recipe, Lists([raw]))
    assert "train" in planned.unknown
    assert "train" not in {clip.split for clip in planned.clips}


@pytest.mark.sample_bytes
def test_published_numbers_of_windows(raw_mirror):
    recipe = {"options": {}, "context": 10, "horizon": 10}
    clips = pd.DataFrame(count(recipe, Lists([raw_mirror])).clips)
    assert clips["split"].value_counts().to_dict() == {
        "val": 4658,
        "test": 3436,  # Table 1 has 4,518
        "extrapolation": 3411,
        "robustness": 3386,
        "without_gaps": 3436 - 134,
    }
    assert clips.groupby("split")["cluster"].nunique()[["val", "test"]].tolist() == [7, 5]


@pytest.mark.sample_bytes
def test_real_pictures(make_job, raw_mirror):
    """One key frame of six cameras is shorter than any window: decoding only."""
    files = sorted((raw_mirror / "nuscenes" / "samples").rglob("*.jpg"))
    names = [path.relative_to(raw_mirror).as_posix() for path in files]
    assert len(names) == 6
    job = make_job("nuscenes", SHAPE, {}, root=raw_mirror, names=names)
    raw = RawFiles(job.inputs["raw"], [raw_mirror])
    task = [("train", Member(name)) for name in names]
    frames = decode_pictures(raw, task, NuscenesOptions(), (128, 160))
    assert frames.shape == (6, 3, 128, 160) and frames.dtype == np.uint8
    for path, frame in zip(files, frames, strict=True):
        with Image.open(path) as picture:
            assert picture.size == (1600, 900)
            # smoothed, so alike on the whole only
            small = np.asarray(picture.resize((228, 128), Image.Resampling.BOX), float)
        middle = np.moveaxis(small[:, 34:194], -1, 0)
        assert np.corrcoef(frame.ravel(), middle.ravel())[0, 1] > 0.97
        assert abs(frame.mean() - middle.mean()) < 2
    # the official table has one front camera picture, by its real name
    table = raw_mirror / "nuscenes" / "v1.0-test_schema_example" / "sample_data.json"
    front = [e for e in read_table(table) if "/CAM_FRONT/" in e["filename"]]
    assert [f"nuscenes/{e['filename']}" for e in front] == [n for n in names if "/CAM_FRONT/" in n]
