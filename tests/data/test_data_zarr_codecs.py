"""Stores of others may not choose a codec that runs code, whatever Zarr and numcodecs allow."""

import json
import os
import pickle
import re
from pathlib import Path

import numcodecs.pickles
import numpy as np
import pytest
import zarr

from stp.core.errors import StpError
from stp.data.zarr_codecs import check_codecs
from stp.external.submitted import _zarr_source
from stp.prepare.own.grids import open_grid


class Hostile:
    """Makes a file where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.fixture
def ran(tmp_path, monkeypatch) -> Path:
    """A folder that hostile chunks make; numcodecs decodes pickles, as it did before 0.16.6."""
    monkeypatch.setattr(numcodecs.pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True)
    return tmp_path / "ran"


def hostile_array(folder: Path, ran: Path) -> None:
    """An array of Zarr 2 whose compressor is pickle."""
    folder.mkdir(parents=True)
    meta = {
        "zarr_format": 2,
        "shape": [1],
        "chunks": [1],
        "dtype": "|O",
        "compressor": {"id": "pickle", "protocol": 5},
        "filters": [{"id": "vlen-utf8"}],
        "fill_value": None,
        "order": "C",
    }
    (folder / ".zarray").write_text(json.dumps(meta))
    (folder / ".zattrs").write_text(json.dumps({"_ARRAY_DIMENSIONS": ["time"]}))
    (folder / "0").write_bytes(pickle.dumps(Hostile(ran)))


def test_predictions_that_bring_a_pickle(tmp_path, ran):
    path = tmp_path / "predictions.zarr"
    group = zarr.create_group(path, zarr_format=2)
    group.create_array("predictions", data=np.zeros((2, 1, 1, 4, 4), np.float32))
    hostile_array(path / "sample", ran)
    with pytest.raises(StpError, match=r"sample/\.zarray: .*'pickle'"):
        _zarr_source(path, set())
    assert not ran.exists()


@pytest.mark.parametrize("way", ["a link", "an array and a group in one", "a link in a circle"])
def test_a_pickle_where_nobody_looks(tmp_path, ran, way):
    path = tmp_path / "predictions.zarr"
    in_one = way == "an array and a group in one"
    zarr.create_group(path, zarr_format=3 if in_one else 2)
    hostile = path / "predictions"
    if in_one:  # Zarr takes format 3 where both are there
        flat = {"chunks": [1], "dtype": "<f4", "compressor": None, "filters": None}
        (path / ".zarray").write_text(json.dumps({"zarr_format": 2, "shape": [1], **flat}))
    else:
        hostile = tmp_path / "elsewhere"
        (path / "predictions").symlink_to(hostile)
    hostile_array(hostile, ran)
    if way == "a link in a circle":
        (path / "again").symlink_to(path)
    with pytest.raises(StpError, match=r"\.zarray: .*'pickle'"):
        _zarr_source(path, set()).read([0])
    assert not ran.exists()


def test_metadata_that_claim_another_format(tmp_path):
    meta = {"zarr_format": 3, "codecs": [], "chunks": [1], "dtype": "|O",
            "compressor": {"id": "pickle"}}  # fmt: skip
    (tmp_path / ".zarray").write_text(json.dumps(meta))
    with pytest.raises(StpError, match="'pickle'"):
        check_codecs(tmp_path)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_chunk_that_would_fill_the_memory(tmp_path, zarr_format):
    """A few bytes that unpack to 40 GB, whichever row is asked for."""
    group = zarr.create_group(tmp_path / "predictions.zarr", zarr_format=zarr_format)
    shape = (10**10,)
    array = group.create_array("predictions", shape=shape, chunks=shape, dtype="f4")
    assert array.nchunks == 1
    with pytest.raises(StpError, match=r"40 GB(.|\n)* 8 GB"):
        _zarr_source(tmp_path / "predictions.zarr", set())


def test_a_shard_is_read_by_its_chunks(tmp_path):
    group = zarr.create_group(tmp_path / "z", zarr_format=3)
    group.create_array("a", shape=(10**10,), shards=(10**10,), chunks=(10**4,), dtype="f4")
    check_codecs(tmp_path / "z")


def test_a_grid_that_brings_a_pickle(tmp_path, ran):
    path = tmp_path / "g.zarr"
    zarr.create_group(path, zarr_format=2)
    hostile_array(path / "time", ran)
    with pytest.raises(StpError, match="'pickle'"), open_grid(path) as dataset:
        dataset.load()
    assert not ran.exists()


@pytest.mark.parametrize(
    "codecs",
    [
        [{"name": "numcodecs.pickle", "configuration": {}}],
        ["somebodys.plugin"],
        [{"name": "bytes"}, {"name": "sharding_indexed", "configuration": {"codecs": ["evil"]}}],
        [{"name": "sharding_indexed", "configuration": {"index_codecs": [{"name": "evil"}]}}],
        [{"configuration": {}}],
        7,
    ],
)
def test_other_codecs_of_zarr_3_wherever_they_are_named(tmp_path, codecs):
    (tmp_path / "a").mkdir()
    meta = {"zarr_format": 3, "node_type": "array", "codecs": codecs}
    (tmp_path / "a" / "zarr.json").write_text(json.dumps(meta))
    with pytest.raises(StpError, match=re.escape(f"{tmp_path}/a/zarr.json: ")):
        check_codecs(tmp_path)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_what_zarr_writes_by_itself_is_accepted(tmp_path, zarr_format):
    group = zarr.create_group(tmp_path / "z", zarr_format=zarr_format)
    group.create_array("numbers", data=np.zeros((4, 4)))
    group.create_array("names", shape=(2,), dtype="str")
    check_codecs(tmp_path / "z")
