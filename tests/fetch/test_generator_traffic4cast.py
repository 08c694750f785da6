"""The generated Traffic4Cast files have the official layout, and traffic on roads."""

import json
import re
from pathlib import Path

import h5py
import numpy as np
import pytest

from stp.fetch.raw import run_generator

OPTIONS = {"days": {"train": 3, "val": 1, "test": 1, "moscow": 1}, "cities": 2, "grid": [60, 50]}
LISTS = {
    "train": "traffic4cast2021_train.json",
    "val": "traffic4cast2021_val.json",
    "test": "traiifc4cast2021_test.json",
    "moscow": "traffic4cast2021_moscow.json",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("raw") / "made"
    run_generator("traffic4cast", OPTIONS, out)
    return out


def days(made: Path) -> list[Path]:
    return sorted((made / "traffic4cast2021").rglob("*.h5"))


def test_layout_is_the_official_one(made: Path) -> None:
    for path in days(made):
        with h5py.File(path) as file:
            assert list(file) == ["array"] and not file.attrs
            array = file["array"]
            assert (array.shape, array.dtype) == ((288, 60, 50, 8), np.uint8)
            assert array.chunks == (1, 60, 50, 8)
            assert (array.compression, array.compression_opts) == ("gzip", 9)
            assert not array.shuffle and not array.attrs
        # The superblock of libver="latest" has version 3 (or 2, before HDF5 1.10).
        content = path.read_bytes()
        assert content[:8] == b"\x89HDF\r\n\x1a\n" and content[8] == 3


def test_paths_and_lists_are_like_the_official_ones(made: Path) -> None:
    names = []
    for split, name in LISTS.items():
        listed = json.loads((made / "predbench_annotations/traffic4cast2021" / name).read_text())
        assert len(listed) == OPTIONS["days"][split]
        for item in listed:
            assert re.fullmatch(r"([A-Z]+)/training/2019-\d\d-\d\d_\1_8ch\.h5", item)
            assert item.startswith("MOSCOW/") == (split == "moscow")
        names += listed
    assert len(set(names)) == len(names)
    found = [path.relative_to(made / "traffic4cast2021").as_posix() for path in days(made)]
    assert sorted(names) == found


def test_a_day_does_not_depend_on_the_others(made: Path, tmp_path: Path) -> None:
    fewer = {**OPTIONS, "days": {"train": 1, "val": 1, "test": 1, "moscow": 1}}
    run_generator("traffic4cast", fewer, tmp_path / "raw")
    same = [
        path
        for path in days(tmp_path / "raw")
        if (made / path.relative_to(tmp_path / "raw")).is_file()
    ]
    assert len(same) >= 2
    for path in same:
        with h5py.File(path) as one, h5py.File(made / path.relative_to(tmp_path / "raw")) as two:
            assert np.array_equal(one["array"][:], two["array"][:])
