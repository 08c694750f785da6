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
from stp.prepare.own.grids import opened


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
    with pytest.raises(StpError, match=r"sample/\.zarray: asks for the codec 'pickle'"):
        _zarr_source(path)
    assert not ran.exists()


def test_a_grid_that_brings_a_pickle(tmp_path, ran):
    path = tmp_path / "g.zarr"
    zarr.create_group(path, zarr_format=2)
    hostile_array(path / "time", ran)
    with pytest.raises(StpError, match="'pickle'"), opened(path) as dataset:
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
