"""The generated BridgeData archive has the official folders, and lists with the official faults."""

import io
import json
import pickle
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from test_generator_bair import split_records, walk

from stp.fetch.raw import run_generator

OPTIONS = {
    **{"trajectories": 9, "elsewhere": 1, "cameras": 2, "frames": 12, "long_frames": 37},
    **{"height": 24, "width": 32},
}
VIEW = re.compile(
    r"(berkeley|upenn)/\w+/\w+/\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d/raw/traj_group0/traj\d+/images[0-3]"
)
FILES = {
    "bridgedata_train.json",
    "bridgedata_val.json",
    "bridgedata_test.json",
    "bridgedata_extrapolation.json",
    "bridgedata_rbs.json",
    "ori_scene_new_task.json",
    "new_scene_ori_task.json",
    "new_scene_new_task.json",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("raw") / "made"
    run_generator("bridge", OPTIONS, out)
    return out


@pytest.fixture(scope="module")
def lists(made: Path) -> dict[str, dict[str, int]]:
    folder = made / "predbench_annotations" / "bridgedata"
    return {path.name: json.loads(path.read_text()) for path in folder.iterdir()}


def contents(made: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(made / "bridge" / "demos_8_17.zip") as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_archive_holds_what_the_lists_say(made: Path, lists: dict[str, dict[str, int]]) -> None:
    assert set(lists) == FILES
    found = contents(made)
    for listed in lists.values():
        assert listed
        for view, frames in listed.items():
            assert VIEW.fullmatch(view), view
            top = f"raw/bridge_data_v1/{view}"
            assert {n for n in found if n.startswith(f"{top}/")} == {
                f"{top}/im_{t}.jpg" for t in range(frames)
            }
    folders = {name.rsplit("/", 1)[0] for name in found if name.endswith(".txt")}
    assert len(folders) == 9 + 3
    for folder in folders:
        beside = {n.removeprefix(f"{folder}/") for n in found if n.startswith(f"{folder}/")}
        plain = {name for name in beside if "/" not in name}
        assert plain == {"obs_dict.pkl", "policy_out.pkl", "agent_data.pkl", "lang.txt"}
        # written here, a moment ago: safe to unpickle
        state = pickle.loads(found[f"{folder}/obs_dict.pkl"])["state"]
        assert f"images0/im_{len(state) - 1}.jpg" in beside
        assert f"images0/im_{len(state)}.jpg" not in beside


def test_pictures_are_jpeg_files(made: Path) -> None:
    found = contents(made)
    names = sorted(name for name in found if "/images0/im_" in name)[:12]
    for name in names:
        with Image.open(io.BytesIO(found[name])) as picture:
            assert (picture.format, picture.size, picture.mode) == ("JPEG", (32, 24), "RGB")


def test_the_lists_have_the_official_faults(lists: dict[str, dict[str, int]]) -> None:
    of = {name: {view.rsplit("/", 1)[0] for view in listed} for name, listed in lists.items()}
    train, val, test = (f"bridgedata_{split}.json" for split in ("train", "val", "test"))
    assert not set(lists[train]) & (set(lists[val]) | set(lists[test]))
    assert not set(lists[val]) & set(lists[test])
    # views of one trajectory are in several lists, but not of each
    assert of[test] & of[train] and of[test] - of[train] - of[val]
    assert set(lists["bridgedata_rbs.json"]) < set(lists[test])
    assert set(lists["bridgedata_rbs.json"].values()) == {37}
    assert not set(lists["bridgedata_extrapolation.json"]) & {*lists[train], *lists[val]}
    assert min(n for listed in lists.values() for n in listed.values()) < 12
    known = {view.split("/")[1] for view in lists[train]}, {v.split("/")[2] for v in lists[train]}
    for name, new_scene, new_task in (
        ("ori_scene_new_task.json", False, True),
        ("new_scene_ori_task.json", True, False),
        ("new_scene_new_task.json", True, True),
    ):
        scenes = {view.split("/")[1] for view in lists[name]}
        tasks = {view.split("/")[2] for view in lists[name]}
        assert not scenes & known[0] if new_scene else scenes <= known[0]
        assert not tasks & known[1] if new_task else tasks <= known[1]


@pytest.mark.sample_bytes
def test_view_names_are_like_the_official_ones(raw_mirror: Path) -> None:
    folder = raw_mirror / "predbench_annotations" / "bridgedata"
    assert {path.name for path in folder.iterdir()} == FILES
    # a few trajectories have a fifth camera
    loose = re.compile(VIEW.pattern.replace(r"\w+/\w+", r"[\w-]+/[^/]+").replace("[0-3]", "[0-4]"))
    for path in folder.iterdir():
        strange = [view for view in json.loads(path.read_text()) if not loose.fullmatch(view)]
        assert not strange, strange[:3]


def test_unpacked_files_have_the_same_bytes(tmp_path: Path) -> None:
    few = {**OPTIONS, "trajectories": 2, "elsewhere": 1}
    run_generator("bridge", {**few, "packed": False}, tmp_path / "raw")
    run_generator("bridge", few, tmp_path / "packed")
    folder = tmp_path / "raw" / "bridge"
    plain = {
        f"raw/{p.relative_to(folder).as_posix()}": p.read_bytes()
        for p in folder.rglob("*")
        if p.is_file()
    }
    assert plain == contents(tmp_path / "packed")


# --- RLDS


def features(data: bytes) -> dict[str, tuple[int, int, bytes]]:
    """{key: (kind of list, number of values or bytes, the first value)} of an Example."""

    found = {}
    ((_, content),) = walk(data)
    for _, entry in walk(content):
        parts = dict(walk(entry))
        ((kind, values),) = walk(parts[2])
        ones = [value for _, value in walk(values)]
        count = len(ones) if kind == 1 else len(ones[0]) // (4 if kind == 2 else 1)
        found[parts[1].decode()] = (kind, count, ones[0])
    return found


RLDS = "bridgedata/rlds/bridge_dataset/1.0.0/bridge_dataset-train.tfrecord-00000-of-00001"


@pytest.fixture(scope="module")
def episode(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, int, bytes]]:
    out = tmp_path_factory.mktemp("raw") / "rlds"
    options = {"layout": "rlds", "trajectories": 2, "frames": 10, "height": 64, "width": 64}
    run_generator("bridge", options, out)
    assert [p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()] == [RLDS]
    return features(split_records((out / RLDS).read_bytes())[0])


def test_an_episode(episode: dict[str, tuple[int, int, bytes]]) -> None:
    for k in range(4):
        kind, count, first = episode[f"steps/observation/image_{k}"]
        assert (kind, count) == (1, 10)
        with Image.open(io.BytesIO(first)) as picture:
            assert (picture.format, picture.size) == ("JPEG", (64, 64))
            assert (np.asarray(picture).max() == 0) == (k == 3)  # the missing camera is black


@pytest.mark.sample_bytes
def test_an_episode_is_built_like_a_real_one(
    episode: dict[str, tuple[int, int, bytes]], raw_mirror: Path
) -> None:
    real = features(split_records((raw_mirror / RLDS).read_bytes())[0])
    assert {key: value[:2] for key, value in episode.items()} == {
        key: value[:2] for key, value in real.items()
    }
