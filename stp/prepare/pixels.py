"""Inputs and frames of readers whose frames are pictures: bytes, brightness 0..1."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from stp.core.errors import StpError
from stp.core.job import Job
from stp.core.options import build, require
from stp.data.raw_files import RawFiles
from stp.prepare.frames import Decode, Piece, Written, write_frames
from stp.prepare.output import PIXELS, attributes

Options = TypeVar("Options")


class Inputs(NamedTuple, Generic[Options]):
    """What a recipe asks of a reader.

    Attributes:
        options: options of the reader.
        raw: the raw files of the release.
        height: height of a prepared frame, pixels.
        width: width of a prepared frame, pixels.
        span: frames in a window, context + horizon.
    """

    options: Options
    raw: RawFiles
    height: int
    width: int
    span: int


def read_inputs(job: Job, kind: type[Options], channels: int) -> Inputs[Options]:
    """Read the recipe of a job.

    Args:
        job: job of the stage that prepares data.
        kind: dataclass of the reader's options.
        channels: number of channels of a frame; 3 for RGB, 1 for grey.

    Raises:
        StpError: an option or the lock file is wrong, or the shape has other channels.
    """
    recipe = job.recipe
    options = build(kind, recipe["options"], "prepare options")
    shape = recipe["shape"]
    require(shape[0] == channels, "shape", shape, f"[{channels}, height, width]")
    raw = RawFiles(job.inputs["raw"], job.runtime["raw_roots"])
    return Inputs(options, raw, shape[1], shape[2], recipe["context"] + recipe["horizon"])


def write_pixels(
    job: Job, raw: RawFiles, pieces: Sequence[Piece], decode: Decode, unit: str, **attrs: Any
) -> Written:
    """Write ``frames.zarr`` of uint8 frames; see `write_frames`.

    Args:
        job: job of the stage that prepares data.
        raw: the raw files.
        pieces: in the order of the store.
        decode: gives the frames of a piece.
        unit: what pieces are, in the plural, for progress.
        attrs: further attributes of the Zarr group.

    Raises:
        StpError: a piece cannot be decoded.
    """
    return write_frames(
        job,
        raw,
        pieces,
        decode,
        attrs=attributes(job.recipe, raw, **PIXELS, **attrs),
        dtype=np.uint8,
        unit=unit,
    )


def require_numbers(
    expected: Mapping[str, int] | None, splits: Iterable[str], unit: str, option: str
) -> None:
    """Refuse raw files that hold another number of videos than configured.

    Args:
        expected: number of videos of each split; None for any number.
        splits: the split of each video.
        unit: what videos are called, in the plural.
        option: key of the reader's options that has the numbers.

    Raises:
        StpError: the numbers of a split differ.
    """
    counts = Counter(splits)
    for split, number in (expected or {}).items():
        if counts[split] != number:
            raise StpError(
                f"{counts[split]} {unit} in the {split} files",
                expected=f"{number}",
                remedy=f"fetch all files, or set the option {option} to use a part of them",
            )
