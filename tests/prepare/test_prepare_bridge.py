"""BridgeData from small pictures made here, PredBench's lists, and real RLDS episodes."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.datasets.bridge import reader as bridge
from stp.datasets.bridge.reader import FOLDER, LISTS, count, make_clips, read_lists, run, views
from stp.fetch.film_write import encode_picture
from stp.fetch.tfrecord_write import example, write_records
from stp.plan.checked_config import CONFIG_FOLDER, read_yaml
from stp.prepare.planned_counts import Lists

SHAPE = [3, 8, 8]
JOB = ("bridge", SHAPE, {})
KITCHEN = "berkeley/toykitchen1/put_pot/2021-07-16_19-02-52/raw/traj_group0"
SINK = "upenn/toysink5/flip_cup/2021-06-16_18-51-37/raw/traj_group0"
VIEWS = {  # view: (frames, grey of the first one)
    f"{KITCHEN}/traj0/images0": (4, 10),
    f"{KITCHEN}/traj0/images1": (4, 20),
    f"{KITCHEN}/traj1/images0": (7, 30),
    f"{KITCHEN}/traj2/images0": (7, 40),
    f"{KITCHEN}/traj3/images0": (1, 50),  # too short
    f"{KITCHEN}/traj4/images2": (6, 60),
    f"{KITCHEN}/traj10/images0": (3, 70),
    f"{SINK}/traj0/images0": (3, 80),
    f"{SINK}/traj0/images1": (5, 90),
}
NAMES = list(VIEWS)
DEALT = {  # split: numbers of views
    "train": [0, 3, 4],
    "val": [6],
    "test": [1, 2, 5],
    "extrapolation": [2, 8],
    "robustness": [2],
    "original_scene_new_task": [7],
    "new_scene_original_task": [7],
    "new_scene_new_task": [8],
}


def jpeg(grey, size=8):
    picture = np.full((size, size, 3), (grey, grey + 40, grey + 80), np.uint8)
    return encode_picture(picture, "JPEG", quality=100, subsampling=0)


def files(top=""):
    return {
        f"{top}{view}/im_{t}.jpg": jpeg(first + t)
        for view, (frames, first) in VIEWS.items()
        for t in range(frames)
    }


def write_lists(root, dealt=None):
    (root / FOLDER).mkdir(parents=True, exist_ok=True)
    for split, numbers in (dealt or DEALT).items():
        listed = {NAMES[n]: VIEWS[NAMES[n]][0] for n in numbers}
        (root / FOLDER / LISTS[split]).write_text(json.dumps(listed))


def pack(path, contents):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, one in contents.items():
            archive.writestr(name, one)


@pytest.fixture
def raw(tmp_path, monkeypatch):
    monkeypatch.setattr(bridge, "SPANS", {"extrapolation": 5, "robustness": 6})
    root = tmp_path / "raw"
    write_lists(root)
    others = {
        "raw/bridge_data_v1/berkeley/lmdb/data.mdb": b"x",
        f"raw/bridge_data_v1/{KITCHEN}/traj0/obs_dict.pkl": b"x",
        f"raw/bridge_data_v1/{KITCHEN}/traj99/images0/im_0.jpg": b"in no list",
    }
    pack(root / "bridge" / "demos_8_17.zip", {**others, **files("raw/bridge_data_v1/")})
    return root


def rows(job):
    return [
        (row.split, NAMES.index(row.clip), row.start, row.length)
        for row in Prepared(job.out).index.itertuples()
    ]


def test_lists_become_clips(make_job, raw):
    job = make_job(*JOB)
    extras = run(job)
    # views in the order of the lists: 0, 3 | 6 | 1, 2, 5 | 8 | 7; number 4 is too short
    start = {0: 0, 3: 4, 6: 11, 1: 14, 2: 18, 5: 25, 8: 31, 7: 36}
    assert rows(job) == [
        ("train", 0, start[0], 4),
        ("train", 3, start[3], 7),
        ("val", 6, start[6], 3),
        # windows of 3: offsets (4 - 3 + 1) // 2 = 1, (7 - 3 + 1) // 2 = 2, (6 - 3 + 1) // 2 = 2
        ("test", 1, start[1] + 1, 3),
        ("test", 2, start[2] + 2, 3),
        ("test", 5, start[5] + 2, 3),
        # of trajectory 0 another view is for training
        ("strict", 2, start[2] + 2, 3),
        ("strict", 5, start[5] + 2, 3),
        ("extrapolation", 2, start[2] + 1, 5),
        ("extrapolation", 8, start[8], 5),
        ("robustness", 2, start[2] + 1, 6),
        ("original_scene_new_task", 7, start[7], 3),
        ("new_scene_original_task", 7, start[7], 3),
        ("new_scene_new_task", 8, start[8] + 1, 3),
    ]
    assert extras["views"] == 8
    data = Prepared(job.out)
    clusters = data.index.set_index("clip")["cluster"].to_dict()
    assert clusters[NAMES[0]] == clusters[NAMES[1]] == f"{KITCHEN}/traj0"
    frames = data.frames.read(0, len(data.frames)).astype(int)
    for n, first in start.items():
        length, grey = VIEWS[NAMES[n]]
        for t in range(length):
            expected = np.array([grey + t, grey + t + 40, grey + t + 80]).reshape(3, 1, 1)
            assert np.abs(frames[first + t] - expected).max() <= 2, (n, t)  # JPEG loses a little


def test_more_frames_than_listed(make_job, raw):
    contents = {**files(), f"{NAMES[3]}/im_7.jpg": jpeg(0)}
    pack(raw / "bridge" / "demos_8_17.zip", contents)
    job = make_job(*JOB)
    assert run(job)["views with more frames than listed"] == 1
    assert ("train", 3, 4, 7) in rows(job)


def test_views_that_are_missing(make_job, raw):
    gone = {name: one for name, one in files().items() if not name.startswith(NAMES[1] + "/")}
    pack(raw / "bridge" / "demos_8_17.zip", gone)
    with pytest.raises(StpError, match=r"^1 of 8 .*traj0/images1"):
        run(make_job(*JOB))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", r"bridgedata_val\.json"),
        ("[]", r"bridgedata_val\.json"),
        ('{"some/folder": 3}', "'some/folder': 3"),
        (json.dumps({NAMES[6]: 0}), "images0': 0"),
        (json.dumps({NAMES[6]: "3"}), "images0': '3'"),
        (json.dumps({NAMES[0]: 3}), "traj0/images0: 3 .* 4 "),
        (json.dumps({NAMES[6]: 30}), r"27 of 30 .*im_3\.jpg"),
        ("{}", "val"),
    ],
)
def test_lists_that_are_wrong(make_job, raw, text, message):
    (raw / FOLDER / LISTS["val"]).write_text(text)
    with pytest.raises(StpError, match=message):
        run(make_job(*JOB))


# --- RLDS

RLDS = {"layout": "rlds", "episodes": {"val": 1, "test": 1}}
RLDS_JOB = ("bridge", SHAPE, RLDS)


def episode(n, steps=5, path=b"/x/bridge_data_v1/berkeley/sink/put/val/out.npy", **change):
    features = {
        f"steps/observation/image_{k}": [jpeg(20 * n + 3 * k + t) for t in range(steps)]
        for k in range(3)
    }
    black = encode_picture(np.zeros((8, 8, 3), np.uint8), "JPEG")
    features["steps/observation/image_3"] = [black] * steps
    features["episode_metadata/file_path"] = [path]
    features["episode_metadata/episode_id"] = np.array([n])
    return example({**features, **{f"steps/observation/{k}": v for k, v in change.items()}})


def write_episodes(root, episodes, name="train"):
    write_records(root / "rlds" / f"bridge_dataset-{name}.tfrecord-00000-of-00001", episodes)


@pytest.fixture
def rlds(tmp_path):
    root = tmp_path / "episodes"
    write_episodes(root, [episode(0), episode(1, steps=6), episode(2, steps=2), episode(3)])
    return root


def test_episodes_become_clips(make_job, rlds):
    job = make_job(*RLDS_JOB, root=rlds)
    extras = run(job)
    # three episodes are long enough, each with cameras 0, 1 and 2; camera 3 is black
    assert extras["clips"] == {"train": 3, "val": 3, "test": 3}
    assert extras["clusters"] == {"train": 1, "val": 1, "test": 1}
    assert extras["episodes shorter than 3 steps"] == 1
    assert extras["views without pictures"] == 4
    data = Prepared(job.out)
    frames = data.frames.read(0, len(data.frames)).astype(int)
    assert len(frames) == 3 * (5 + 6 + 5)
    for row in data.index.itertuples():
        source, n, camera = row.clip.split("/")[-3:]
        n, k = int(n), int(camera[-1])
        steps = 6 if n == 1 else 5
        # 3 of 5 frames: offset (5 - 3 + 1) // 2 = 1; of 6: 2
        first = 0 if row.split == "train" else 1 + (steps == 6)
        assert row.length == (steps if row.split == "train" else 3)
        assert abs(frames[row.start, 0, 4, 4] - (20 * n + 3 * k + first)) <= 2
        assert source == "out.npy"


def test_an_episode_is_called_by_its_place_in_the_data(make_job, rlds):
    paths = [b"/x/bridge_data_v1/a/out.npy", b"/bridge_data_v1/bridge_data_v2/b/out.npy", b"/c.npy"]
    write_episodes(rlds, [episode(n, path=path) for n, path in enumerate(paths)])
    job = make_job(*RLDS_JOB, root=rlds)
    run(job)
    found = {clip.rsplit("/", 2)[0] for clip in Prepared(job.out).index["clip"]}
    assert found == {"1/a/out.npy", "2/b/out.npy", "/c.npy"}


def test_the_same_episode_in_two_files(make_job, rlds):
    write_episodes(rlds, [episode(7), episode(1)], "val")
    with pytest.raises(StpError, match=r"episode .*out\.npy/1 .*train.*val"):
        run(make_job(*RLDS_JOB, root=rlds))


@pytest.mark.parametrize(
    ("episodes", "message"),
    [
        ([episode(0), episode(1)], "^2 "),
        ([b"x"], "record 0"),
        ([example({})], "episode_metadata/file_path"),
        ([episode(0, image_1=[])], "camera 1"),
        ([episode(0, image_1=[b"no JPEG"] * 5)], "image_1"),
        (
            [episode(n, image_1=[jpeg(99)] * 4) for n in range(3)],
            r"4 .* camera 1(.|\n)* 5",
        ),
        (
            [episode(n, image_0=[jpeg(99)] * 3 + [jpeg(99)[:-90]] * 2) for n in range(3)],
            r"image_0\[3\]",
        ),
    ],
)
def test_episodes_that_are_wrong(make_job, tmp_path, episodes, message):
    write_episodes(tmp_path / "wrong", episodes)
    with pytest.raises(StpError, match=message):
        run(make_job(*RLDS_JOB, root=tmp_path / "wrong"))


def test_no_episodes_at_all(make_job, raw):
    with pytest.raises(StpError, match="TFRecord"):
        run(make_job(*RLDS_JOB))


# --- PredBench's lists and real episodes


@pytest.mark.sample_bytes
def test_published_lists(raw_mirror):
    declared = read_yaml(CONFIG_FOLDER / "datasets" / "bridge.yaml")
    roots = Lists([raw_mirror])
    planned = count({"options": {}, "context": 2, "horizon": 10}, roots)
    clips = list(planned.clips)
    splits = pd.Series([clip.split for clip in clips]).value_counts().to_dict()
    # Table 1 has validation and test swapped.
    assert splits == {
        **{"train": 31767, "val": 3971, "test": 3970, "extrapolation": 2618, "robustness": 815},
        **{"original_scene_new_task": 250, "new_scene_original_task": 318},
        **{"new_scene_new_task": 645, "strict": 124},
    }
    for split in ("train", "val", "test"):
        assert declared["counts"][split] == splits[split]
    for name, subset in declared["subsets"].items():
        assert subset["clips"] == splits[name]
    by_split = {split: {clip.clip for clip in clips if clip.split == split} for split in splits}
    assert by_split["robustness"] < by_split["test"]
    assert not by_split["extrapolation"] & (by_split["train"] | by_split["val"] | by_split["test"])
    lists = read_lists(roots)
    stored = views(lists, 12)
    assert sum(view.frames for view in stored) == declared["counts"]["frames"]
    spans = {clip.split: clip.length for clip in clips if clip.split != "train"}
    assert spans["robustness"] == 36 and spans["extrapolation"] == 32
    assert {spans[s] for s in spans if s not in ("robustness", "extrapolation")} == {12}


@pytest.mark.sample_bytes
def test_published_leakage(raw_mirror):
    """Other views of most test trajectories are in the training list."""
    lists = read_lists(Lists([raw_mirror]))
    of = {s: {name.rsplit("/", 1)[0] for name in listed} for s, listed in lists.items()}
    assert (len(of["val"]), len(of["val"] & of["train"])) == (3514, 3369)
    assert (len(of["test"]), len(of["test"] & of["train"])) == (3501, 3336)
    assert (len(of["extrapolation"]), len(of["extrapolation"] & of["train"])) == (2116, 1934)
    for new in ("new_scene_new_task", "new_scene_original_task", "original_scene_new_task"):
        assert not of[new] & of["train"]
    clips = make_clips(lists, 12)
    strict = {clip.cluster for clip in clips if clip.split == "strict"}
    assert len(strict) == 92 and not strict & (of["train"] | of["val"])


@pytest.mark.sample_bytes
def test_real_episodes(make_job, raw_mirror):
    release = read_yaml(CONFIG_FOLDER / "datasets" / "bridge.yaml")["releases"]["sample"]
    names = [file["path"] for file in release["files"]]
    arguments = ("bridge", [3, 64, 64], release["prepare"])
    job = make_job(*arguments, context=2, horizon=8, root=raw_mirror, names=names)
    extras = run(job)
    assert extras["clips"] == {"train": 45, "val": 15, "test": 15}
    assert extras["clusters"] == {"train": 15, "val": 5, "test": 5}
    assert extras["views without pictures"] == 25  # camera 3
    data = Prepared(job.out)
    assert data.frames.shape == (750, 3, 64, 64)
    assert set(data.index["length"]) == {10}
    frames = data.frames.read(0, 750).reshape(75, 10, 3, 64, 64).astype(float)
    assert (frames.reshape(75, -1).std(axis=1) > 15).all()
    assert 0.3 < np.abs(np.diff(frames, axis=1)).mean() < 10  # the arm moves, the camera does not
    # The second file holds the same episodes.
    both = [*names, names[0].replace("train", "val")]
    with pytest.raises(StpError, match=names[0].rpartition("/")[2]):
        run(make_job(*arguments, context=2, horizon=8, root=raw_mirror, names=both))
