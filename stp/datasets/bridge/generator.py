"""Generate a synthetic version of BridgeData in the official layout.

Same as in the official data: the zip archive ``demos_8_17.zip`` and the folders in it, from
institution to camera; JPEG pictures ``im_<t>.jpg`` from 0; ``obs_dict.pkl``, ``policy_out.pkl``,
``agent_data.pkl`` and ``lang.txt`` beside them; and PredBench's lists, with their faults: views of
the same trajectory in the training and test lists, and views that are too short. Different: the
scene (stp/fetch/tabletop.py), most keys of the pickled dictionaries, and perhaps the compression of
the archive, which is unknown.

With ``layout: rlds``, TFRecord files of TensorFlow Datasets are written instead, with the features
of official files, including a missing camera with black pictures.
"""

import json
import pickle
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from stp.core.job import Report
from stp.core.options import build, require, whole
from stp.fetch.film_write import encode_picture
from stp.fetch.tabletop import Camera, render, simulate
from stp.fetch.tfrecord_write import example, write_records

ARCHIVE = "bridge/demos_8_17.zip"
TOP = "raw/bridge_data_v1"  # in the archive
KNOWN = ("toykitchen1", "toykitchen2", "toysink2_bww")
TASKS = ("put_carrot_on_plate", "flip_pot_upright_in_sink", "turn_lever_vertical_to_front")
NEW_SCENE, NEW_TASK = "toysink5", "flip_cup_upright"
_OLD = (1980, 1, 1, 0, 0, 0)  # time of the files in the archive, so that equal files are equal


@dataclass(frozen=True)
class BridgeOptions:
    """Options of the generator of synthetic BridgeData.

    Attributes:
        layout: layout of the files: raw (pictures and PredBench's lists) or rlds (TFRecord files).
        trajectories: number of trajectories in known scenes with known tasks; for rlds, number of
            episodes.
        elsewhere: for raw, number of trajectories in each of the three subsets with new scenes or
            tasks.
        cameras: number of cameras that film a trajectory.
        frames: number of frames of most trajectories; official ones have 3 to 39.
        long_frames: for raw, number of frames of every third trajectory; only these are in the
            lists of test subsets with longer clips.
        height: height of a picture in pixels; official pictures have 480, those of rlds 64.
        width: width of a picture in pixels; official pictures have 640, those of rlds 64.
        packed: for raw, whether to write one zip archive, as published, instead of its files.
        seed: seed of all random numbers.
    """

    layout: Literal["raw", "rlds"] = "raw"
    trajectories: PositiveInt = 60
    elsewhere: NonNegativeInt = 6
    cameras: Annotated[int, Field(ge=1, le=4)] = 3
    frames: PositiveInt = 25
    long_frames: int = 38
    height: Annotated[int, Field(ge=16)] = 480
    width: Annotated[int, Field(ge=16)] = 640
    packed: bool = True
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        ok = whole(self.long_frames, self.frames)
        require(ok, "long_frames", self.long_frames, f"a whole number from {self.frames}")


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write synthetic trajectories of BridgeData in one of its two layouts.

    The layout ``raw`` has the archive ``bridge/demos_8_17.zip``, or its files below
    ``bridge/bridge_data_v1``; and PredBench's lists of clips in
    ``predbench_annotations/bridgedata``. The layout ``rlds`` has a TFRecord file below
    ``bridgedata/rlds``, and no lists.

    Args:
        out: folder below which the files are written.
        options: values of `BridgeOptions` by name.
        report: function that receives the progress.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(BridgeOptions, options, "generator options")
    if chosen.layout == "rlds":
        _generate_rlds(out, chosen, report)
        return
    folder = out / "bridge"
    folder.mkdir(parents=True)
    kinds = ["known"] * chosen.trajectories
    for kind in ("original_scene_new_task", "new_scene_original_task", "new_scene_new_task"):
        kinds += [kind] * chosen.elsewhere
    all_views: list[tuple[str, str, int]] = []  # kind, view, frames
    # Stored: JPEG files do not become smaller.
    archive = zipfile.ZipFile(out / ARCHIVE, "w", zipfile.ZIP_STORED) if chosen.packed else None
    for i, kind in enumerate(kinds):
        rng = np.random.default_rng([chosen.seed, i])
        frames = chosen.long_frames if i % 3 == 0 else chosen.frames
        if i % 20 == 7:  # a few are too short for any clip
            frames = min(frames, 8)
        path_inside = _trajectory_folder(kind, i)
        files, views = trajectory(rng, chosen, frames)
        for name, content in files.items():
            if archive is not None:
                archive.writestr(zipfile.ZipInfo(f"{TOP}/{path_inside}/{name}", _OLD), content)
            else:
                path = folder / "bridge_data_v1" / path_inside / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        all_views += [(kind, f"{path_inside}/{view}", frames) for view in views]
        report("film trajectories", i + 1, len(kinds))
    if archive is not None:
        archive.close()
    notes = out / "predbench_annotations" / "bridgedata"
    notes.mkdir(parents=True)
    for file, listed in _lists(all_views, chosen).items():
        (notes / file).write_text(json.dumps(listed))


def trajectory(
    rng: np.random.Generator, chosen: BridgeOptions, frames: int
) -> tuple[dict[str, bytes], list[str]]:
    """Make a synthetic trajectory: a robot arm, filmed by several cameras.

    Args:
        rng: generator of all random numbers.
        chosen: options of the generator.
        frames: number of frames.

    Returns:
        content of each file by its path in the folder of the trajectory; and the folder of
        pictures of each camera, such as "images0".
    """
    motion = simulate(rng, frames, objects=int(rng.integers(3, 6)))
    views = [f"images{k}" for k in range(chosen.cameras)]
    files = {}
    for k, view in enumerate(views):
        camera = Camera() if k == 0 else Camera.draw(rng)
        pictures = render(motion, camera, chosen.height, chosen.width, rng)
        for t, picture in enumerate(pictures):
            files[f"{view}/im_{t}.jpg"] = encode_picture(picture, "JPEG", quality=90)
    state = np.zeros((frames, 7))
    state[:, :3] = motion.gripper
    files["obs_dict.pkl"] = _pickled({"state": state, "time_stamp": np.arange(frames) / 5})
    steps = np.diff(state, axis=0)
    files["policy_out.pkl"] = _pickled([{"actions": step} for step in steps])
    files["agent_data.pkl"] = _pickled({"traj_ok": True, "term_t": frames - 1})
    files["lang.txt"] = b"push the objects about\nconfidence: 1.0\n"
    return files, views


def _pickled(value: Any) -> bytes:
    return pickle.dumps(value, protocol=4)


def _trajectory_folder(kind: str, i: int) -> str:
    """The folder of a trajectory, from the institution on."""
    institution, scene, task = "berkeley", KNOWN[i % len(KNOWN)], TASKS[i % len(TASKS)]
    if kind in ("new_scene_original_task", "new_scene_new_task"):
        institution, scene = "upenn", NEW_SCENE
    if kind in ("original_scene_new_task", "new_scene_new_task"):
        task = NEW_TASK
    # One session, and its folder, has ten trajectories.
    date = f"2021-{1 + i // 10 % 12:02d}-{1 + i // 120 % 28:02d}_10-00-00"
    return f"{institution}/{scene}/{task}/{date}/raw/traj_group0/traj{i % 10}"


def _lists(views: list[tuple[str, str, int]], chosen: BridgeOptions) -> dict[str, dict[str, int]]:
    """Make PredBench's lists; views are assigned separately to splits, so trajectories leak."""
    rng = np.random.default_rng([chosen.seed, 1 << 20])
    known_views = [(view, frames) for kind, view, frames in views if kind == "known"]
    order = rng.permutation(len(known_views))
    # A sixth of the trajectories is for the test only, so that a strict subset exists.
    held = {view.rsplit("/", 1)[0] for view, _ in known_views[: len(known_views) // 6]}
    free = [known_views[i] for i in order if known_views[i][0].rsplit("/", 1)[0] not in held]
    tenth = max(1, len(free) // 8)
    test = dict(free[:tenth]) | {v: n for v, n in known_views if v.rsplit("/", 1)[0] in held}
    extrapolation = dict([(v, n) for v, n in free[2 * tenth :] if n == chosen.long_frames][:tenth])
    lists = {
        "bridgedata_train.json": {v: n for v, n in free[2 * tenth :] if v not in extrapolation},
        "bridgedata_val.json": dict(free[tenth : 2 * tenth]),
        "bridgedata_test.json": test,
        "bridgedata_extrapolation.json": extrapolation,
        "bridgedata_rbs.json": {v: n for v, n in test.items() if n == chosen.long_frames},
    }
    for kind, file in (
        ("original_scene_new_task", "ori_scene_new_task.json"),
        ("new_scene_original_task", "new_scene_ori_task.json"),
        ("new_scene_new_task", "new_scene_new_task.json"),
    ):
        lists[file] = {view: frames for other, view, frames in views if other == kind}
    return lists


def _generate_rlds(out: Path, chosen: BridgeOptions, report: Report) -> None:
    folder = out / "bridgedata" / "rlds" / "bridge_dataset" / "1.0.0"
    episodes = []
    for i in range(chosen.trajectories):
        rng = np.random.default_rng([chosen.seed, i])
        episodes.append(example(_episode(rng, chosen, i)))
        report("film episodes", i + 1, chosen.trajectories)
    write_records(folder / "bridge_dataset-train.tfrecord-00000-of-00001", episodes)


def _episode(rng: np.random.Generator, chosen: BridgeOptions, i: int) -> dict[str, Any]:
    frames, size = chosen.frames, (chosen.height, chosen.width)
    motion = simulate(rng, frames, objects=int(rng.integers(3, 6)))
    features: dict[str, Any] = {}
    for k in range(4):
        if k < chosen.cameras:
            pictures = render(motion, Camera() if k == 0 else Camera.draw(rng), *size, rng)
        else:
            pictures = np.zeros((frames, *size, 3), np.uint8)
        features[f"steps/observation/image_{k}"] = [
            encode_picture(picture, "JPEG", quality=90) for picture in pictures
        ]
        # The flags of the recorded sample are all false, whatever cameras there are.
        features[f"episode_metadata/has_image_{k}"] = np.zeros(1, np.int64)
    state = np.zeros((frames, 7), np.float32)
    state[:, :3] = motion.gripper
    features["steps/observation/state"] = state.ravel()
    features["steps/action"] = np.diff(state, axis=0, append=state[-1:]).ravel()
    features["steps/language_instruction"] = [b"push the objects about"] * frames
    features["steps/language_embedding"] = np.zeros(512 * frames, np.float32)
    first, last = np.zeros((2, frames), np.int64)
    first[0] = last[-1] = 1
    features["steps/is_first"] = first
    features["steps/is_last"] = features["steps/is_terminal"] = last
    features["steps/reward"] = last.astype(np.float32)
    features["steps/discount"] = np.ones(frames, np.float32)
    task = TASKS[i % len(TASKS)]
    path = f"/made/up/bridge_data_v1/berkeley/{KNOWN[i % len(KNOWN)]}/{task}/train/out.npy"
    features["episode_metadata/file_path"] = [path.encode()]
    features["episode_metadata/episode_id"] = np.array([i // 3], np.int64)
    features["episode_metadata/has_language"] = np.ones(1, np.int64)
    return features
