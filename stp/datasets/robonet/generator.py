"""Generate a synthetic version of RoboNet in the official format, with PredBench's split lists.

Same as in the official data: one HDF5 file per trajectory with the groups, data types and
attributes of official files, including those that files of some robots lack; MP4 files (H.264,
yuv420p, 10 frames per second) as arrays of bytes; different numbers of cameras, sizes and channel
orders for each robot; ``meta_data.pkl``, a gzipped table of the attributes of the files, as
PredBench reads it. Different: the scene (stp/fetch/tabletop.py), the values of states and of most
attributes, the number of files, and sizes, which can be reduced. The list of training files is
missing, as it was never released.
"""

import gzip
import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import h5py
import numpy as np
import pandas as pd
from pydantic import Field, NonNegativeInt, PositiveInt

from stp.core.job import Report
from stp.core.options import build, require
from stp.fetch.film_write import encode
from stp.fetch.tabletop import Camera, Motion, render, simulate

FPS = 10


class Robot(NamedTuple):
    """Properties that all files of one robot share.

    Attributes:
        stem: stem of the file names.
        robot: name of the robot in the metadata.
        cameras: number of cameras.
        frames: number of frames of a trajectory.
        height: height of a frame.
        width: width of a frame.
        order: order of the channels of the video, RGB or BGR.
        states: length of a state.
        actions: length of an action.
        bounds: whether the files have the bounds of the states; numbers are float64 in this case.
        joints: whether the files have joint positions and velocities.
        fingers: whether the files have finger sensors.
        orders: whether every camera has the attribute image_format; if not, only the first camera
            has it.
    """

    stem: str
    robot: str
    cameras: int
    frames: int
    height: int
    width: int
    order: str
    states: int
    actions: int
    bounds: bool
    joints: bool
    fingers: bool
    orders: bool = True


ROBOTS = {
    robot.stem: robot
    for robot in (
        Robot("berkeley_sawyer", "sawyer", 5, 31, 240, 320, "RGB", 5, 4, True, True, True),
        Robot("berkeley_widowx", "widowx", 3, 31, 240, 320, "RGB", 5, 4, True, True, False),
        Robot("google", "R3", 1, 20, 512, 640, "BGR", 5, 5, False, False, False),
        Robot("penn_baxter_left", "baxter", 3, 31, 240, 320, "RGB", 5, 4, True, True, True),
        Robot("penn_kuka", "kuka", 4, 31, 240, 320, "RGB", 5, 4, True, True, True),
        Robot("stanford_fetch", "fetch", 1, 15, 112, 112, "BGR", 3, 2, False, False, False),
        Robot("stanford_franka", "franka", 3, 31, 240, 320, "RGB", 5, 4, True, False, False, False),
    )
}


@dataclass(frozen=True)
class RobonetOptions:
    """Options of the generator of synthetic RoboNet.

    Attributes:
        robots: names of the robots.
        train: number of trajectories that are in no list, which are assigned to the robots in turn.
        val: number of trajectories in the validation list (officially 16,217).
        test: number of trajectories in the test list (256).
        shrink: factor by which pictures are smaller than the official ones.
        most_frames: maximum number of frames of a trajectory.
        most_cameras: maximum number of cameras of a trajectory.
        seed: seed of all random numbers.
    """

    robots: tuple[str, ...] = tuple(ROBOTS)
    train: PositiveInt = 56
    val: PositiveInt = 14
    test: PositiveInt = 14
    shrink: Annotated[int, Field(ge=1, le=8)] = 1
    most_frames: PositiveInt = 31
    most_cameras: PositiveInt = 5
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        ok = bool(self.robots) and set(self.robots) <= set(ROBOTS)
        require(ok, "robots", self.robots, f"some of {', '.join(ROBOTS)}")


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write trajectories, a table of them, and the lists of validation and test trajectories.

    - ``robonet/hdf5/*.hdf5``: a file for each trajectory.
    - ``robonet/hdf5/meta_data.pkl``: the table, with the attributes of each file.
    - ``predbench_annotations/robonet/robonet_val.json`` and ``robonet_test.json``: the lists, with
      names of files.

    Args:
        out: folder below which the files are written.
        options: values of `RobonetOptions` by name.
        report: function that receives the progress.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(RobonetOptions, options, "generator options")
    folder = out / "robonet" / "hdf5"
    folder.mkdir(parents=True)
    lists: dict[str, list[str]] = {"train": [], "val": [], "test": []}
    about = {}
    total = chosen.train + chosen.val + chosen.test
    for i in range(total):
        split = "test" if i < chosen.test else "val" if i < chosen.test + chosen.val else "train"
        robot = ROBOTS[chosen.robots[i % len(chosen.robots)]]
        robot = robot._replace(cameras=min(robot.cameras, chosen.most_cameras))
        rng = np.random.default_rng([chosen.seed, i])
        name = f"{robot.stem}_traj{i}.hdf5"
        lists[split].append(name)
        content = trajectory(robot, rng, chosen.shrink, chosen.most_frames)
        (folder / name).write_bytes(content)
        about[name] = {**_metadata_row(content), "sha256": hashlib.sha256(content).hexdigest()}
        report("film trajectories", i + 1, total)
    notes = out / "predbench_annotations" / "robonet"
    notes.mkdir(parents=True)
    for split in ("val", "test"):
        (notes / f"robonet_{split}.json").write_text(json.dumps(lists[split]))
    table = pd.DataFrame.from_dict(about, orient="index")
    buffer = io.BytesIO()
    table.to_pickle(buffer)
    with (folder / "meta_data.pkl").open("wb") as file:
        file.write(gzip.compress(buffer.getvalue(), mtime=0))


def trajectory(robot: Robot, rng: np.random.Generator, shrink: int, most_frames: int) -> bytes:
    """Make the HDF5 file of a trajectory, as bytes.

    Args:
        robot: properties of the robot's files.
        rng: generator of all random numbers.
        shrink: factor by which pictures are smaller than the official ones.
        most_frames: maximum number of frames.
    """
    frames = min(robot.frames, most_frames)
    # H.264 with halved colour needs even sizes.
    height, width = (max(16, n // shrink // 2 * 2) for n in (robot.height, robot.width))
    motion = simulate(rng, frames, objects=int(rng.integers(3, 6)))
    state, action = _states(motion, robot)
    kind = np.float64 if robot.bounds else np.float32
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", libver="earliest") as file:
        env = file.create_group("env")
        env.attrs["cam_encoding"] = "mp4"
        env.attrs["n_cams"] = np.int64(robot.cameras)
        for k in range(robot.cameras):
            pictures = render(motion, Camera() if k == 0 else Camera.draw(rng), height, width, rng)
            if robot.order == "BGR":
                pictures = pictures[..., ::-1]
            video = np.frombuffer(encode(pictures), np.uint8)
            data = env.create_dataset(f"cam{k}_video/frames", data=video)
            data.attrs["T"] = np.int64(frames)
            if robot.orders or k == 0:
                data.attrs["image_format"] = robot.order
            data.attrs["shape"] = np.array([height, width, 3])
        env.create_dataset("state", data=state.astype(kind))
        if robot.joints:
            env.create_dataset("qpos", data=rng.normal(0, 1, (frames, 7)))
            env.create_dataset("qvel", data=rng.normal(0, 0.1, (frames, 7)))
        if robot.bounds:
            env.create_dataset("high_bound", data=np.ones((frames, robot.states)))
            env.create_dataset("low_bound", data=np.zeros((frames, robot.states)))
        if robot.fingers:
            env.create_dataset("finger_sensors", data=np.zeros(frames))
        file["file_version"] = b"0.1.0"
        _metadata(file.create_group("metadata"), robot, frames)
        misc = file.create_group("misc")
        if robot.bounds:
            misc.create_dataset("traj_ok", data=True)
        file.create_group("policy").create_dataset("actions", data=action.astype(kind))
    return buffer.getvalue()


def _states(motion: Motion, robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """States (T, states), and actions (T - 1, actions): their differences."""
    full = np.zeros((len(motion.gripper), 5))
    full[:, :3] = motion.gripper
    full[:, 4] = motion.gripper[:, 2] < 0.12
    state = full[:, : robot.states]
    return state, np.diff(full, axis=0)[:, : robot.actions]


def _metadata(group: h5py.Group, robot: Robot, frames: int) -> None:
    text = {
        "action_space": "x,y,z,theta" if robot.bounds else "x,y",
        "background": "made up",
        "bin_insert": "none",
        "bin_type": "wooden_bin",
        "camera_configuration": "made up",
        "camera_type": "none",
        "gripper": "none",
        "policy_desc": "pushes objects at random",
        "primitives": "none",
        "robot": robot.robot,
    }
    for key, value in text.items():
        group.attrs[key] = value
    group.attrs["contains_annotation"] = False
    group.attrs["object_classes"] = np.array(["toys"], dtype=h5py.string_dtype())
    if robot.bounds:
        group.attrs["object_batch"] = "made up"
        group.attrs["environment_size"] = np.ones(robot.states)
        group.attrs["high_bound"] = np.ones(robot.states)
        group.attrs["low_bound"] = np.zeros(robot.states)
        group.attrs["term_t"] = np.int64(frames - 2)


def _metadata_row(content: bytes) -> dict[str, Any]:
    """The row of a file in meta_data.pkl."""
    with h5py.File(io.BytesIO(content), "r") as file:
        env = file["env"]
        video = env["cam0_video/frames"].attrs
        row = {
            "ncam": int(env.attrs["n_cams"]),
            "img_encoding": str(env.attrs["cam_encoding"]),
            "img_T": int(video["T"]),
            "image_format": str(video["image_format"]),
            "frame_dim": tuple(int(n) for n in video["shape"][:2]),
            "state_T": int(env["state"].shape[0]),
            "sdim": int(env["state"].shape[1]),
            "action_T": int(file["policy/actions"].shape[0]),
            "adim": int(file["policy/actions"].shape[1]),
            "robot": str(file["metadata"].attrs["robot"]),
        }
    return row
