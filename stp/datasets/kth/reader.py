"""KTH human actions: 25 persons, 6 actions, 4 scenarios; one video each, with annotated sequences.

Schuldt, Laptev and Caputo 2004, "Recognizing human actions: a local SVM approach"; the videos are
160 x 120 pixels at 25 frames a second. The person split and the strides are those of PredBench.
"""

import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from pydantic import PositiveInt

from stp.core.errors import RawFileError, StpError
from stp.core.job import Extras, Job, Recipe
from stp.core.options import build, require, whole
from stp.data.raw_files import RawFiles
from stp.data.windows import starts_from_the_end
from stp.prepare.frames import Decoded, Piece
from stp.prepare.members import Member, find, member_location, read
from stp.prepare.output import SPLITS, Clip, write_index
from stp.prepare.pixels import read_inputs, write_pixels
from stp.prepare.planned_counts import Lists, Planned
from stp.prepare.resize import bilinear
from stp.prepare.video import decode_grey

SEQUENCES = "kth/00sequences.txt"
ACTIONS = ("boxing", "handclapping", "handwaving", "jogging", "running", "walking")
VIDEO_NAME = r"person\d\d_[a-z]+_d\d"
VIDEO = re.compile(r"person(?P<person>\d\d)_(?P<action>[a-z]+)_d(?P<scenario>\d)")
FPS = 25


@dataclass(frozen=True)
class KthOptions:
    """Options of the reader of KTH.

    Attributes:
        splits: ``{"by": "person", "train": [...], "val": [...], "test": [...]}`` assigns persons
            (1..25); ``"by": "sequence"`` assigns the sequences of every video by their position
            (0..3), so that a person is in all splits; meant for samples with few videos only.
        strides: number of frames between the starts of windows, for each group of actions and each
            split.
        span: number of frames in a window; minimum and default are context + horizon.
        require_all: whether every annotated video is required.
    """

    splits: dict[str, Any] = field(
        default_factory=lambda: {
            "by": "person",
            "train": list(range(1, 15)),
            "val": [15, 16],
            "test": list(range(17, 26)),
        }
    )
    strides: list[dict[str, Any]] = field(
        default_factory=lambda: [
            {
                "actions": ["boxing", "handclapping", "handwaving", "walking"],
                **{"train": 20, "val": 10, "test": 30},
            },
            {"actions": ["jogging", "running"], "train": 3, "val": 3, "test": 3},
        ]
    )
    span: PositiveInt | None = None
    require_all: bool = True

    def __post_init__(self) -> None:
        ok = set(self.splits) == {"by", *SPLITS} and self.splits["by"] in ("person", "sequence")
        require(ok, "splits", self.splits, "{by: person or sequence, train: [], val: [], test: []}")
        dealt = [n for split in SPLITS for n in self.splits[split]]
        require(len(dealt) == len(set(dealt)), "splits", self.splits, "nothing in two splits")
        ok = sorted(a for group in self.strides for a in group["actions"]) == sorted(ACTIONS)
        require(ok, "strides", self.strides, f"each of {', '.join(ACTIONS)} once")
        for group in self.strides:
            for split in SPLITS:
                stride = group.get(split)
                require(whole(stride, 1), f"strides {split}", stride, "a whole number >= 1")

    def stride(self, action: str, split: str) -> int:
        """Number of frames between the starts of windows of an action in a split."""
        return next(g[split] for g in self.strides if action in g["actions"])


class Part(NamedTuple):
    """The annotated frames of one video that belong to one split.

    Attributes:
        split: train, val or test.
        video: e.g. "person01_boxing_d1".
        numbers: frame numbers from 1, in the order of the annotation. A few annotated sequences
            overlap, so a number may occur twice.
    """

    split: str
    video: str
    numbers: list[int]


def read_sequences(text: str, name: str = SEQUENCES) -> dict[str, list[tuple[int, int]]]:
    """Read from the annotation of KTH which frames of every video show the action.

    One range of the original file ends before it starts (person17_walking_d4, 445-56); it is kept,
    but contains no frames.

    Args:
        text: content of ``00sequences.txt``, with lines such as "person01_walking_d1 frames 1-75,
            152-225".
        name: name of the file, for the error.

    Returns:
        sequences (ranges of frames) by name of the video, such as "person01_walking_d1": first and
        last frame of each sequence, from 1, inclusive. A video that the file marks as missing has
        an empty list.

    Raises:
        StpError: the text contains no annotations.
    """
    sequences = {}
    for line in text.splitlines():
        if match := VIDEO.match(line.strip()):
            ranges = re.findall(r"(\d+)\s*-\s*(\d+)", line[line.index(match[0]) + len(match[0]) :])
            sequences[match[0]] = [(int(a), int(b)) for a, b in ranges]
    if not any(sequences.values()):
        raise RawFileError(
            name,
            "holds no annotated sequences",
            expected="lines such as: person01_walking_d1 frames 1-75, 152-225",
        )
    return sequences


def assign_splits(
    sequences: Mapping[str, list[tuple[int, int]]], splits: Mapping[str, Any]
) -> list[Part]:
    """Assign the annotated frames of videos to splits.

    Args:
        sequences: first and last frame of the annotated sequences of each video, from
            `read_sequences`.
        splits: which persons or sequences each split has, see `KthOptions`.

    Returns:
        the annotated frames of each video in each split, in alphabetical order of the videos;
        without frames, a video has no part.
    """
    parts = []
    for video in sorted(sequences):
        person = int(VIDEO.match(video)["person"])  # type: ignore[index]
        for split in SPLITS:
            ranges = [
                frames
                for position, frames in enumerate(sequences[video])
                if (position if splits["by"] == "sequence" else person) in splits[split]
            ]
            numbers = [n for first, last in ranges for n in range(first, last + 1)]
            if numbers:
                parts.append(Part(split, video, numbers))
    return parts


def cut_windows(
    parts: Iterable[Part], options: KthOptions, span: int, lengths: Mapping[str, int] | None = None
) -> list[Clip]:
    """Cut the frames of all parts (the annotated frames of one video in one split) into windows.

    The frames of the parts are stored one after the other.

    Args:
        parts: parts from `assign_splits`.
        options: the strides.
        span: number of frames in a window.
        lengths: actual number of frames by video, if known: the annotation of some goes beyond the
            end. Windows contain no missing frames.
    """
    clips = []
    base = 0
    for part in parts:
        action = VIDEO.match(part.video)["action"]  # type: ignore[index]
        stop = (lengths or {}).get(part.video, max(part.numbers))
        # Frames that do not exist (-1) interrupt the run of consecutive numbers.
        numbers = [n if n <= stop else -1 for n in part.numbers]
        starts = starts_from_the_end(numbers, span, options.stride(action, part.split))
        for i, start in enumerate(starts):
            if numbers[start] > 0:
                name = f"{part.video}/{i:03d}-frame-{numbers[start]:04d}"
                clips.append(Clip(part.split, name, base + int(start), 1, span, part.video))
        base += len(part.numbers)
    return clips


def run(job: Job) -> Extras:
    """Write the frames (``frames.zarr``) and the clips (``index.parquet``) of KTH.

    Returns:
        facts for the receipt (record of the preparation), such as numbers of clips.

    Raises:
        StpError: an option or a raw file is wrong, or a required video is missing.
    """
    options, raw, height, width, least = read_inputs(job, KthOptions, channels=1)
    span = options.span or least
    require(span >= least, "span", span, f"at least context + horizon = {least}")

    text = raw.find(SEQUENCES).read_text(encoding="utf-8", errors="replace")
    annotated = {video: ranges for video, ranges in read_sequences(text).items() if ranges}
    videos = {video: member for (video,), member in find(raw, rf"({VIDEO_NAME})[^/]*\.avi").items()}
    missing = sorted(set(annotated) - set(videos))
    if missing and options.require_all:
        raise StpError(
            f"{len(missing)} of {len(annotated)} KTH videos are missing, first {missing[0]}",
            expected=f"every video of {SEQUENCES}, below kth/<action>/ or in kth/<action>.zip",
            remedy="fetch all six archives, or set require_all to false for a sample",
        )
    parts = assign_splits({v: r for v, r in annotated.items() if v in videos}, options.splits)

    pieces = [
        Piece(
            f"{part.video} ({part.split})",
            len(part.numbers),
            (videos[part.video], part, height, width),
            videos[part.video].bytes,
        )
        for part in parts
    ]
    written = write_pixels(job, raw, pieces, decode_part, "videos", fps=FPS)
    lengths = {part.video: n for part, n in zip(parts, written.notes, strict=True)}
    short = {v: n for v, n in lengths.items() if n < max(last for _, last in annotated[v])}
    return {
        **write_index(job.out, cut_windows(parts, options, span, lengths)),
        **written.extras,
        "videos": len(lengths),
        "videos missing": len(missing),
        "videos shorter than annotated": short,
        "videos without annotation": sorted(set(videos) - set(annotated)),
    }


def count(recipe: Recipe, raw: Lists) -> Planned:
    """Count the clips that `run` will write, from ``00sequences.txt`` alone, without videos.

    Used before the data are downloaded, to compare the numbers with the published ones.

    Args:
        recipe: recipe of the preparation, with ``options``, ``context`` and ``horizon``.
        raw: finds the annotation, ``kth/00sequences.txt``, among the raw files.

    Returns:
        the clips, or their numbers by split, or the reason why a number is not known yet.

    Raises:
        StpError: an option is wrong, or the annotation is wrong or missing.
    """
    options = build(KthOptions, recipe["options"], "prepare options")
    if not options.require_all:
        return Planned(unknown=dict.fromkeys(SPLITS, "depends on which videos there are"))
    text = raw.find(SEQUENCES).read_text(encoding="utf-8", errors="replace")
    annotated = {video: ranges for video, ranges in read_sequences(text).items() if ranges}
    span = options.span or recipe["context"] + recipe["horizon"]
    return Planned(cut_windows(assign_splits(annotated, options.splits), options, span))


def decode_part(raw: RawFiles, task: tuple[Member, Part, int, int]) -> Decoded:
    """Read and resize the frames of a part, uint8 (T, 1, H, W); missing frames are black.

    Args:
        raw: the raw files.
        task: file of the video, the part, and height and width of the result, pixels.

    Returns:
        the frames, with the actual number of frames of the video as note.

    Raises:
        StpError: the video is damaged, or ends before the part begins.
    """
    member, part, height, width = task
    decoded = decode_grey(io.BytesIO(read(raw, member)), member_location(raw, member))
    at = np.array(part.numbers) - 1
    exists = at < len(decoded)
    if not exists.any():
        raise RawFileError(
            part.video,
            f"only {len(decoded)} frames, none of those annotated for {part.split}",
            expected=f"frames {min(part.numbers)}..{max(part.numbers)}, as in {SEQUENCES}",
        )
    selected = np.zeros((len(at), 1, height, width), np.uint8)
    selected[exists, 0] = bilinear(decoded[at[exists]], height, width)
    return Decoded(selected, len(decoded))
