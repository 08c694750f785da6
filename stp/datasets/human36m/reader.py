"""Human3.6M: 15 scenarios, performed twice by seven actors, filmed by four cameras at 50 Hz.

Ionescu, Papava, Olaru and Sminchisescu 2014, "Human3.6M: large scale datasets and predictive
methods for 3D human sensing in natural environments". Raw files are pictures,
``S1_Directions.54138969_000126.jpg``: actor, scenario and number of the performance, camera, number
of the frame from 1, in a folder or in tar or zip archives. PredBench's lists of clips say
``images/S1_Directions.54138969_,126,196``: a clip is the frames 126, 131, ..., 161.

The store contains, for each video, the frames that clips need, sorted by their remainder modulo the
interval, then by number. In the published lists, all clips of a video have the same remainder (1),
and their frames leave no gap, so these are every fifth frame of the video. The frames of a clip are
consecutive in the store for any lists: a frame between two of them would have the same remainder,
but a distance of less than one interval. Thus clips have stride 1 in the index. A cluster is a
performance, which all four cameras film.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from stp.core.errors import RawFileError, StpError
from stp.core.job import Extras, Job, Recipe
from stp.core.options import build
from stp.data.raw_files import RawFiles
from stp.prepare.frames import Piece
from stp.prepare.members import Member, find, member_location, read
from stp.prepare.output import SPLITS, Clip, write_index
from stp.prepare.pictures import decode_picture
from stp.prepare.pixels import read_inputs, write_pixels
from stp.prepare.planned_counts import Lists, Planned
from stp.prepare.resize import bilinear

LISTS = {split: f"predbench_annotations/human/human_{split}.txt" for split in SPLITS}
LINE = re.compile(r"(?:.*/)?(?P<video>S\d+_\w+\.\d+)_,(?P<start>\d+),(?P<stop>\d+)")
PICTURE = r"(S\d+_\w+\.\d+)_(\d{6})\.jpg"
FPS = 50
INTERVAL = 5
"""Frames of the video from one frame of a clip to the next (PredBench's released configuration,
``train_frame_interval``), so 10 frames a second."""
PIECE = 256  # frames: 50 MB at 256 x 256
STRICT = {
    **dict.fromkeys(("S1", "S5", "S6", "S7"), "strict-train"),
    "S8": "strict-val",
    **dict.fromkeys(("S9", "S11"), "strict"),
}
"""Further split of each actor's clips: the clips of all lists are assigned anew by actor, so that
no performance is in two of these splits. The actors for training and for the test are those of the
usual protocol of pose estimation; actor 8 was taken from its training set for validation."""


@dataclass(frozen=True)
class Human36mOptions:
    """Options of the reader of Human3.6M; there are none."""


class Listed(NamedTuple):
    """A clip in one of PredBench's three lists, one for each split.

    Attributes:
        split: train, val or test.
        video: actor, scenario and camera: "S1_Directions.54138969".
        start: number of its first frame in the video.
    """

    split: str
    video: str
    start: int


def read_list(text: str, name: str, split: str, span: int) -> list[Listed]:
    """Read the clips of one of PredBench's lists, which has a clip in each line.

    Args:
        text: content of the file.
        name: name of the file, for errors.
        split: split of the list.
        span: number of frames of the video from the first to the last frame of a clip, inclusive.

    Raises:
        StpError: a line is not a clip, a clip is too short, or there are no clips.
    """
    clips = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        match = LINE.fullmatch(line.strip())
        if match is None or int(match["stop"]) - int(match["start"]) < span:
            raise RawFileError(
                f"{name}, line {number}",
                repr(line.strip()[:100]),
                expected=f"images/<video>_,<first frame>,<last frame>, {span} frames at least",
            )
        clips.append(Listed(split, match["video"], int(match["start"])))
    if not clips:
        raise RawFileError(
            name, "no clips", expected="lines such as: images/S1_Directions.54138969_,1276,1346"
        )
    return clips


def read_lists(raw: RawFiles | Lists, recipe: Recipe) -> list[Listed]:
    """Read PredBench's three lists of clips, one for each split: train, then val, then test.

    Args:
        raw: finds the lists: `RawFiles` in the preparation; `Lists` in `count`, which is called
            before the checksums of raw files are recorded.
        recipe: numbers of frames of a clip, ``context`` and ``horizon``.

    Raises:
        StpError: a list is missing or damaged, or a clip is listed twice.
    """
    length = recipe["context"] + recipe["horizon"]
    clips = []
    for split, name in LISTS.items():
        text = raw.find(name).read_text(encoding="utf-8", errors="replace")
        clips += read_list(text, name, split, (length - 1) * INTERVAL + 1)
    split_of: dict[tuple[str, int], str] = {}
    for split, video, start in clips:
        if (video, start) in split_of:
            earlier = split_of[video, start]
            raise RawFileError(
                LISTS[split], f"{video}_,{start} is listed twice, first for {earlier}"
            )
        split_of[video, start] = split
    return clips


def frames_by_video(clips: Iterable[Listed], length: int) -> dict[str, list[int]]:
    """List which frames of each video are needed by clips of `length` frames.

    Returns:
        numbers of the frames by video. Videos and frames are in the order in which they are stored.
    """
    numbers: dict[str, set[int]] = {}
    for clip in clips:
        stop = clip.start + length * INTERVAL
        numbers.setdefault(clip.video, set()).update(range(clip.start, stop, INTERVAL))
    return {
        video: sorted(numbers[video], key=lambda n: (n % INTERVAL, n)) for video in sorted(numbers)
    }


def locate_clips(listed: Sequence[Listed], length: int) -> list[Clip]:
    """Locate the listed clips among the stored frames.

    The store holds, video after video, the frames that `frames_by_video` selects.

    Args:
        listed: clips from `read_lists`.
        length: number of frames of a clip.

    Returns:
        each listed clip in its split. It is followed by the same clip in a further split, if
        `STRICT` has one for the actor.
    """
    rows: dict[tuple[str, int], int] = {}
    for video, numbers in frames_by_video(listed, length).items():
        for number in numbers:
            rows[video, number] = len(rows)
    clips = []
    for split, video, start in listed:
        performance, row = video.rpartition(".")[0], rows[video, start]
        clip = Clip(split, f"{video}/frame-{start:06d}", row, 1, length, performance)
        clips.append(clip)
        if strict := STRICT.get(video.split("_")[0]):
            clips.append(clip._replace(split=strict))
    return clips


def run(job: Job) -> Extras:
    """Write the frames (``frames.zarr``) and the clips (``index.parquet``) of Human3.6M.

    Returns:
        facts for the receipt (record of the preparation), such as numbers of clips.

    Raises:
        StpError: an option or a raw file is wrong, or a frame that a clip needs is missing.
    """
    _, raw, height, width, length = read_inputs(job, Human36mOptions, channels=3)
    listed = read_lists(raw, job.recipe)
    pictures = {
        (video, int(number)): member for (video, number), member in find(raw, PICTURE).items()
    }
    frames = frames_by_video(listed, length)
    missing = [(v, n) for v, numbers in frames.items() for n in numbers if (v, n) not in pictures]
    if missing:
        video, number = missing[0]
        raise StpError(
            f"{len(missing)} of {sum(map(len, frames.values()))} frames that clips need are"
            f" missing, first {video}_{number:06d}.jpg",
            expected="every picture that the lists of clips name, as a file or in a .tar or .zip",
            remedy="extract the frames again, see the instructions in `stp fetch`",
        )
    pieces = []
    for video, numbers in frames.items():
        for first in range(0, len(numbers), PIECE):
            members = [pictures[video, n] for n in numbers[first : first + PIECE]]
            name = f"{video} from frame {numbers[first]}"
            size = sum(member.bytes for member in members)
            pieces.append(Piece(name, len(members), (members, height, width), size))
    written = write_pixels(job, raw, pieces, decode_pictures, "pieces", fps=FPS / INTERVAL)
    counts = write_index(job.out, locate_clips(listed, length))
    return {**counts, **written.extras, "videos": len(frames)}


def count(recipe: Recipe, raw: Lists) -> Planned:
    """Count the clips that `run` will write, from PredBench's lists of clips, without pictures.

    Used before the data are downloaded, to compare the numbers with the published ones.

    Args:
        recipe: recipe of the preparation, with ``options``, ``context`` and ``horizon``.
        raw: finds PredBench's lists of clips among the raw files.

    Returns:
        the clips, or their numbers by split, or the reason why a number is not known yet.

    Raises:
        StpError: an option is wrong, or a list is wrong or missing.
    """
    build(Human36mOptions, recipe["options"], "prepare options")
    return Planned(locate_clips(read_lists(raw, recipe), recipe["context"] + recipe["horizon"]))


def decode_pictures(raw: RawFiles, task: tuple[list[Member], int, int]) -> np.ndarray:
    """Decode and resize pictures, uint8 (T, 3, H, W).

    Args:
        raw: the raw files.
        task: files of the pictures, and height and width of the result, pixels.

    Raises:
        StpError: a picture is missing or damaged.
    """
    members, height, width = task
    frames = np.empty((len(members), 3, height, width), np.uint8)
    for frame, member in zip(frames, members, strict=True):
        picture = decode_picture(read(raw, member), member_location(raw, member), "RGB")
        frame[:] = bilinear(np.moveaxis(picture, -1, 0), height, width)
    return frames
