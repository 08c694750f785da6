"""Generate a synthetic version of BAIR robot pushing in the official file format.

Same as in the official data: the tar archive, its folders and file names, the TFRecord framing, the
SequenceExample with four features for each time (two pictures as raw RGB bytes, four actions, three
coordinates), values within similar ranges, features in no particular order, and two cameras.
Different: the scene (stp/fetch/tabletop.py), and the number and size of files, which are options.
"""

import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from stp.core.job import Report
from stp.core.options import build
from stp.fetch.tabletop import Camera, render, simulate
from stp.fetch.tfrecord_write import sequence_example, write_records

ARCHIVE = "bair/bair_robot_pushing_dataset_v0.tar"


@dataclass(frozen=True)
class BairOptions:
    """Options of the generator of synthetic BAIR.

    Attributes:
        train: number of trajectories in the training files (officially 43,264).
        test: number of trajectories in the test files (256).
        per_file: number of trajectories in one file (256).
        frames: number of frames of a trajectory (30).
        size: height and width of a frame (64).
        packed: whether to write one tar archive, as published, instead of files.
        seed: seed of all random numbers; a trajectory does not depend on how many trajectories are
            generated.
    """

    train: PositiveInt = 512
    test: PositiveInt = 256
    per_file: PositiveInt = 256
    frames: PositiveInt = 30
    size: Annotated[int, Field(ge=8)] = 64
    packed: bool = True
    seed: NonNegativeInt = 0


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write synthetic trajectories: ``bair/bair_robot_pushing_dataset_v0.tar``, or unpacked files.

    Args:
        out: folder of raw files, below which the files are written.
        options: values of `BairOptions` by name; those that are missing get their defaults.
        report: callback for the progress.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(BairOptions, options, "generator options")
    done, total = 0, chosen.train + chosen.test
    written: list[str] = []
    for number, folder in enumerate(("test", "train")):
        count = getattr(chosen, folder)
        for first in range(0, count, chosen.per_file):
            last = min(first + chosen.per_file, count) - 1
            # The name of a file counts to its full size, however many are in it.
            name = f"softmotion30_44k/{folder}/traj_{first}_to_{first + chosen.per_file - 1}"
            records = []
            for trajectory in range(first, last + 1):
                rng = np.random.default_rng([chosen.seed, number, trajectory])
                records.append(record(rng, chosen.frames, chosen.size))
                done += 1
                report("film trajectories", done, total)
            write_records(out / "bair" / f"{name}.tfrecords", records)
            written.append(f"{name}.tfrecords")
    if chosen.packed:
        _pack(out, written)


def record(rng: np.random.Generator, frames: int, size: int) -> bytes:
    """Simulate a trajectory, and encode it as a SequenceExample, as in the official files.

    Args:
        rng: generator of all random numbers.
        frames: number of frames.
        size: height and width of a frame, pixels.
    """
    motion = simulate(rng, frames, objects=int(rng.integers(3, 6)))
    main = render(motion, Camera(turn=0.0, tilt=0.35), size, size, rng)
    aux = render(motion, Camera(turn=0.6, tilt=0.5), size, size, rng)
    steps = np.diff(motion.gripper, axis=0, append=motion.gripper[-1:])
    features: dict[str, Any] = {}
    for t in range(frames):
        grip = [float(motion.gripper[t, 2] < 0.12)]
        features[f"{t}/image_main/encoded"] = [main[t].tobytes()]
        features[f"{t}/image_aux1/encoded"] = [aux[t].tobytes()]
        features[f"{t}/action"] = np.array([*steps[t], *grip], np.float32)
        features[f"{t}/endeffector_pos"] = motion.gripper[t].astype(np.float32)
    keys = rng.permutation(list(features))  # a protocol buffer keeps a map in no order
    return sequence_example({str(key): features[str(key)] for key in keys})


def _pack(out: Path, names: list[str]) -> None:
    """Move the files into a reproducible tar archive, folders first."""
    with tarfile.open(out / ARCHIVE, "w", format=tarfile.GNU_FORMAT) as archive:
        folders = {str(parent) for name in names for parent in Path(name).parents if parent.name}
        for folder in sorted(folders):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for name in names:
            path = out / "bair" / name
            content = path.read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
            path.unlink()
    for folder in sorted(folders, reverse=True):
        (out / "bair" / folder).rmdir()
