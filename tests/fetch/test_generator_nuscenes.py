"""The generated nuScenes pictures have the official names and times, the tables their fields."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stp.fetch.raw import run_generator

OPTIONS = {
    "logs": {"train": 2, "val": 1, "test": 1},
    "scenes": 2,
    "frames": 13,
    "height": 18,
    "width": 32,
}
NAME = re.compile(
    r"(samples|sweeps)/CAM_FRONT/(n\d{3}-\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d[+-]\d{4})"
    r"__CAM_FRONT__(\d{16})\.jpg"
)
TABLES = ("calibrated_sensor", "ego_pose", "log", "sample", "sample_data", "scene", "sensor")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("raw") / "made"
    run_generator("nuscenes", OPTIONS, out)
    return out


def table(root: Path, name: str) -> list[dict[str, Any]]:
    return json.loads((root / "nuscenes" / "v1.0-trainval" / f"{name}.json").read_text())


def listed(root: Path) -> dict[str, dict[str, list[str]]]:
    folder = root / "predbench_annotations" / "nuscenes"
    return {
        split: json.loads((folder / f"nuscenes_{split}.json").read_text())
        for split in ("val", "test")
    }


def test_lists_name_pictures_that_are_there(made: Path) -> None:
    lists = listed(made)
    assert [len(logs) for logs in lists.values()] == [1, 1]
    for logs in lists.values():
        for log, names in logs.items():
            assert len(names) == 26
            matches = [NAME.fullmatch(name) for name in names]
            assert all(match and match[2] == log for match in matches)
            assert all((made / "nuscenes" / name).is_file() for name in names)
            times = np.array([int(m[3]) for m in matches if m])
            steps = np.diff(times)
            # 12 steps of 0.05 or 0.1 s in a scene, about 12 frames a second, then a jump
            assert set(steps[:12].tolist()) == {50_000, 100_000} and steps[12] > 1_000_000
            assert 11 < 12e6 / steps[:12].sum() < 13
            # a key frame every half second
            keys = times[[m[1] == "samples" for m in matches if m]]
            assert np.diff(keys)[:2].tolist() == [500_000, 500_000]


@pytest.mark.sample_bytes
def test_names_and_steps_are_those_of_the_published_lists(raw_mirror: Path) -> None:
    for logs in listed(raw_mirror).values():
        for log, names in logs.items():
            matches = [NAME.fullmatch(name) for name in names]
            assert all(match and match[2] == log for match in matches)
            steps = np.diff([int(m[3]) for m in matches if m])
            usual = (np.abs(steps - 50_000) < 5000) | (np.abs(steps - 100_000) < 5000)
            assert usual.mean() > 0.97
            assert (steps > 1_000_000).any()


def test_tables_are_linked(made: Path) -> None:
    folder = made / "nuscenes" / "v1.0-trainval"
    assert sorted(path.stem for path in folder.iterdir()) == sorted(TABLES)
    tables = {name: table(made, name) for name in TABLES}
    tokens = {name: {entry["token"] for entry in entries} for name, entries in tables.items()}
    for name, entries in tables.items():
        assert len(tokens[name]) == len(entries)
        assert all(re.fullmatch("[0-9a-f]{32}", token) for token in tokens[name])
    assert [len(tables[name]) for name in ("log", "scene", "sample", "sample_data")] == [
        4,
        8,
        24,
        104,
    ]
    for data in tables["sample_data"]:
        assert data["sample_token"] in tokens["sample"]
        assert data["ego_pose_token"] in tokens["ego_pose"]
        assert data["calibrated_sensor_token"] in tokens["calibrated_sensor"]
        assert data["prev"] == "" or data["prev"] in tokens["sample_data"]
        assert data["next"] == "" or data["next"] in tokens["sample_data"]
        assert data["filename"].endswith(f"__{data['timestamp']}.jpg")
        assert data["is_key_frame"] == data["filename"].startswith("samples/")
        assert (made / "nuscenes" / data["filename"]).is_file()
    for sample in tables["sample"]:
        assert sample["scene_token"] in tokens["scene"]
    for scene in tables["scene"]:
        assert scene["log_token"] in tokens["log"]
        assert scene["first_sample_token"] in tokens["sample"]


@pytest.mark.sample_bytes
def test_tables_have_the_fields_of_real_ones(made: Path, raw_mirror: Path) -> None:
    """The real ones at hand are a reduced copy: some of their fields were dropped."""
    for name in TABLES:
        path = raw_mirror / "nuscenes" / "v1.0-test_schema_example" / f"{name}.json"
        if path.is_file():
            real, ours = json.loads(path.read_text())[0], table(made, name)[0]
            assert set(real) <= set(ours), name
            assert {k: type(v) for k, v in real.items()} == {k: type(ours[k]) for k in real}, name
