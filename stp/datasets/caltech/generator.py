"""Generate a synthetic version of the Caltech Pedestrian videos in Norpix .seq files.

The file format is the one that Piotr Dollar's toolbox reads and writes (videos/seqReaderPlugin.m):
a header of 1024 bytes, then JPEG pictures with their lengths and times, with or without 8 empty
bytes after each. Annotations (.vbb) are not generated. Pictures are smaller than the official 640 x
480 by default.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from stp.core.job import Report
from stp.core.options import build, require
from stp.fetch.film_write import encode_picture
from stp.fetch.scenery import Street

HEADER_BYTES, FPS = 1024, 30
_JPEG = 102
_FIRST = 1_213_000_000  # seconds since 1970: June 2008


@dataclass(frozen=True)
class CaltechOptions:
    """Options of the generator of synthetic Caltech Pedestrian.

    Attributes:
        sets: numbers of the sets to generate; 6-10 are the official test sets.
        videos: number of videos of each set.
        frames: number of frames of each video (officially about 1,840).
        footer: number of bytes after each picture, 8 (its time) or 16 (the time, then zeros).
        height: height of the pictures, officially 480.
        width: width of the pictures, officially 640.
        seed: seed of all random numbers; a video does not depend on which others are generated.
    """

    sets: tuple[Annotated[int, Field(ge=0, le=10)], ...] = (6, 7, 8)
    videos: PositiveInt = 2
    frames: PositiveInt = 140
    footer: Literal[8, 16] = 16
    height: Annotated[int, Field(ge=8)] = 90
    width: Annotated[int, Field(ge=8)] = 120
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        ok = 0 < len(set(self.sets)) == len(self.sets)
        require(ok, "sets", self.sets, "different ones, one at least")


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write the videos, ``caltech/setNN/VNNN.seq`` (NN, NNN: numbers of the set and the video).

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(CaltechOptions, options, "generator options")
    names = [(number, video) for number in sorted(chosen.sets) for video in range(chosen.videos)]
    for done, (number, video) in enumerate(names, start=1):
        rng = np.random.default_rng([chosen.seed, number, video])
        path = out / "caltech" / f"set{number:02d}" / f"V{video:03d}.seq"
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_video(path, chosen, rng)
        report("videos", done, len(names))


def header(height: int, width: int, frames: int) -> bytes:
    """Encode the header of a file, the 1024 bytes before the first frame."""
    content = bytearray(HEADER_BYTES)
    struct.pack_into("<I", content, 0, 0xFEED)
    content[4:24] = "Norpix seq".encode("utf-16-le")
    struct.pack_into("<ii", content, 28, 3, HEADER_BYTES)
    numbers = (width, height, 24, 8, width * height * 3, _JPEG, frames, 0, 0)
    struct.pack_into("<9I", content, 548, *numbers)
    struct.pack_into("<d", content, 584, float(FPS))
    return bytes(content)


def footer(microseconds: int, length: int) -> bytes:
    """Encode the bytes after a picture: its time, and zeros up to `length` bytes."""
    seconds, rest = divmod(microseconds, 10**6)
    return struct.pack("<IHH", seconds, *divmod(rest, 1000)).ljust(length, b"\0")


def _write_video(path: Path, options: CaltechOptions, rng: np.random.Generator) -> None:
    street, speed = Street(rng), float(rng.uniform(3, 12))
    first = (_FIRST + int(rng.integers(0, 86_400))) * 10**6
    with path.open("wb") as file:
        file.write(header(options.height, options.width, options.frames))
        for n in range(options.frames):
            at = n / FPS
            values = street.picture(speed * at, at, options.height, options.width)
            picture = encode_picture(values, "JPEG", quality=80)
            file.write(struct.pack("<I", 4 + len(picture)) + picture)
            file.write(footer(first + n * 10**6 // FPS, options.footer))
