"""The generated CityScapes package has the official names and numbering, and streets move by."""

import re
import zipfile
from collections import Counter
from itertools import groupby
from pathlib import Path

import pytest

from stp.fetch.raw import run_generator

OPTIONS = {"snippets": {"train": 4, "val": 2, "test": 5}, "height": 32, "width": 64}
NAME = re.compile(
    r"leftImg8bit_sequence/(train|val|test)/([a-z]+)/([a-z]+)_(\d{6})_(\d{6})_leftImg8bit\.png"
)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("raw") / "made"
    run_generator("cityscapes", OPTIONS, out)
    files = [path for path in out.rglob("*") if path.is_file()]
    assert files == [out / "cityscapes" / "leftImg8bit_sequence_trainvaltest.zip"]
    return files[0]


def test_names_and_numbers_are_in_the_official_style(package: Path) -> None:
    with zipfile.ZipFile(package) as archive:
        matches = [NAME.fullmatch(name) for name in archive.namelist()]
    assert all(match and match[2] == match[3] for match in matches)
    keys = sorted((m[1], m[2], m[4], int(m[5])) for m in matches if m)
    assert Counter(key[0] for key in keys) == {"train": 120, "val": 60, "test": 150}
    # 30 consecutive numbers; not from 0 in cities that were recorded in one go
    runs = [
        [key for _, key in run]
        for _, run in groupby(enumerate(keys), lambda pair: (*pair[1][:3], pair[1][3] - pair[0]))
    ]
    assert {len(run) for run in runs} == {30}
    firsts = {run[0][3] for run in runs}
    assert 0 in firsts and max(firsts) > 0
    cities = {split: {key[1] for key in keys if key[0] == split} for split in OPTIONS["snippets"]}
    assert not cities["train"] & cities["test"] and not cities["val"] & cities["test"]
