"""Read inputs and write frames for readers of pictures: uint8 values for brightness 0..1."""

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
    """Inputs of a reader, from the recipe of a job.

    Attributes:
        options: options of the reader.
        raw: the raw files of the release.
        height: height of a prepared frame, pixels.
        width: width of a prepared frame, pixels.
        span: number of frames in a window, context + horizon.
    """

    options: Options
    raw: RawFiles
    height: int
    width: int
    span: int


def read_inputs(job: Job, kind: type[Options], channels: int) -> Inputs[Options]:
    """Read from the recipe of a job what all readers of pictures need.

    Args:
        job: job of the stage that prepares data.
        kind: dataclass of the reader's options.
        channels: number of channels of a frame; 3 for RGB, 1 for grey.

    Raises:
        StpError: an option or the lock file is wrong, or the shape has another number of channels.
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
    """Write ``frames.zarr`` with uint8 frames, whose values 0..255 mean brightness 0..1.

    Args:
        job: job of the stage that prepares data.
        raw: the raw files.
        pieces: pieces, in the order of the store.
        decode: function that returns the frames of a piece.
        unit: noun for pieces in the plural, for progress.
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
    """Refuse raw files if the number of videos differs from the configured one.

    Args:
        expected: number of videos of each split; None for any number.
        splits: the split of each video.
        unit: noun for videos in the plural.
        option: key of the expected numbers in the reader's options.

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
