"""Stand-in for a rain radar: cells that drift over a square, a file of mm/h for each day."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stp.core.job import Report
from stp.core.options import build, require, whole


@dataclass(frozen=True)
class RainOptions:
    """Options of the generator.

    Attributes:
        days: number of files.
        frames: of each day.
        size: pixels along an edge.
        seed: of everything random.
    """

    days: int = 12
    frames: int = 20
    size: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        for key in ("days", "frames", "size"):
            value = getattr(self, key)
            require(whole(value, 4), key, value, "a whole number from 4")


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write ``rain/day-NN.npy``, float32 (frames, size, size), mm/h.

    Raises:
        StpError: an unknown option or one out of its range.
    """
    chosen = build(RainOptions, options, "generator options")
    (out / "rain").mkdir(parents=True)
    y, x = np.mgrid[: chosen.size, : chosen.size]
    for day in range(chosen.days):
        rng = np.random.default_rng([chosen.seed, day])
        rain = np.zeros((chosen.frames, chosen.size, chosen.size), np.float32)
        speed = rng.normal(0, 0.7, 2)
        for _ in range(4):
            place, width, peak = rng.random(2) * chosen.size, rng.uniform(1, 3), rng.uniform(2, 20)
            for frame in range(chosen.frames):
                there = (place + frame * speed) % chosen.size
                away = (y - there[0]) ** 2 + (x - there[1]) ** 2
                rain[frame] += peak * np.exp(-away / (2 * width**2))
        np.save(out / "rain" / f"day-{day:02d}.npy", rain)
        report("generate days", day + 1, chosen.days)
