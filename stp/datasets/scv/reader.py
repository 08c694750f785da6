"""StarCraft 2 Videos: games of four scenarios, rendered at 64 x 64 or 128 x 128 pixels.

Unterthiner et al. 2018, section 3 and appendix B; the files are those of TensorFlow Datasets
(starcraft_video): ``<map>_<size>x<size>_png/{train,valid,test}-<i>-of-<n>.tfrecords``, each record
a SequenceExample with ``n_steps`` and ``screen_size`` in its context, and a PNG for each frame in
the list ``rgb_screen``.

Clips for validation and test start at the first frame, which shows where units are sent; training
draws a window of each video in each epoch. Videos shorter than a clip are excluded and counted.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from pydantic import PositiveInt

from stp.core.errors import RawFileError, StpError
from stp.core.job import Extras, Job, Recipe
from stp.core.options import build, require, whole
from stp.data.raw_files import RawFiles
from stp.prepare.frames import Piece
from stp.prepare.members import find, member_location
from stp.prepare.output import Clip, write_index
from stp.prepare.pictures import decode_picture
from stp.prepare.pixels import read_inputs, require_numbers, write_pixels
from stp.prepare.planned_counts import Lists, Planned
from stp.prepare.resize import bilinear
from stp.prepare.tfrecord import (
    Feature,
    Features,
    Record,
    read_record,
    records,
    required_feature,
    sequence_example,
)
from stp.prepare.trajectories import RANDOM_WINDOWS

FILES = r"(\w+_\d+x\d+_png)/(train|valid|test)-(\d{5})-of-(\d{5})\.tfrecords"
SPLITS = {"train": "train", "val": "valid", "test": "test"}
"""Names of the splits here, and in the files."""


@dataclass(frozen=True)
class ScvOptions:
    """Options of the reader of StarCraft 2 Videos.

    Attributes:
        raw_size: height and width of a raw frame, pixels.
        least: number of frames of the shortest video; 1 if it is not published.
        most: number of frames of the longest video.
        videos: required number of videos in each split, ``{train: n, val: n, test: n}``; null for
            any number.
        test: number of test videos; the first ones that are long enough are used. Null for all.
    """

    raw_size: PositiveInt = 64
    least: PositiveInt = 1
    most: int = 99
    videos: dict[str, PositiveInt] | None = field(
        default_factory=lambda: {"train": 10000, "val": 2000, "test": 2000}
    )
    test: PositiveInt | None = None

    def __post_init__(self) -> None:
        require(
            whole(self.most, self.least), "most", self.most, f"a whole number from {self.least}"
        )
        ok = self.videos is None or set(self.videos) == set(SPLITS)
        require(ok, "videos", self.videos, "{train: n, val: n, test: n} or null")


class Video(NamedTuple):
    """A video, which is one record of a TFRecord file.

    Attributes:
        split: train, val or test.
        name: e.g. "train-00003/0017".
        file: the TFRecord file.
        record: location of the record in the file.
        frames: number of frames.
    """

    split: str
    name: str
    file: str
    record: Record
    frames: int


def find_videos(raw: RawFiles, options: ScvOptions) -> list[Video]:
    """Find all videos, in the order of files and records; every record is read once.

    The files of one map and one size of frames are a set, in a folder such as
    ``Brawl_64x64_png``. The raw files must be one set.

    Args:
        raw: the raw files.
        options: size of the frames, and range of the number of frames of a video.

    Raises:
        StpError: there is no set, or more than one; or a file is missing or damaged; or a video is
            too short or too long.
    """
    files = find(raw, FILES)
    sets = sorted({key[0] for key in files})
    if len(sets) != 1:
        raise StpError(
            f"{len(sets)} sets of StarCraft videos in the raw files: {', '.join(sets) or 'none'}",
            expected="<map>_<size>x<size>_png/{train,valid,test}-<i>-of-<n>.tfrecords, of one set",
            remedy="fetch all files of the set, and declare no others",
        )
    videos = []
    for split, word in SPLITS.items():
        shards = {int(key[2]): member for key, member in files.items() if key[1] == word}
        totals = {int(key[3]) for key in files if key[1] == word}
        total = max(totals, default=1)
        missing = sorted(set(range(total)) - set(shards))
        if missing:
            name = f"{sets[0]}/{word}-{missing[0]:05d}-of-{total:05d}.tfrecords"
            raise RawFileError(name, "missing", expected=f"all {total} files of the {word} videos")
        if len(totals) != 1:
            raise RawFileError(sets[0], f"{word} files of {len(totals)} different divisions")
        for shard, member in sorted(shards.items()):
            name = member_location(raw, member)
            if member.inside is not None:
                raise StpError(
                    f"{name}: records are not read inside an archive",
                    remedy="unpack the archive",
                )
            path = raw.find(member.file)
            for number, record in enumerate(records(path, name)):
                title = f"{word}-{shard:05d}/{number:04d}"
                context, pictures = read_steps(read_record(path, record, name), f"{name}: {title}")
                n = count_frames(context, pictures, options, f"{name}: {title}")
                videos.append(Video(split, title, member.file, record, n))
    return videos


def read_steps(data: bytes, name: str) -> tuple[Features, list[Feature]]:
    """Decode a record of a TFRecord file, which is one video.

    Args:
        data: content of the record.
        name: name of the video, for errors.

    Returns:
        numbers of the whole video by name, such as ``n_steps``; and the PNG file of each frame.

    Raises:
        StpError: the record is damaged, or has no pictures.
    """
    context, lists = sequence_example(data, name)
    if "rgb_screen" not in lists:
        raise RawFileError(name, "no list rgb_screen", expected="a PNG for each frame")
    return context, lists["rgb_screen"]


def count_frames(context: Features, pictures: list[Feature], options: ScvOptions, name: str) -> int:
    """Check and return the number of frames of a video.

    Args:
        context: numbers that the record of the video states, from `read_steps`: ``n_steps`` (number
            of frames) and ``screen_size`` (size of a frame).
        pictures: PNG file of each frame, from `read_steps`.
        options: options of the reader, which the numbers must fit.
        name: name of the video, for errors.

    Raises:
        StpError: the number of pictures differs from ``n_steps``, or is out of the range in the
            options; or frames have another size.
    """
    stated = required_feature(context, "n_steps", name).ints().tolist()
    if stated != [len(pictures)]:
        raise RawFileError(name, f"{len(pictures)} frames", expected=f"{stated}, as n_steps says")
    if not options.least <= len(pictures) <= options.most:
        raise RawFileError(
            name,
            f"{len(pictures)} frames",
            expected=f"{options.least} to {options.most}, the options least and most",
        )
    size = required_feature(context, "screen_size", name).ints().tolist()
    if size != [options.raw_size] * 2:
        raise RawFileError(name, f"frames of {size}", expected=f"raw_size = {options.raw_size}")
    return len(pictures)


def decode_video(raw: RawFiles, task: tuple[Video, ScvOptions, int, int]) -> np.ndarray:
    """Read the frames of a video, uint8 (T, 3, H, W).

    Args:
        raw: the raw files.
        task: the video, the options, and height and width of the result, pixels.

    Raises:
        StpError: the record or a picture is damaged, or has another size.
    """
    video, options, height, width = task
    path = raw.find(video.file)
    name = f"{path}: {video.name}"
    _, pictures = read_steps(read_record(path, video.record, name), name)
    side = options.raw_size
    frames = np.empty((len(pictures), 3, side, side), np.uint8)
    for t, feature in enumerate(pictures):
        values = feature.bytes()
        if len(values) != 1:
            raise RawFileError(name, f"{len(values)} pictures in frame {t}", expected="one")
        picture = decode_picture(values[0], f"{name}: frame {t}", "RGB")
        if picture.shape[:2] != (side, side):
            raise RawFileError(
                name,
                f"frame {t} has {picture.shape[1]} x {picture.shape[0]} pixels",
                expected=f"{side} x {side}, as screen_size says",
            )
        frames[t] = picture.transpose(2, 0, 1)
    return bilinear(frames, height, width)


def run(job: Job) -> Extras:
    """Write the frames (``frames.zarr``) and the clips (``index.parquet``) of StarCraft 2 Videos.

    Returns:
        facts for the receipt (record of the preparation), such as numbers of clips.

    Raises:
        StpError: an option or a raw file is wrong, or videos are missing.
    """
    options, raw, height, width, span = read_inputs(job, ScvOptions, channels=3)
    require(options.most >= span, "context and horizon", span, f"at most {options.most} frames")
    videos = find_videos(raw, options)
    require_numbers(options.videos, (video.split for video in videos), "videos", "videos")
    long_enough = [video for video in videos if video.frames >= span]
    used = [v for v in long_enough if v.split != "test"]
    used += [v for v in long_enough if v.split == "test"][: options.test]
    pieces = [
        Piece(v.name, v.frames, (v, options, height, width), v.record.bytes) for v in long_enough
    ]
    written = write_pixels(job, raw, pieces, decode_video, "videos", **RANDOM_WINDOWS)
    clips, first = [], 0
    for video in used:
        length = video.frames if video.split == "train" else span
        clips.append(Clip(video.split, video.name, first, 1, length, video.name))
        first += video.frames
    short = {f"videos shorter than {span} frames": len(videos) - len(long_enough)}
    return {**write_index(job.out, clips), **written.extras, **short}


def count(recipe: Recipe, raw: Lists) -> Planned:
    """Count the clips that `run` will write, from the configured numbers of videos alone.

    Used before the data are downloaded, to compare the numbers with the published ones.

    Args:
        recipe: recipe of the preparation, with ``options``, ``context`` and ``horizon``.
        raw: not used, since no list is read; `count` of every reader has it.

    Returns:
        the clips, or their numbers by split, or the reason why a number is not known yet.

    Raises:
        StpError: an option is wrong.
    """
    options = build(ScvOptions, recipe["options"], "prepare options")
    if options.videos is None:
        reason = "the number of videos is known when they are read"
    elif options.least < recipe["context"] + recipe["horizon"]:
        reason = "videos shorter than a clip drop out: known when they are read"
    else:
        most = options.videos["test"]
        return Planned(numbers=options.videos | {"test": min(most, options.test or most)})
    return Planned(unknown=dict.fromkeys(SPLITS, reason))
