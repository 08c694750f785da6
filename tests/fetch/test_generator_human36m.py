"""The generated pictures of Human3.6M have the names and sizes of the official ones, and move."""

import io
import re
import tarfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from stp.datasets.human36m.generator import Human36mOptions, film
from stp.fetch.raw import run_generator

OPTIONS = {
    "actors": [1, 9],
    "performances": ["Walking", "Sitting_1"],
    "cameras": 2,
    "frames": 171,
    "size": [60, 64],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("raw") / "made"
    run_generator("human36m", OPTIONS, out)
    return out


def pictures(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {entry.name: archive.extractfile(entry).read() for entry in archive}


def test_names_and_pictures_are_like_the_official_ones(made: Path) -> None:
    assert sorted(p.name for p in (made / "human36m").iterdir()) == ["S1.tar", "S9.tar"]
    for actor in (1, 9):
        numbers = defaultdict(list)
        for name, content in pictures(made / f"human36m/S{actor}.tar").items():
            match = re.fullmatch(
                rf"images/(S{actor}_[A-Za-z]+(?:_\d)?\.\d{{8}})_(\d{{6}})\.jpg", name
            )
            numbers[match[1]].append(int(match[2]))
            with Image.open(io.BytesIO(content)) as picture:
                assert (picture.format, picture.mode, picture.size) == ("JPEG", "RGB", (64, 60))
        assert set(numbers) == {
            f"S{actor}_{performance}.{camera}"
            for performance in ("Walking", "Sitting_1")
            for camera in ("54138969", "55011271")
        }
        # every fifth frame, counted from 1, as the starts in PredBench's lists
        assert all(found == list(range(1, 172, 5)) for found in numbers.values())


def test_lists_name_clips_that_are_there(made: Path) -> None:
    there = {name for actor in (1, 9) for name in pictures(made / f"human36m/S{actor}.tar")}
    clips = {}
    for split in ("train", "val", "test"):
        text = (made / f"predbench_annotations/human/human_{split}.txt").read_text()
        clips[split] = [line.split(",") for line in text.splitlines()]
        for prefix, start, stop in clips[split]:
            assert int(stop) - int(start) == 70
            for i in range(8):
                assert f"{prefix}{int(start) + 5 * i:06d}.jpg" in there
    every = [tuple(clip) for split in clips.values() for clip in split]
    assert len(every) == len(set(every))
    starts = defaultdict(list)
    for prefix, start, _ in every:
        starts[prefix].append(int(start))
    for found in starts.values():
        assert set(np.diff(sorted(found))) <= {25}


def test_official_sizes_unless_told_otherwise() -> None:
    options = Human36mOptions(frames=71)
    for camera, size in (("54138969", (1000, 1002)), ("55011271", (1000, 1000))):
        height = size[1]
        _, picture = next(film(options, 1, "Walking", camera, (height, 1000)))
        assert picture.size == size


def test_files_or_archives_have_the_same_pictures(made: Path, tmp_path: Path) -> None:
    run_generator("human36m", {**OPTIONS, "actors": [1], "packed": False}, tmp_path / "raw")
    packed = pictures(made / "human36m/S1.tar")
    files = {f"images/{p.name}": p for p in (tmp_path / "raw/human36m/images").iterdir()}
    assert set(files) == set(packed)
    # A video does not depend on which others are made.
    assert all(path.read_bytes() == packed[name] for name, path in files.items())
