"""The generated KITTI drives have the official archives, folders, names and time stamps."""

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from stp.datasets.kitti.generator import DRIVES
from stp.fetch.raw import run_generator

OPTIONS = {"frames": {"train": [9, 4], "val": [5], "test": [12]}, "height": 24, "width": 80}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("raw") / "made"
    run_generator("kitti", OPTIONS, out)
    return out


def lists(root: Path) -> dict[str, dict[str, int]]:
    folder = root / "predbench_annotations" / "KITTI"
    return {
        split: json.loads((folder / f"kitti_{split}.json").read_text())
        for split in ("train", "val", "test")
    }


def test_archives_hold_what_the_lists_say(made: Path) -> None:
    listed = lists(made)
    assert {split: list(drives.values()) for split, drives in listed.items()} == OPTIONS["frames"]
    found = {path.name for path in (made / "kitti").iterdir()}
    assert found == {f"{drive}.zip" for drives in listed.values() for drive in drives}
    for drives in listed.values():
        for drive, frames in drives.items():
            assert re.fullmatch(r"\d{4}_\d\d_\d\d_drive_\d{4}_sync", drive)
            folder = f"{drive[:10]}/{drive}/image_02"
            with zipfile.ZipFile(made / "kitti" / f"{drive}.zip") as archive:
                assert archive.testzip() is None
                assert sorted(archive.namelist()) == sorted(
                    [f"{folder}/timestamps.txt"]
                    + [f"{folder}/data/{n:010d}.png" for n in range(frames)]
                )


def test_time_stamps_are_in_nanoseconds_and_a_tenth_of_a_second_apart(made: Path) -> None:
    drive = f"{DRIVES['test'][0]}_sync"
    with zipfile.ZipFile(made / "kitti" / f"{drive}.zip") as archive:
        text = archive.read(f"{drive[:10]}/{drive}/image_02/timestamps.txt").decode("ascii")
    lines = text.splitlines()
    assert len(lines) == 12 and text.endswith("\n")
    assert all(re.fullmatch(r"2011-09-26 \d\d:\d\d:\d\d\.\d{9}", line) for line in lines)
    seconds = np.diff(np.array([line.replace(" ", "T") for line in lines], "datetime64[ns]"))
    assert np.abs(seconds / np.timedelta64(1, "s") - 0.1033).max() < 0.002


@pytest.mark.sample_bytes
def test_drives_are_those_of_the_published_lists(raw_mirror: Path) -> None:
    published = lists(raw_mirror)
    for split, drives in DRIVES.items():
        assert {f"{drive}_sync" for drive in drives} <= set(published[split])


def test_a_drive_does_not_depend_on_the_others(made: Path, tmp_path: Path) -> None:
    few = {**OPTIONS, "frames": {"train": [9], "val": [5], "test": [12]}}
    run_generator("kitti", few, tmp_path / "again")
    for path in sorted((tmp_path / "again" / "kitti").iterdir()):
        assert path.read_bytes() == (made / "kitti" / path.name).read_bytes()
