"""Caltech Pedestrian: videos from a car in Los Angeles, 640 x 480 at 30 Hz; for tests only.

Dollar, Wojek, Schiele and Perona 2012, "Pedestrian detection: an evaluation of the state of the
art". ``setNN/VNNN.seq`` are Norpix files of JPEG pictures (`norpix`), as files or in ``setNN.tar``;
sets 06-10 are the official test sets. Like OpenSTL, PredBench tests models of KITTI and nuScenes on
these videos. Every third frame is used, which gives 10 Hz as in KITTI
(openstl/datasets/dataloader_kitticaltech.py), with the windows of predbench/datasets/caltech.py.
"""

import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, cast

import numpy as np

from stp.core.errors import RawFileError, StpError
from stp.core.job import Extras, Job, Recipe
from stp.core.options import build, require, whole
from stp.data.raw_files import RawFiles
from stp.datasets.caltech.norpix import Frame, find_frames, read_header, read_jpeg
from stp.prepare.driving import Drive, Size, check_times, cut_windows, require_crop, write_drives
from stp.prepare.members import Member, find, member_location
from stp.prepare.output import write_index
from stp.prepare.pictures import decode_picture, resize_and_crop
from stp.prepare.pixels import read_inputs
from stp.prepare.planned_counts import Lists, Planned

VIDEO = r"(set\d\d)/(V\d{3})\.seq"
FPS = 30
EVERY = 3
"""Interval of the kept frames: the third, sixth, ... as in OpenSTL."""
STRIDE = 20
"""Kept frames between the starts of windows. Windows of 20 side by side are the only rule that
comes near the 1,980 of Table 1; the default of predbench/datasets/caltech.py is 1, which would give
about 39,000."""


@dataclass(frozen=True)
class CaltechOptions:
    """Options of the reader of Caltech Pedestrian.

    Attributes:
        sets: numbers of the sets; 6-10 are the official test sets.
        resize: height and width to which pictures are resized by linear interpolation before the
            centre is cropped; 128 x 171 keeps the aspect ratio, as for KITTI and in OpenSTL.
        check_times: whether to refuse videos in which times of frames do not increase.
    """

    sets: tuple[int, ...] = (6, 7, 8, 9, 10)
    resize: Size = (128, 171)
    check_times: bool = True

    def __post_init__(self) -> None:
        ok = bool(self.sets) and all(whole(n, 0, 10) for n in self.sets)
        require(ok, "sets", self.sets, "some of 0..10")


def run(job: Job) -> Extras:
    """Write the frames (``frames.zarr``) and clips (``index.parquet``) of the Caltech test videos.

    Returns:
        facts for the receipt (record of the preparation), such as numbers of clips.

    Raises:
        StpError: an option or a raw file is wrong, or a set is missing.
    """
    options, raw, height, width, span = read_inputs(job, CaltechOptions, channels=3)
    require_crop(options.resize, height, width)
    sets = {f"set{number:02d}" for number in options.sets}
    videos = {key: member for key, member in find(raw, VIDEO).items() if key[0] in sets}
    missing = sorted(sets - {folder for folder, _ in videos})
    if missing:
        raise StpError(
            f"no video of {', '.join(missing)}",
            expected=f"caltech/{missing[0]}/V000.seq and so on, or caltech/{missing[0]}.tar",
            remedy="fetch and unpack the data, or change sets in the options of the reader",
        )
    recordings = []
    for (folder, video), member in videos.items():
        frames = read_frames(raw, member)
        drive = _drive(f"{folder}/{video}", frames, options, member_location(raw, member))
        kept = frames[EVERY - 1 :: EVERY]
        tasks = [(member, frame) for frame in kept]
        recordings.append((drive, tasks, [frame.bytes for frame in kept]))
    fps = FPS / EVERY
    decode = partial(decode_frames, resize=options.resize, crop=(height, width))
    written = write_drives(job, raw, recordings, decode, fps=fps)
    drives = [drive for drive, _, _ in recordings]
    clips = cut_windows(drives, {"test": STRIDE}, span, fps=fps)
    return {
        **write_index(job.out, clips, required=("test",)),
        **written.extras,
        "videos": len(drives),
        "frames per second": {d.name: _rate(d) for d in drives},
    }


def count(recipe: Recipe, raw: Lists) -> Planned:
    """State that the number of clips is unknown before the videos are downloaded.

    No list has the lengths of the videos.

    Args:
        recipe: recipe of the preparation, with ``options``.
        raw: not used, since no list is read; `count` of every reader has it.

    Returns:
        no clips, and the reason why the number of test clips is unknown.

    Raises:
        StpError: an option is wrong.
    """
    build(CaltechOptions, recipe["options"], "prepare options")
    return Planned(unknown={"test": "needs the numbers of frames in the .seq files"})


def read_frames(raw: RawFiles, member: Member) -> list[Frame]:
    """Find the locations and times of all frames of a video, without decoding them.

    Raises:
        StpError: the video is damaged.
    """
    name = member_location(raw, member)
    with _open_video(raw, member) as file:
        return find_frames(file, name, read_header(file, name))


def decode_frames(
    raw: RawFiles,
    tasks: list[tuple[Member, Frame]],
    resize: tuple[int, int],
    crop: tuple[int, int],
) -> np.ndarray:
    """Decode frames of a video, uint8 (T, 3, *crop).

    Args:
        raw: the raw files.
        tasks: for each frame, the file of the video, and the location of the frame in it.
        resize: height and width before the crop, pixels.
        crop: height and width of the result, pixels.

    Raises:
        StpError: a picture is damaged, or its size differs from the header.
    """
    member = tasks[0][0]
    name = member_location(raw, member)
    decoded = []
    with _open_video(raw, member) as file:
        header = read_header(file, name)
        for _, frame in tasks:
            label = f"{name}, byte {frame.offset}"
            picture = decode_picture(read_jpeg(file, name, frame), label, "RGB")
            if picture.shape[:2] != (header.height, header.width):
                raise RawFileError(
                    label,
                    f"a picture of {picture.shape[1]} x {picture.shape[0]} pixels",
                    expected=f"{header.width} x {header.height}, as the header says",
                )
            decoded.append(resize_and_crop(picture, resize, crop))
    return np.stack(decoded)


def _drive(name: str, frames: list[Frame], options: CaltechOptions, label: str) -> Drive:
    times = np.array([frame.time for frame in frames], np.int64)
    if options.check_times:
        remedy = "fetch it again, or set check_times to false in the options of the reader"
        check_times(label, times, remedy)
    kept = times[EVERY - 1 :: EVERY]
    if not len(kept):
        raise RawFileError(label, f"{len(frames)} frames", expected=f"at least {EVERY}")
    return Drive("test", name, len(kept), kept)


def _rate(drive: Drive) -> float | None:
    """Rate of the kept frames, per second, from their times, since the header may be wrong."""
    assert drive.times is not None
    step = float(np.median(np.diff(drive.times))) if drive.length > 1 else 0.0
    return round(1e6 / step, 2) if step > 0 else None


@contextmanager
def _open_video(raw: RawFiles, member: Member) -> Iterator[BinaryIO]:
    """Context manager: open a video, which may be in an archive, for reading in parts."""
    path = raw.find(member.file)
    try:
        if member.inside is None:
            with path.open("rb") as file:
                yield file
        elif member.file.endswith(".zip"):
            with zipfile.ZipFile(path) as packed, packed.open(member.inside) as part:
                yield cast(BinaryIO, part)
        else:
            with tarfile.open(path, "r:") as archive:
                yield cast(BinaryIO, archive.extractfile(member.inside))
    except (OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, tarfile.TarError) as error:
        raise RawFileError(member_location(raw, member), f"cannot be read ({error})") from error
