"""KITTI raw data: drives around Karlsruhe, the left colour camera, 1242 x 375 at 10 Hz.

Geiger, Lenz, Stiller and Urtasun 2013, "Vision meets robotics: the KITTI dataset". Each drive is
an archive ``<drive>_sync.zip`` with the pictures of four cameras; of these only

    <date>/<date>_drive_NNNN_sync/image_02/{data/NNNNNNNNNN.png, timestamps.txt}

are read. PredBench's lists state drives for training, validation and test, and their numbers of
frames. Windows and preprocessing are those of predbench/datasets/kitti.py and
configs/_base_/datasets/kitti.py. The layout ``odometry`` reads a short grey sequence instead.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import NonNegativeInt, PositiveInt

from stp.core.errors import RawFileError, StpError
from stp.core.job import Extras, Job, Recipe
from stp.core.json_files import read_json
from stp.core.options import build, require, whole
from stp.data.raw_files import RawFiles
from stp.prepare.driving import (
    RECORDING,
    WITHOUT_GAPS,
    Drive,
    Size,
    check_times,
    count_gaps,
    cut_windows,
    require_clusters,
    require_crop,
    write_drives,
)
from stp.prepare.members import Member, find, member_location, read
from stp.prepare.output import SPLITS, Clip, write_index
from stp.prepare.pictures import read_pictures, resize_and_crop
from stp.prepare.pixels import read_inputs
from stp.prepare.planned_counts import Lists, Planned

LIST = "predbench_annotations/KITTI/kitti_{}.json"
LISTED = "a JSON object {drive: number of frames}"
DRIVE = r"(\d{4}_\d\d_\d\d)/(\1_drive_\d{4}_sync)/image_02/"
TIMESTAMP = re.compile(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,9})?", re.ASCII)
FPS = 10
GAP_S = 0.25
"""Longest time step in seconds that is not a gap; test windows without gaps are the subset
``without_gaps``."""
FOLDER = "kitti/odometry_seq1/image_0"
"""Folder of the layout odometry, with pictures NNNNNN.png."""


@dataclass(frozen=True)
class KittiOptions:
    """Options of the reader of KITTI.

    Attributes:
        layout: raw (the drives) or odometry (one folder of pictures).
        resize: height and width to which pictures are resized by linear interpolation before the
            centre is cropped; 128 x 424 in configs/_base_/datasets/kitti.py, which keeps the aspect
            ratio.
        strides: number of frames between the starts of windows, by split; from the same file.
        frames: for odometry, first frame of each split, and the frame after its last.
        clusters: which windows are one cluster (statistically dependent): all of a drive
            (recording; 6 in the test, too few for intervals), or those of a block of a drive, such
            as block-60s.
    """

    layout: Literal["raw", "odometry"] = "raw"
    resize: Size = (128, 424)
    strides: dict[str, PositiveInt] = field(
        default_factory=lambda: {"train": 4, "val": 1, "test": 1}
    )
    frames: dict[str, tuple[NonNegativeInt, NonNegativeInt]] = field(default_factory=dict)
    clusters: str = RECORDING

    def __post_init__(self) -> None:
        require(set(self.strides) == set(SPLITS), "strides", self.strides, ", ".join(SPLITS))
        require_clusters(self.clusters)
        if self.layout == "odometry":
            ok = set(self.frames) == set(SPLITS)
            require(ok, "frames", self.frames, "{train: [first, stop], val: [], test: []}")
            for split, (first, stop) in self.frames.items():
                require(
                    first < stop, f"frames.{split}", [first, stop], "[first, stop], first < stop"
                )


def read_lists(find_list: Callable[[str], Path]) -> list[Drive]:
    """Read PredBench's lists of drives: name and number of frames of each, but no times.

    Drives are in the order train, val, test, within a split in the order of its list.

    Args:
        find_list: function that finds a raw file by its name.

    Raises:
        StpError: a list is missing or damaged, or a drive is in two lists.
    """
    drives: list[Drive] = []
    for split in SPLITS:
        path = find_list(LIST.format(split))
        listed = read_json(path, dict, LISTED, error=RawFileError)
        if not all(whole(n, 1) for n in listed.values()):
            raise RawFileError(path, "a number of frames is wrong", expected=LISTED)
        drives += [Drive(split, name, length) for name, length in listed.items()]
    names = [drive.name for drive in drives]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise RawFileError(LIST.format("*"), f"{twice} is in two lists")
    return drives


def run(job: Job) -> Extras:
    """Write the frames (``frames.zarr``) and the clips (``index.parquet``) of KITTI.

    Returns:
        facts for the receipt (record of the preparation), such as numbers of clips.

    Raises:
        StpError: an option or a raw file is wrong, or drives or frames are missing.
    """
    options, raw, height, width, span = read_inputs(job, KittiOptions, channels=3)
    require_crop(options.resize, height, width)
    drives, members = (_raw_drives if options.layout == "raw" else _odometry)(raw, options)
    written = write_drives(
        job,
        raw,
        [(d, members[d.name], [member.bytes for member in members[d.name]]) for d in drives],
        partial(decode_pictures, resize=options.resize, crop=(height, width)),
        fps=FPS,
        clusters=options.clusters,
    )
    return {
        **write_index(job.out, _cut_drives(drives, options, span)),
        **written.extras,
        "drives": len(drives),
        f"gaps of more than {GAP_S} s": count_gaps(drives, GAP_S),
    }


def count(recipe: Recipe, raw: Lists) -> Planned:
    """Count the clips that `run` will write, from PredBench's lists of drives, without pictures.

    Used before the data are downloaded, to compare the numbers with the published ones.

    Args:
        recipe: recipe of the preparation, with ``options``, ``context`` and ``horizon``.
        raw: finds PredBench's lists of drives among the raw files.

    Returns:
        the clips, or their numbers by split, or the reason why a number is not known yet.

    Raises:
        StpError: an option or a list is wrong, or a list is missing.
    """
    options = build(KittiOptions, recipe["options"], "prepare options")
    span = recipe["context"] + recipe["horizon"]
    if options.layout == "raw":
        unknown = {WITHOUT_GAPS: "needs the time stamps of the drives"}
        return Planned(_cut_drives(read_lists(raw.find), options, span), unknown=unknown)
    return Planned(_cut_drives(_parts(options), options, span))


def _cut_drives(drives: list[Drive], options: KittiOptions, span: int) -> list[Clip]:
    return cut_windows(
        drives,
        options.strides,
        span,
        fps=FPS,
        gap_s=GAP_S,
        clusters=options.clusters,
    )


def decode_pictures(
    raw: RawFiles, members: list[Member], resize: tuple[int, int], crop: tuple[int, int]
) -> np.ndarray:
    """Decode frames of a drive, uint8 (T, 3, *crop); grey pictures give three equal channels.

    Args:
        raw: the raw files.
        members: files of the frames, in order.
        resize: height and width before the crop, pixels.
        crop: height and width of the result, pixels.

    Raises:
        StpError: a picture is damaged, or sizes differ.
    """
    return read_pictures(raw, members, partial(resize_and_crop, resize=resize, crop=crop))


def read_timestamps(text: str, name: str) -> np.ndarray:
    """Read times of frames, int64 microseconds since 1970, in local time of Karlsruhe.

    Args:
        text: a line such as ``2011-09-26 13:02:25.964389445`` for each frame.
        name: name of the file, for errors.

    Raises:
        StpError: a line is not a time, or the times do not increase.
    """
    lines = text.splitlines()
    try:
        wrong = next((line for line in lines if not TIMESTAMP.fullmatch(line)), None)
        if wrong is not None:
            raise ValueError(repr(wrong[:80]))
        stamps = np.array([line.replace(" ", "T") for line in lines], "datetime64[ns]")
    except ValueError as error:
        raise RawFileError(
            name,
            f"not a list of times ({error})",
            expected="lines such as 2011-09-26 13:02:25.964389445",
        ) from error
    times = stamps.astype(np.int64) // 1000
    check_times(name, times)
    return times


def _raw_drives(
    raw: RawFiles, options: KittiOptions
) -> tuple[list[Drive], Mapping[str, list[Member]]]:
    listed = read_lists(raw.find)
    pictures: dict[str, dict[int, Member]] = defaultdict(dict)
    for (_, name, number), member in find(raw, DRIVE + r"data/(\d{10})\.png").items():
        pictures[name][int(number)] = member
    stamps = {name: m for (_, name), m in find(raw, DRIVE + r"timestamps\.txt").items()}
    drives, members = [], {}
    for drive in listed:
        _check_frames(drive, pictures[drive.name])
        if drive.name not in stamps:
            raise RawFileError(drive.name, "image_02/timestamps.txt is missing")
        member = stamps[drive.name]
        times = read_timestamps(
            read(raw, member).decode("ascii", "replace"), member_location(raw, member)
        )
        if len(times) != drive.length:
            raise RawFileError(
                member_location(raw, member),
                f"{len(times)} times",
                expected=f"{drive.length}, one for each frame",
            )
        drives.append(Drive(drive.split, drive.name, drive.length, times))
        members[drive.name] = [pictures[drive.name][n] for n in range(drive.length)]
    return drives, members


def _check_frames(drive: Drive, pictures: Mapping[int, Member]) -> None:
    first_missing = next((n for n in range(drive.length) if n not in pictures), None)
    if first_missing is not None or len(pictures) != drive.length:
        missing = "" if first_missing is None else f", and {first_missing:010d}.png is missing"
        raise RawFileError(
            drive.name,
            f"{len(pictures)} pictures in image_02/data{missing}",
            expected=f"the {drive.length} of {LIST.format(drive.split)}, from 0 on",
        )


def _odometry(
    raw: RawFiles, options: KittiOptions
) -> tuple[list[Drive], Mapping[str, list[Member]]]:
    members_of = find(raw, re.escape(FOLDER) + r"/(\d{6})\.png")
    pictures = {int(number): member for (number,), member in members_of.items()}
    drives, members = _parts(options), {}
    for drive in drives:
        first, stop = options.frames[drive.split]
        lost = next((n for n in range(first, stop) if n not in pictures), None)
        if lost is not None:
            raise StpError(
                f"{FOLDER}/{lost:06d}.png is missing",
                expected=f"frames {first}..{stop - 1} for {drive.split}",
                remedy="fetch the folder again, or change frames in the options of the reader",
            )
        members[drive.name] = [pictures[n] for n in range(first, stop)]
    return drives, members


def _parts(options: KittiOptions) -> list[Drive]:
    """The splits of the layout odometry, as if each were a drive."""
    parts = [(split, *options.frames[split]) for split in SPLITS]
    return [Drive(s, f"{FOLDER}[{first}:{stop}]", stop - first) for s, first, stop in parts]
