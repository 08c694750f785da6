"""Generate a synthetic version of Kinetics-400, with its names and lists of videos.

Same as in the official data: tables ``train.csv``, ``validate.csv`` and ``test.csv`` with the
columns label, youtube_id, time_start, time_end and split (the test has no labels), and MP4 files
(H.264) of different sizes, named by ID and seconds, in a folder for each action. Some listed videos
are missing, as some official videos are. Different: the scene (stp/fetch/tabletop.py), numbers,
lengths (officially 10 seconds) and sizes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field, NonNegativeInt, PositiveInt

from stp.core.job import Report
from stp.core.options import build, require
from stp.fetch.film_write import encode
from stp.fetch.tabletop import Camera, render, simulate

LABELS = ("abseiling", "playing cricket", "tai chi")
FPS = 25
SPLITS = ("train", "validate", "test")


@dataclass(frozen=True)
class Kinetics400Options:
    """Options of the generator of synthetic Kinetics-400.

    Attributes:
        videos: number of listed videos of all splits (officially about 306,000).
        missing: number n; every n-th listed video is missing.
        frames: number of frames of each video.
        height: height of a frame.
        seed: seed of all random numbers.
    """

    videos: Annotated[int, Field(ge=6)] = 24
    missing: Annotated[int, Field(ge=2)] = 8
    frames: PositiveInt = 18
    height: Annotated[int, Field(ge=16)] = 48
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        require(self.height % 2 == 0, "height", self.height, "an even number")


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write videos, ``kinetics400/videos/<split>/<label>/*.mp4``, and lists, ``kinetics400/*.csv``.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(Kinetics400Options, options, "generator options")
    rows: dict[str, list[list[object]]] = {split: [] for split in SPLITS}
    for i in range(chosen.videos):
        rng = np.random.default_rng([chosen.seed, i])
        label, split = LABELS[i % len(LABELS)], SPLITS[(0, 0, 0, 1, 2, 2)[i % 6]]
        video, first = f"-made_up{i:03d}", int(rng.integers(300))
        known = [] if split == "test" else [label]
        rows[split].append([*known, video, first, first + 10, split])
        if i % chosen.missing != chosen.missing - 1:
            folder = out / "kinetics400" / "videos" / split / label
            folder.mkdir(parents=True, exist_ok=True)
            motion = simulate(rng, chosen.frames, objects=int(rng.integers(2, 5)))
            width = 2 * round(chosen.height * (0.5 + 0.2 * (i % 3)))
            pictures = render(motion, Camera.draw(rng), chosen.height, width, rng)
            name = f"{video}_{first:06d}_{first + 10:06d}.mp4"
            (folder / name).write_bytes(encode(pictures, rate=FPS))
        report("film videos", i + 1, chosen.videos)
    for split, own in rows.items():
        columns = ["youtube_id", "time_start", "time_end", "split"]
        path = out / "kinetics400" / f"{split}.csv"
        columns = columns if split == "test" else ["label", *columns]
        pd.DataFrame(own, columns=columns).to_csv(path, index=False, lineterminator="\n")
