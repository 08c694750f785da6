"""Generate a synthetic version of HMDB51 in the layout of the unpacked dataset.

Same as in the official data: a folder of AVI files (MPEG-4, colour, 30 frames per second, even
sizes that differ) for each action, and the lists ``<action>_test_split1.txt``, whose lines end with
0, 1 or 2 and a space. Some names have signs such as # and (. Different: the scene
(stp/fetch/tabletop.py), the number of actions and videos, and sizes, which are smaller.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from stp.core.job import Report
from stp.core.options import build, require
from stp.fetch.film_write import encode
from stp.fetch.tabletop import Camera, render, simulate

ACTIONS = ("brush_hair", "cartwheel", "catch", "chew")
FPS = 30


@dataclass(frozen=True)
class Hmdb51Options:
    """Options of the generator of synthetic HMDB51.

    Attributes:
        actions: number of actions, at most four.
        videos: number of videos of each action (officially at least 101).
        frames: number of frames of the shortest video; others have up to 8 more.
        height: height of a frame (officially 240); widths are about four thirds of the height.
        seed: seed of all random numbers.
    """

    actions: Annotated[int, Field(ge=1, le=4)] = 2
    videos: Annotated[int, Field(ge=3)] = 12
    frames: PositiveInt = 18
    height: Annotated[int, Field(ge=16)] = 48
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        require(self.height % 2 == 0, "height", self.height, "an even number")


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write the videos, ``hmdb51/videos/<action>/*.avi``, and the lists, ``hmdb51/splits/*.txt``.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(Hmdb51Options, options, "generator options")
    lists = out / "hmdb51" / "splits"
    lists.mkdir(parents=True)
    for a, action in enumerate(ACTIONS[: chosen.actions]):
        folder = out / "hmdb51" / "videos" / action
        folder.mkdir(parents=True)
        lines = []
        for i in range(chosen.videos):
            rng = np.random.default_rng([chosen.seed, a, i])
            width = 2 * round(chosen.height * (0.6 + 0.1 * (i % 3)))
            frames = chosen.frames + int(rng.integers(9))
            motion = simulate(rng, frames, objects=int(rng.integers(2, 5)))
            pictures = render(motion, Camera.draw(rng), chosen.height, width, rng)
            name = f"#{i:03d}_made_up_(table)_{action}_u_nm_np1_fr_med_{i % 3}.avi"
            (folder / name).write_bytes(encode(pictures, form="avi", rate=FPS))
            # About half for training, a quarter for the test, a quarter unused.
            lines.append(f"{name} {(1, 1, 2, 0)[i % 4]} \n")
            report("film videos", a * chosen.videos + i + 1, chosen.actions * chosen.videos)
        (lists / f"{action}_test_split1.txt").write_text("".join(lines), encoding="utf-8")
