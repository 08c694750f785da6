"""BAIR robot pushing: 43,520 trajectories of a Sawyer arm, 30 frames of 64 x 64 pixels each.

Ebert, Finn, Lee and Levine 2017, "Self-supervised visual planning with temporal skip connections".
A tar archive of TFRecord files, ``softmotion30_44k/{train,test}/traj_<a>_to_<b>.tfrecords``; each
record is a SequenceExample whose context has, for every time t, ``<t>/image_main/encoded`` and
``<t>/image_aux1/encoded`` (raw RGB bytes, not JPEG), ``<t>/action`` and ``<t>/endeffector_pos``.
Only the main camera is used. Records are read one at a time, without unpacking.

PredBench splits the 43,264 training trajectories into 38,937 and 4,327, but does not say how. Here,
trajectories are assigned by their names, with the seed 0.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from pydantic import PositiveInt

from stp.core.errors import RawFileError, StpError
from stp.core.job import Extras, Job, Recipe
from stp.core.options import build, require
from stp.data.raw_files import RawFiles
from stp.prepare.frames import Piece
from stp.prepare.members import Member, find, member_location
from stp.prepare.output import write_index
from stp.prepare.pixels import read_inputs, require_numbers, write_pixels
from stp.prepare.planned_counts import Lists, Planned
from stp.prepare.random_order import deal_by_name
from stp.prepare.resize import bilinear
from stp.prepare.tfrecord import Record, read_record, records, required_feature, sequence_example
from stp.prepare.trajectories import RANDOM_WINDOWS, clips_of

FILES = r"softmotion30_44k/(train|test)/traj_(\d+)_to_(\d+)\.tfrecords"


@dataclass(frozen=True)
class BairOptions:
    """Options of the reader of BAIR.

    Attributes:
        frames: number of frames of a trajectory (30 in the official files).
        raw_size: height and width of a raw frame (64 in the official files).
        val: number of trajectories of the training files for the validation split (PredBench, Table
            1: 4,327).
        trajectories: required numbers of trajectories in the training and test files, ``{train: n,
            test: n}``; null for any number. Official numbers are from TensorFlow Datasets
            (bair_robot_pushing_small).
    """

    frames: PositiveInt = 30
    raw_size: PositiveInt = 64
    val: PositiveInt = 4327
    trajectories: dict[str, PositiveInt] | None = field(
        default_factory=lambda: {"train": 43264, "test": 256}
    )

    def __post_init__(self) -> None:
        numbers = self.trajectories
        ok = numbers is None or set(numbers) == {"train", "test"}
        require(ok, "trajectories", numbers, "{train: n, test: n} or null")


class Trajectory(NamedTuple):
    """A trajectory, which is one record of a TFRecord file.

    Attributes:
        folder: folder of the file, train or test.
        name: name such as "train/traj_0_to_255/017".
        member: the TFRecord file.
        record: location of the record in the raw file (the tar archive).
    """

    folder: str
    name: str
    member: Member
    record: Record


def trajectories_of(raw: RawFiles) -> list[Trajectory]:
    """Find all trajectories, in the order of their numbers.

    Raises:
        StpError: there are no trajectories, or a file is damaged or in a zip archive.
    """
    files = find(raw, FILES)
    trajectories = []
    for folder, first, last in sorted(files, key=lambda key: (key[0], int(key[1]), int(key[2]))):
        member = files[folder, first, last]
        if member.file.endswith(".zip"):
            raise StpError(
                f"{member_location(raw, member)}: records cannot be read inside a zip archive",
                expected="the official tar archive, or its files",
                remedy="unpack the zip archive",
            )
        size = None if member.inside is None else member.bytes
        path = raw.find(member.file)
        located = records(path, member_location(raw, member), start=member.offset, size=size)
        for number, record in enumerate(located):
            name = f"{folder}/traj_{first}_to_{last}/{number:03d}"
            trajectories.append(Trajectory(folder, name, member, record))
    if not trajectories:
        raise StpError(
            "no trajectory among the raw files of BAIR",
            expected="softmotion30_44k/{train,test}/traj_<a>_to_<b>.tfrecords, in a tar or not",
            remedy="fetch bair_robot_pushing_dataset_v0.tar",
        )
    return trajectories


def run(job: Job) -> Extras:
    """Write the frames (``frames.zarr``) and the clips (``index.parquet``) of BAIR.

    Returns:
        facts for the receipt (record of the preparation), such as numbers of clips.

    Raises:
        StpError: an option or a raw file is wrong, or trajectories are missing.
    """
    options, raw, height, width, span = read_inputs(job, BairOptions, channels=3)
    require(options.frames >= span, "frames", options.frames, f"at least context + horizon, {span}")
    trajectories = trajectories_of(raw)
    folders = (t.folder for t in trajectories)
    require_numbers(options.trajectories, folders, "trajectories", "trajectories")
    splits = split_trajectories([t.name for t in trajectories if t.folder == "train"], options)
    pieces = [
        Piece(t.name, options.frames, (t, options, height, width), t.record.bytes)
        for t in trajectories
    ]
    written = write_pixels(job, raw, pieces, decode_trajectory, "trajectories", **RANDOM_WINDOWS)
    clips = clips_of(
        ((splits.get(t.name, "test"), t.name, options.frames, t.name) for t in trajectories), span
    )
    return {**write_index(job.out, clips), **written.extras}


def split_trajectories(names: list[str], options: BairOptions) -> dict[str, str]:
    """Divide the trajectories of the training files into training and validation.

    The division is random, but depends only on the names of the trajectories.

    Args:
        names: names of all trajectories in the training files.
        options: `val`, the number of trajectories for validation.

    Returns:
        "train" or "val" by name of the trajectory.

    Raises:
        StpError: there are too few trajectories.
    """
    if len(names) <= options.val:
        raise StpError(
            f"{len(names)} trajectories in the training files",
            expected=f"more than the {options.val} for validation",
            remedy="fetch all files, or lower the option val",
        )
    counts = [("val", options.val), ("train", len(names) - options.val)]
    return deal_by_name(names, counts)


def count(recipe: Recipe, raw: Lists) -> Planned:
    """Count the clips that `run` will write, from the configured numbers of trajectories alone.

    Used before the data are downloaded, to compare the numbers with the published ones.

    Args:
        recipe: recipe of the preparation, with ``options``.
        raw: not used, since no list is read; `count` of every reader has it.

    Returns:
        the clips, or their numbers by split, or the reason why a number is not known yet.

    Raises:
        StpError: an option is wrong.
    """
    options = build(BairOptions, recipe["options"], "prepare options")
    if options.trajectories is None:
        reason = "the number of trajectories is known when they are read"
        return Planned(unknown=dict.fromkeys(("train", "val", "test"), reason))
    train, test = options.trajectories["train"], options.trajectories["test"]
    return Planned(numbers={"train": train - options.val, "val": options.val, "test": test})


def decode_trajectory(raw: RawFiles, task: tuple[Trajectory, BairOptions, int, int]) -> np.ndarray:
    """Read the frames of a trajectory, uint8 (T, 3, H, W).

    Args:
        raw: the raw files.
        task: the trajectory, the options, and height and width of the result, pixels.

    Raises:
        StpError: the record is damaged, or its number or size of frames differs from the options.
    """
    trajectory, options, height, width = task
    name = f"{member_location(raw, trajectory.member)}: {trajectory.name}"
    path = raw.find(trajectory.member.file)
    context, _ = sequence_example(read_record(path, trajectory.record, name), name)
    side = options.raw_size
    frames = np.empty((options.frames, side, side, 3), np.uint8)
    for t in range(options.frames):
        key = f"{t}/image_main/encoded"
        values = required_feature(context, key, name).bytes()
        sizes = [len(value) for value in values]
        if sizes != [side * side * 3]:
            raise RawFileError(
                name,
                f"{key} holds {sizes or 'no'} bytes",
                expected=f"{side * side * 3} bytes: raw_size {side} x {side} pixels, raw RGB",
            )
        frames[t] = np.frombuffer(values[0], np.uint8).reshape(side, side, 3)
    if f"{options.frames}/image_main/encoded" in context:
        raise RawFileError(name, f"more than {options.frames} frames", expected="the option frames")
    return bilinear(frames.transpose(0, 3, 1, 2), height, width)
