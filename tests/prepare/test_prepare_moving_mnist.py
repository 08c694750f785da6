"""Moving-MNIST from small IDX files and from a small published test file."""

import gzip
import hashlib
import json
import re
import struct

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from stp.core.errors import StpError
from stp.data.moving_digits import render
from stp.data.prepared import Prepared
from stp.datasets.moving_mnist.idx import read_pictures
from stp.datasets.moving_mnist.reader import run

PICTURES = np.random.default_rng(0).integers(0, 256, (12, 6, 6), np.uint8)
NAME = "mnist/digits.gz"
OPTIONS = {
    "digits": {
        "train": {"file": NAME, "from": 0, "to": 6},
        "val": {"file": NAME, "from": 6, "to": 8},
        "test": {"file": NAME, "from": 8, "to": 12},
    },
    "clips": {"val": 3, "test": 5},
    "clips_per_epoch": 7,
    "seed": 4,
}


def idx(pictures, magic=0x803):
    return struct.pack(">IIII", magic, *pictures.shape) + pictures.tobytes()


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "raw" / NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(idx(PICTURES)))
    return path


def test_clips_are_those_of_the_renderer(make_job, raw):
    job = make_job("moving_mnist", [1, 16, 16], OPTIONS)
    extras = run(job)
    assert extras["clips"] == {"val": 3, "test": 5, "train": 7}
    assert extras["clusters"] == {"val": 3, "test": 5}
    prepared = Prepared(job.out)
    motion = {"seed": 4, "length": 3, "size": 16}
    for stream, split, digits in ((1, "val", PICTURES[6:8]), (2, "test", PICTURES[8:])):
        clips = prepared.clips(split)
        drawn = render(digits, np.arange(len(clips)), epoch=0, stream=stream, **motion)
        np.testing.assert_array_equal(
            clips.read(range(len(clips))), drawn.astype(np.float32) / np.float32(255)
        )
    train = prepared.clips("train")
    drawn = render(PICTURES[:6], np.array([6, 0]), epoch=9, **motion)
    assert train.virtual and len(train) == 7
    np.testing.assert_array_equal(train.read([6, 0], epoch=9), drawn / np.float32(255))


def test_the_store_is_plain_zarr_and_the_index_plain_parquet(make_job, raw):
    job = make_job("moving_mnist", [1, 16, 16], OPTIONS)
    run(job)
    dataset = xr.open_zarr(job.out / "frames.zarr", consolidated=False, chunks=None)
    assert dict(dataset["frames"].sizes) == {"frame": 24, "channel": 1, "y": 16, "x": 16}
    assert dataset.attrs["raw"] == {NAME: hashlib.sha256(raw.read_bytes()).hexdigest()}
    assert dataset.attrs["source"] == "synthetic" and dataset.attrs["phases"] == 1
    index = pd.read_parquet(job.out / "index.parquet")
    assert index["split"].tolist() == ["val"] * 3 + ["test"] * 5
    assert index["start"].tolist() == list(range(0, 24, 3))
    assert index.dtypes.astype(str)[["start", "stride", "length", "phase"]].tolist() == [
        *("int64", "int32", "int32", "int32")
    ]
    assert (index["cluster"] == index["split"] + "/" + index["clip"]).all()


def test_a_longer_window_for_test_clips(make_job, raw):
    job = make_job("moving_mnist", [1, 16, 16], {**OPTIONS, "span": 9})
    run(job)
    assert Prepared(job.out).clips("test").read([0], length=9).shape == (1, 9, 1, 16, 16)


def test_published_test_clips_are_copied_with_time_first(make_job, raw):
    published = np.random.default_rng(1).integers(0, 256, (3, 300, 16, 16), np.uint8)
    np.save(raw.parent / "published.npy", published)
    digits = {**OPTIONS["digits"], "test": None}
    options = {**OPTIONS, "digits": digits, "clips": {"val": 3}}
    job = make_job("moving_mnist", [1, 16, 16], {**options, "official_test": "mnist/published.npy"})
    assert run(job)["clips"]["test"] == 300
    clips = Prepared(job.out).clips("test").read([299, 0])[:, :, 0] * 255
    np.testing.assert_allclose(clips, published[:, [299, 0]].swapaxes(0, 1), rtol=1e-6)


@pytest.mark.parametrize("shape", [(4, 2, 16, 16), (3, 2, 16, 20), (3, 2, 16)])
def test_published_clips_of_another_shape(make_job, raw, shape):
    np.save(raw.parent / "published.npy", np.zeros(shape, np.uint8))
    digits = {**OPTIONS["digits"], "test": None}
    options = {"digits": digits, "clips": {"val": 3}, "official_test": "mnist/published.npy"}
    with pytest.raises(StpError, match=rf"published\.npy: .*{re.escape(str(shape))}"):
        run(make_job("moving_mnist", [1, 16, 16], options))


@pytest.mark.parametrize("damage", ["cut off", "zip", "header"])
def test_a_published_file_that_is_damaged(make_job, raw, damage):
    path = raw.parent / "published.npy"
    np.save(path, np.zeros((3, 2, 16, 16), np.uint8))
    content = path.read_bytes()
    if damage == "cut off":
        path.write_bytes(content[:-10])
    elif damage == "zip":
        with path.open("wb") as file:
            np.savez(file, np.zeros((3, 2, 16, 16), np.uint8))
    else:
        path.write_bytes(content.replace(b"{'descr'", b"{'descr\0"))
    digits = {**OPTIONS["digits"], "test": None}
    options = {"digits": digits, "clips": {"val": 3}, "official_test": "mnist/published.npy"}
    with pytest.raises(StpError, match=r"published\.npy"):
        run(make_job("moving_mnist", [1, 16, 16], options))


def test_pictures_shared_by_two_splits(make_job, raw):
    digits = {**OPTIONS["digits"], "val": {"file": NAME, "from": 5, "to": 8}}
    with pytest.raises(StpError, match=r"digits\.train .*digits\.val"):
        run(make_job("moving_mnist", [1, 16, 16], {**OPTIONS, "digits": digits}))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(idx(PICTURES))[:-20], "damaged"),
        (b"no gzip at all", "damaged"),
        (gzip.compress(idx(PICTURES, magic=0x801)), "2049(.|\n)*2051"),
        (gzip.compress(b"short", mtime=0), "5 "),
        (gzip.compress(idx(PICTURES)[:-1]), "431 (.|\n)*12 x 6 x 6 = 432"),
        (gzip.compress(idx(np.zeros((12, 17, 6), np.uint8))), "17 x 6(.|\n)*16 x 16"),
        (gzip.compress(idx(np.zeros((12, 6, 17), np.uint8))), "6 x 17(.|\n)*16 x 16"),
    ],
)
def test_a_damaged_file_of_digits(make_job, raw, content, message):
    raw.write_bytes(content)
    with pytest.raises(StpError, match=f"digits.gz: (.|\n)*{message}"):
        run(make_job("moving_mnist", [1, 16, 16], OPTIONS))


@pytest.mark.sample_bytes
def test_the_real_test_digits(raw_mirror):
    # Count and mean as published for the 10,000 test pictures: 33.79 of 255.
    pictures = read_pictures(raw_mirror / "mnist" / "t10k-images-idx3-ubyte.gz")
    assert pictures.shape == (10000, 28, 28)
    assert round(float(pictures.mean()), 2) == 33.79
    content = struct.pack(">IIII", 2051, 10000, 28, 28) + pictures.tobytes()
    assert hashlib.md5(content).hexdigest() == "2646ac647ad5339dbf082846283269ea"


@pytest.mark.sample_bytes
def test_prepare_from_the_real_test_digits(make_job, raw_mirror):
    name = "mnist/t10k-images-idx3-ubyte.gz"
    ranges = {"train": (0, 8000), "val": (8000, 9000), "test": (9000, 10000)}
    digits = {s: {"file": name, "from": a, "to": b} for s, (a, b) in ranges.items()}
    options = {"digits": digits, "clips": {"val": 4, "test": 12}, "clips_per_epoch": 8}
    job = make_job(
        "moving_mnist",
        [1, 64, 64],
        options,
        context=10,
        horizon=10,
        root=raw_mirror,
        names=[name],
    )
    run(job)
    clips = Prepared(job.out).clips("test").read(range(12))
    # Two digits of about 33.79 / 255 * 28 * 28 / 64 / 64 = 0.0254 each, a little less where they
    # overlap; 24 random digits scatter by some 20 per cent.
    assert 0.03 < clips.mean() < 0.06
    assert clips.max() == 1 and clips.min() == 0
    attrs = json.loads((job.out / "frames.zarr" / "zarr.json").read_text())["attributes"]
    assert list(attrs["raw"]) == [name]
