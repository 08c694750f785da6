"""Moving-MNIST: training clips are rendered on demand; validation and test clips are stored."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from tokenize import TokenError
from typing import Annotated, Any
from zipfile import BadZipFile

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from stp.core.errors import RawFileError, StpError
from stp.core.job import Extras, Job, Recipe
from stp.core.options import build, check_keys, require
from stp.data.moving_digits import render
from stp.data.raw_files import RawFiles
from stp.data.zarr_write import SequentialWriter, create_array, create_group
from stp.datasets.moving_mnist.idx import read_pictures
from stp.prepare.output import PIXELS, SPLITS, Clip, attributes, write_index
from stp.prepare.pixels import read_inputs
from stp.prepare.planned_counts import Lists, Planned

BATCH = 256  # clips drawn or copied at a time: 20 MB


@dataclass(frozen=True)
class MovingMnistOptions:
    """Options of the reader of Moving-MNIST.

    Attributes:
        digits: pictures from which the clips of each split are drawn: ``{"file": name of the raw
            file, "from": index of the first picture, "to": index after the last}``. Null for the
            test split if `official_test` is set.
        clips: number of validation and test clips to draw.
        clips_per_epoch: number of training clips in an epoch.
        seed: seed of all clips that are drawn.
        n_digits: number of digits in a clip.
        step: length of the way of a digit from frame to frame, as a fraction of the side of a frame
            less the side of a digit.
        directions: number of equally spaced directions of motion; null for any direction.
        span: number of frames of a validation or test clip; by default context + horizon.
        official_test: name of the raw file with the published test clips, uint8 (frames, clips, H,
            W); null to draw test clips.
    """

    digits: dict[str, dict[str, Any] | None]
    clips: dict[str, PositiveInt | None] = field(
        default_factory=lambda: {"val": 10000, "test": 10000}
    )
    clips_per_epoch: PositiveInt = 10000
    seed: NonNegativeInt = 0
    n_digits: PositiveInt = 2
    step: Annotated[float, Field(gt=0, lt=1)] = 0.1
    directions: PositiveInt | None = None
    span: PositiveInt | None = None
    official_test: str | None = None

    def __post_init__(self) -> None:
        for key in ("digits", "clips"):
            check_keys(key, getattr(self, key), SPLITS)
        drawn = [s for s in SPLITS if not (s == "test" and self.official_test)]
        for split in drawn:
            part = self.digits.get(split)
            ok = part is not None and set(part) == {"file", "from", "to"}
            require(
                ok, f"digits.{split}", part, "{file: raw name, from: first, to: after the last}"
            )
            if split != "train":
                count = self.clips.get(split)
                require(count is not None, f"clips.{split}", count, "a whole number >= 1")
        if self.official_test:
            part = self.digits.get("test")
            require(part is None, "digits.test", part, "null, since official_test is set")
        for a, b in combinations(drawn, 2):
            x, y = self.digits[a], self.digits[b]
            assert x is not None and y is not None
            apart = x["file"] != y["file"] or x["to"] <= y["from"] or y["to"] <= x["from"]
            require(apart, f"digits.{a} and digits.{b}", [x, y], "no picture in two splits")


def run(job: Job) -> Extras:
    """Write the frames (``frames.zarr``) and the clips (``index.parquet``) of Moving-MNIST.

    Returns:
        facts for the receipt (record of the preparation), such as numbers of clips.

    Raises:
        StpError: an option or a raw file is wrong.
    """
    recipe = job.recipe
    options, raw, height, width, least = read_inputs(job, MovingMnistOptions, channels=1)
    require(height == width, "shape", recipe["shape"], "[1, size, size]")
    span = options.span or least
    require(span >= least, "span", span, f"at least context + horizon = {least}")

    motion = {
        "seed": options.seed,
        "n_digits": options.n_digits,
        "step": options.step,
        "directions": options.directions,
    }
    sources: dict[str, Iterator[np.ndarray]] = {}
    counts: dict[str, int] = {}
    digits = {
        s: _digits(raw, options.digits[s], s, height) for s in SPLITS if options.digits.get(s)
    }
    for stream, split in enumerate(SPLITS[1:], start=1):
        if split == "test" and options.official_test:
            path = raw.find(options.official_test)
            published = _open_test_clips(path, span, height)
            number, configured = published.shape[1], options.clips.get("test")
            expected = f"null or {number}, the number of clips in {options.official_test}"
            require(configured in (None, number), "clips.test", configured, expected)
            counts[split] = number
            sources[split] = _copy_batches(published)
        else:
            counts[split] = options.clips[split] or 0
            drawn = {**motion, "stream": stream, "length": span, "size": height}
            sources[split] = _render_batches(digits[split], counts[split], drawn)

    virtual = {
        "renderer": "moving_digits",
        "array": "digits",
        "clips_per_epoch": options.clips_per_epoch,
        "size": height,
        **motion,
    }
    attrs = attributes(recipe, raw, **PIXELS, virtual={"train": virtual})
    group = create_group(job.out / "frames.zarr", attrs)
    # One file, so that the renderer gets all digits as one mapped array.
    pool = create_array(
        group,
        "digits",
        digits["train"].shape,
        np.uint8,
        ("digit", "digit_y", "digit_x"),
        (1024, *digits["train"].shape[1:]),
        max_files=1,
    )
    pool[:] = digits["train"]

    total = sum(counts.values())
    frames = create_array(
        group,
        "frames",
        (total * span, *recipe["shape"]),
        np.uint8,
        ("frame", "channel", "y", "x"),
        (10, *recipe["shape"]),
    )
    done = 0
    with SequentialWriter(frames) as writer:
        for split, source in sources.items():
            for clips in source:
                writer.append(clips.reshape(-1, *recipe["shape"]))
                done += len(clips)
                job.report(f"{split} clips", done, total)

    rows: list[Clip] = []
    for split in sources:
        for i in range(counts[split]):
            name = f"clip-{i:05d}"
            rows.append(Clip(split, name, len(rows) * span, 1, span, f"{split}/{name}"))
    extras = write_index(job.out, rows, virtual=["train"])
    extras["clips"]["train"] = options.clips_per_epoch
    return {**extras, "training digits": len(digits["train"])}


def count(recipe: Recipe, raw: Lists) -> Planned:
    """Count the clips that `run` will write, from the options or the file of published test clips.

    The file is opened only if the options use published test clips without stating their number.

    Args:
        recipe: recipe of the preparation, with ``options``, ``context`` and ``horizon``.
        raw: finds the file of published test clips among the raw files.

    Returns:
        the clips, or their numbers by split, or the reason why a number is not known yet.

    Raises:
        StpError: an option is wrong, or the published test clips are damaged.
    """
    options = build(MovingMnistOptions, recipe["options"], "prepare options")
    numbers = {"train": options.clips_per_epoch}
    numbers |= {split: n for split in SPLITS[1:] if (n := options.clips.get(split)) is not None}
    if options.official_test and "test" not in numbers:
        span = options.span or recipe["context"] + recipe["horizon"]
        try:
            path = raw.find(options.official_test)
        except StpError as error:
            return Planned(numbers=numbers, unknown={"test": error.what})
        numbers["test"] = _open_test_clips(path, span, recipe["shape"][1]).shape[1]
    return Planned(numbers=numbers)


def _digits(raw: RawFiles, part: dict[str, Any] | None, split: str, size: int) -> np.ndarray:
    """Read the pictures of digits of a split, uint8 (N, h, w)."""
    assert part is not None
    path = raw.find(part["file"])
    pictures = read_pictures(path)
    expected = f"`to` at most {len(pictures)}, the number of pictures in {path}"
    require(part["to"] <= len(pictures), f"digits.{split}", part, expected)
    if max(pictures.shape[1:]) > size:
        raise RawFileError(
            path,
            f"pictures of {pictures.shape[1]} x {pictures.shape[2]}",
            expected=f"at most {size} x {size}, the shape of the dataset",
        )
    return pictures[part["from"] : part["to"]]


def _open_test_clips(path: Path, span: int, size: int) -> np.ndarray:
    """Map the published test clips into memory, uint8 (T, N, H, W)."""
    try:
        clips = np.load(path, mmap_mode="r")
        if not isinstance(clips, np.ndarray):
            raise ValueError("several arrays")
    except (OSError, ValueError, EOFError, SyntaxError, TokenError, BadZipFile) as error:
        raise RawFileError(path, f"cannot be read as a NumPy file ({error})") from error
    if clips.dtype != np.uint8 or clips.shape[:1] + clips.shape[2:] != (span, size, size):
        raise RawFileError(
            path,
            f"{clips.dtype} of shape {clips.shape}",
            expected=f"uint8 of shape ({span}, number of clips, {size}, {size})",
        )
    return clips


def _copy_batches(published: np.ndarray) -> Iterator[np.ndarray]:
    for i in range(0, published.shape[1], BATCH):
        yield published[:, i : i + BATCH].swapaxes(0, 1)


def _render_batches(
    digits: np.ndarray, count: int, options: dict[str, Any]
) -> Iterator[np.ndarray]:
    for i in range(0, count, BATCH):
        yield render(digits, np.arange(i, min(i + BATCH, count)), epoch=0, **options)
