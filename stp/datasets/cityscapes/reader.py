"""CityScapes: video snippets of 30 frames from 50 cities, the left camera, 2048 x 1024 at 17 Hz.

Cordts et al. 2016, "The Cityscapes Dataset for Semantic Urban Scene Understanding". The package
``leftImg8bit_sequence_trainvaltest.zip`` contains one picture per frame,

    leftImg8bit_sequence/<split>/<city>/<city>_<sequence>_<frame>_leftImg8bit.png

with six digits each. The 20th of the 30 frames is annotated. Frame numbers of most snippets start
at 0; if a city was recorded continuously (hamburg, frankfurt ...), snippets are blocks of
consecutive numbers.

Frames are prepared as for MCVD, whose Cityscapes128_h5 PredBench reads: the central square, resized
to 128 x 128 by Lanczos filtering (voletiv/mcvd-pytorch, datasets/cityscapes_convert.py).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from pydantic import NonNegativeInt

from stp.core.errors import RawFileError
from stp.core.job import Extras, Job, Recipe
from stp.core.options import build, check_keys, require
from stp.data.raw_files import RawFiles
from stp.data.windows import starts
from stp.prepare.frames import Piece
from stp.prepare.members import Member, find
from stp.prepare.output import SPLITS, Clip, write_index
from stp.prepare.pictures import centre_crop, lanczos, read_pictures
from stp.prepare.pixels import read_inputs, require_numbers, write_pixels
from stp.prepare.planned_counts import Lists, Planned

PICTURE = r"leftImg8bit_sequence/(train|val|test)/([a-z]+)/\2_(\d{6})_(\d{6})_leftImg8bit\.png"
LENGTH = 30  # frames in a snippet
FPS = 17  # Cordts et al. 2016, section 2.1
STRIDE = 10
"""Frames between the starts of windows. Table 1 of PredBench has three windows for each training
and validation snippet: windows of 7 frames (2 -> 5) start every 10."""


@dataclass(frozen=True)
class CityscapesOptions:
    """Options of the reader of CityScapes.

    Attributes:
        snippets: required number of snippets in each split; null for any number. Official numbers
            are from Cordts et al. 2016, table 1.
    """

    snippets: dict[str, NonNegativeInt] | None = field(
        default_factory=lambda: {"train": 2975, "val": 500, "test": 1525}
    )

    def __post_init__(self) -> None:
        if self.snippets is not None:
            check_keys("snippets", self.snippets, SPLITS)


class Snippet(NamedTuple):
    """A snippet of video: thirty consecutive frames, each a picture file.

    Attributes:
        split: train, val or test.
        name: city, sequence and first frame, such as "hamburg_000000_000023".
        members: the 30 picture files, in order of time.
    """

    split: str
    name: str
    members: list[Member]


def find_snippets(pictures: Mapping[tuple[str, ...], Member]) -> Iterator[Snippet]:
    """Group pictures into snippets, sorted by split and name.

    Args:
        pictures: files by split, city, sequence and frame, sorted.

    Raises:
        StpError: a frame is missing: the number of consecutive frames is not a multiple of 30.
    """
    runs: list[list[tuple[str, ...]]] = []
    for key in sorted(pictures, key=lambda key: (SPLITS.index(key[0]), key)):
        last = runs[-1][-1] if runs else None
        if last and last[:3] == key[:3] and int(last[3]) + 1 == int(key[3]):
            runs[-1].append(key)
        else:
            runs.append([key])
    for run in runs:
        split, city, sequence, first = run[0]
        if len(run) % LENGTH:
            raise RawFileError(
                f"CityScapes {split}",
                f"{city}_{sequence} has {len(run)} frames from {first} on, then frame "
                f"{int(run[-1][3]) + 1:06d} is missing",
                expected=f"snippets of {LENGTH} consecutive frames",
            )
        for start in range(0, len(run), LENGTH):
            keys = run[start : start + LENGTH]
            name = f"{city}_{sequence}_{keys[0][3]}"
            yield Snippet(split, name, [pictures[key] for key in keys])


def window_starts(split: str, span: int) -> list[int]:
    """First frames of the windows of a snippet, counted from 0.

    The test split has only the first window, as in predbench/datasets/cityscapes.py.

    Args:
        split: train, val or test.
        span: number of frames in a window.
    """
    firsts = starts(0, LENGTH, span, STRIDE).tolist()
    return firsts[:1] if split == "test" else firsts


def cut_windows(snippets: Iterable[Snippet], span: int) -> list[Clip]:
    """Cut snippets into windows of `span` frames; the snippets are stored one after the other."""
    return [
        Clip(s.split, f"{s.name}/{start:02d}", n * LENGTH + start, 1, span, s.name)
        for n, s in enumerate(snippets)
        for start in window_starts(s.split, span)
    ]


def run(job: Job) -> Extras:
    """Write the frames (``frames.zarr``) and the clips (``index.parquet``) of CityScapes.

    Args:
        job: recipe of the preparation, with `CityscapesOptions` as ``options``; the raw files; and
            the folder to write.

    Returns:
        facts for the receipt (record of the preparation), such as numbers of clips.

    Raises:
        StpError: an option or a raw file is wrong, or frames or snippets are missing.
    """
    options, raw, height, width, span = read_inputs(job, CityscapesOptions, channels=3)
    require(height == width, "shape", job.recipe["shape"], "[3, n, n]: squares")
    require(span <= LENGTH, "context + horizon", span, f"at most {LENGTH}, a snippet's frames")
    snippets = list(find_snippets(find(raw, PICTURE)))
    require_numbers(options.snippets, (s.split for s in snippets), "snippets", "snippets")
    pieces = [
        Piece(
            f"{snippet.split}/{snippet.name}",
            LENGTH,
            snippet.members,
            sum(member.bytes for member in snippet.members),
        )
        for snippet in snippets
    ]
    decode = partial(decode_snippet, side=height)
    written = write_pixels(job, raw, pieces, decode, "snippets", fps=FPS)
    return {**write_index(job.out, cut_windows(snippets, span)), **written.extras}


def count(recipe: Recipe, raw: Lists) -> Planned:
    """Count the clips that `run` will write, from the configured numbers of snippets alone.

    Used before the data are downloaded, to compare the numbers with the published ones.

    Args:
        recipe: recipe of the preparation, with ``options``, ``context`` and ``horizon``.
        raw: not used, since no list is read; `count` of every reader has it.

    Returns:
        the clips, or their numbers by split, or the reason why a number is not known yet.

    Raises:
        StpError: an option is wrong.
    """
    options = build(CityscapesOptions, recipe["options"], "prepare options")
    span = recipe["context"] + recipe["horizon"]
    if options.snippets is None:
        return Planned(unknown=dict.fromkeys(SPLITS, "the number of snippets is not configured"))
    numbers = options.snippets.items()
    return Planned(numbers={s: n * len(window_starts(s, span)) for s, n in numbers})


def decode_snippet(raw: RawFiles, members: list[Member], side: int) -> np.ndarray:
    """Read the pictures of a snippet as square frames, uint8 (30, 3, side, side).

    The central square of each picture is cropped, and then resized.

    Args:
        raw: the raw files.
        members: the 30 picture files of the snippet in order of time; each is a raw file, or a file
            in an archive.
        side: height and width of the result, pixels.

    Raises:
        StpError: a picture is damaged, or sizes differ.
    """
    return read_pictures(raw, members, partial(square, side=side))


def square(picture: np.ndarray, side: int) -> np.ndarray:
    """Crop the central square of a picture (H, W, 3), and resize it to (3, side, side)."""
    least = min(picture.shape[:2])
    return lanczos(centre_crop(np.moveaxis(picture, -1, 0), least, least), side, side)
