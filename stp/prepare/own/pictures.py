"""Read sequences of PNG or JPEG files: a folder for each, with frame numbers in the file names."""

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import PositiveFloat

from stp.core.errors import StpError
from stp.core.options import require
from stp.data.raw_files import RawFiles
from stp.prepare.output import PIXELS
from stp.prepare.own.options import Common, RawContents, Recording, files_of
from stp.prepare.own.size import check_crop, fit
from stp.prepare.pictures import decode_picture

SUFFIXES = (".png", ".jpg", ".jpeg")
MODES: dict[int, Literal["L", "RGB"]] = {1: "L", 3: "RGB"}
GAPS = ("error", "cut", "ignore")


@dataclass(frozen=True, kw_only=True)
class PictureOptions(Common):
    """Options of the reader of the user's folders of pictures.

    Attributes:
        crop: crop before resizing: centre (the largest middle part with the aspect ratio of
            `shape`), or [top, left, height, width] in pixels; none by default.
        fps: frames per second.
        gaps: handling of gaps in the frame numbers: error; cut (windows do not cross gaps); or
            ignore (numbers only determine the order).
    """

    crop: Any = None
    fps: PositiveFloat | None = None
    gaps: str = "error"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_crop(self.crop)
        require(self.gaps in GAPS, "gaps", self.gaps, " or ".join(GAPS))


class Task(NamedTuple):
    """Some frames to decode: files of their pictures, and channels, size and crop of the result.

    Attributes:
        names: names of the raw files, in the order of the frames.
        channels: number of channels, 1 (grey) or 3 (RGB).
        height: height of a prepared frame, pixels.
        width: width of a prepared frame, pixels.
        crop: crop before resizing: "centre", [top, left, height, width] in pixels, or None.
    """

    names: list[str]
    channels: int
    height: int
    width: int
    crop: Any


def raw_contents(
    raw: RawFiles, options: PictureOptions, shape: tuple[int, int, int], _: Path
) -> RawContents:
    """Find the folders of pictures, and describe each as a recording, sorted by frame number.

    Args:
        raw: the raw files.
        options: options of the reader.
        shape: required number of channels, 1 (grey) or 3 (RGB), height and width of frames.
        _: folder for unpacked files, which other kinds of data need.

    Raises:
        StpError: there are no pictures, or frame numbers are missing or occur twice.
    """
    channels, height, width = shape
    require(channels in MODES, "shape", list(shape), "1 (grey) or 3 (RGB) channels")
    names = files_of(raw.names, "pictures", SUFFIXES)
    folders: dict[str, list[str]] = {}
    for name in names:
        folders.setdefault(str(PurePosixPath(name).parent), []).append(name)
    recordings, files = [], []
    for folder, inside in sorted(folders.items()):
        ordered, cuts = in_order(inside, options.gaps)
        recordings.append(Recording(folder, folder, len(ordered), cuts))
        files.append(ordered)

    def task(number: int, first: int, stop: int) -> Task:
        return Task(files[number][first:stop], *shape, options.crop)

    return RawContents(
        recordings,
        task,
        decode,
        np.uint8,
        channels * height * width,
        {**PIXELS, "fps": options.fps},
    )


def in_order(names: list[str], gaps: str) -> tuple[list[str], list[int]]:
    """Sort the pictures of a folder by frame number, the last number in each name.

    Args:
        names: names of the files.
        gaps: handling of gaps in the numbers: "error" to refuse them, "cut" to report them, or
            "ignore".

    Returns:
        the sorted names; and with "cut", the indices of the names that follow a gap.

    Raises:
        StpError: a name has no number, two have the same, numbers are times with decimals, or
            numbers have gaps that `gaps` does not allow.
    """
    numbers: list[int] = []
    of_names: dict[str, list[int]] = {}
    texts: set[str] = set()
    before: dict[str, str] = {}
    for name in names:
        stem = PurePosixPath(name).stem
        digits = re.findall(r"\d+", stem)
        if not digits:
            raise StpError(
                f"{name}: no frame number in the file name",
                expected="names such as 0001.png or frame_12.jpg",
                remedy="rename it, or leave it out of the raw files",
            )
        numbers.append(int(digits[-1]))
        of_names[name] = [int(number) for number in digits]
        texts.add(re.sub(r"\d+", "0", stem))
        if re.search(r"\d\.\d+\D*$", stem):  # v2.0001, or 12.5 seconds
            before.setdefault(digits[-2], name)
    if len(before) > 1:
        raise StpError(
            f"{' and '.join(list(before.values())[:2])}: times with decimals",
            expected="whole frame numbers, the last number in each name",
            remedy="rename the pictures in the order of their times: 0001.png, 0002.png ...",
        )
    order = sorted(range(len(names)), key=numbers.__getitem__)
    ordered = [names[i] for i in order]
    steps = [numbers[b] - numbers[a] for a, b in pairwise(order)]
    if 0 in steps:
        at = steps.index(0)
        raise StpError(
            f"{ordered[at]} and {ordered[at + 1]}: the same frame number",
            remedy="remove one of them, or put each sequence into its own folder",
        )
    by_all_numbers = sorted(names, key=of_names.__getitem__)
    if len(texts) == 1 and by_all_numbers != ordered:  # dates and times
        at = next(i for i, (a, b) in enumerate(zip(ordered, by_all_numbers, strict=True)) if a != b)
        raise StpError(
            f"{by_all_numbers[at]} and {ordered[at]}: the last numbers in the names order the "
            "pictures otherwise than all numbers do",
            expected="one number that counts the frames, the last in each name",
            remedy="rename the pictures in the order of their times: 0001.png, 0002.png ...",
        )
    least = min(steps, default=0)
    cuts = [i for i, step in enumerate(steps, start=1) if step != least]
    if cuts and gaps == "error":
        at = cuts[0]
        raise StpError(
            f"{ordered[at - 1]}, {ordered[at]}: frame numbers jump by {steps[at - 1]}",
            expected=f"steps of {least}, as elsewhere in this folder",
            remedy="add the missing pictures; or set gaps to cut (no clip reaches across) or to "
            "ignore (numbers give only the order)",
        )
    return ordered, [] if gaps == "ignore" else cuts


def decode(raw: RawFiles, task: Task) -> np.ndarray:
    """Decode some frames of a recording, each from one picture.

    Args:
        raw: the raw files.
        task: names of the pictures, and channels, size and crop of the frames.

    Returns:
        frames in the order of the names, uint8 (T, C, H, W).

    Raises:
        StpError: a picture is damaged, or its size differs from the previous one.
    """
    frames = np.empty((len(task.names), task.channels, task.height, task.width), np.uint8)
    size: tuple[int, ...] | None = None
    for frame, name in zip(frames, task.names, strict=True):
        path = raw.find(name)
        picture = decode_picture(path.read_bytes(), str(path), MODES[task.channels])
        if size not in (None, picture.shape):
            raise StpError(
                f"{path}: {picture.shape[0]} x {picture.shape[1]} pixels",
                expected=f"{size[0]} x {size[1]}, as the pictures before",
                remedy="give all pictures of a folder the same size",
            )
        size = picture.shape
        frame[:] = fit(picture, task.height, task.width, task.crop, str(path))
    return frames
