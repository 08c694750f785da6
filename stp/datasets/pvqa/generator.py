"""Generate a synthetic version of the IISc PVQA database: damaged videos, and simulated raters.

Same as in the official data: names of the videos, four sizes, 4 observed and 16 predicted frames,
MOS.csv, TrainTestSplit.csv and the folder Predicted_Videos. Additional files, which the official
data may lack: the true futures (True_Videos), Ratings.csv, and Tags.csv with the damage of each
video. So expected results are known: the true quality is ``best - worst * strength`` for all kinds
of damage.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import av
import numpy as np
import pandas as pd
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt
from scipy.ndimage import gaussian_filter, map_coordinates

from stp.core.job import Report
from stp.core.options import build, require, whole
from stp.opinions.raters import Crowd
from stp.opinions.ratings import opinions
from stp.opinions.splits import random_splits

COUNTS = {
    **{"BAIR": 40, "BDD100K": 40, "Caltech": 14, "KITTI": 46, "KTH": 33},
    **{"MSR": 17, "PENN": 50, "PUSH": 10, "UCF": 50},
}
"""Number of videos of each source, as in the official data."""
MOST = sum(COUNTS.values())
SIZES = ((64, 64), (128, 128), (128, 160), (240, 320))
"""Height and width of videos."""
DAMAGES = ("blur", "shape", "disappearance", "color")
CONTEXT, FRAMES = 4, 20


@dataclass(frozen=True)
class PvqaOptions:
    """Options of the generator of synthetic PVQA.

    Attributes:
        folder: folder of the database, below a raw folder.
        videos: number of videos (officially 300, with the official names); sources are used in
            turn.
        natural: share of the videos that are not damaged (30 of 300).
        sizes: number of sizes of videos, from the smallest of the four.
        raters: number of raters (50).
        random: number of raters who answer at random.
        ratings: number of ratings of each video (20).
        noise: standard deviation of the noise of a rating, points.
        best: opinion of natural videos, points.
        worst: reduction of the opinion by damage of full strength, points.
        splits: number of splits in TrainTestSplit.csv (100); a fifth of the videos is the test set
            of each.
        seed: seed of all random numbers.
    """

    folder: str = "opinions"
    videos: Annotated[int, Field(ge=20, le=MOST)] = 300
    natural: Annotated[float, Field(ge=0, lt=1)] = 0.1
    sizes: Annotated[int, Field(ge=1, le=len(SIZES))] = 4
    raters: int = 50
    random: int = 3
    ratings: Annotated[int, Field(ge=2)] = 20
    noise: NonNegativeFloat = 8.0
    best: NonNegativeFloat = 77.0
    worst: NonNegativeFloat = 50.0
    splits: PositiveInt = 100
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        require(whole(self.raters, self.ratings), "raters", self.raters, "not fewer than ratings")
        require(whole(self.random, 0, self.raters // 4), "random", self.random, "0 to a quarter")


@dataclass(frozen=True)
class MadeVideo:
    """A synthetic video of a prediction, with damaged and true frames.

    Attributes:
        name: name of the video, such as ``BAIR_001``.
        source: name of the dataset that the video represents.
        damage: kind of damage; ``none`` for natural videos.
        strength: strength of the damage, from 0 to 1.
        frames, truth: damaged and true frames, uint8 (T, H, W, 3).
    """

    name: str
    source: str
    damage: str
    strength: float
    frames: np.ndarray
    truth: np.ndarray


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write synthetic videos with simulated ratings: MOS.csv, Ratings.csv, Tags.csv and others.

    The other files are TrainTestSplit.csv and the videos themselves, both the damaged
    (Predicted_Videos) and the true ones (True_Videos).

    Args:
        out: folder of raw files; the files are written into its folder `PvqaOptions.folder`.
        options: values of `PvqaOptions` by name; those that are missing get their defaults.
        report: callback for the progress.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(PvqaOptions, options, "generator options")
    folder = out / chosen.folder
    tags, quality = [], []
    numbered = sorted((n, source) for source, many in COUNTS.items() for n in range(1, many + 1))
    for number, (n, source) in enumerate(numbered[: chosen.videos]):
        pair = video(source, n, chosen)
        for kind, frames in (("Predicted", pair.frames), ("True", pair.truth)):
            path = folder / f"{kind}_Videos" / f"{pair.name}.mp4"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_video(path, frames)
        quality.append(chosen.best - chosen.worst * pair.strength)
        is_natural = pair.damage == "none"
        stochastic = "" if is_natural else ("stochastic", "deterministic")[number % 2]
        generator = "" if is_natural else f"{stochastic}_{number % 4 // 2 + 1}"
        about = "natural" if is_natural else pair.damage
        tags.append([pair.name, pair.source, about, f"{pair.strength:.3f}", stochastic, generator])
        report("videos made", number + 1, chosen.videos)
    names = np.array([tag[0] for tag in tags])
    crowd = Crowd(raters=chosen.raters, random=chosen.random, noise=chosen.noise)
    answers = crowd.answers(np.array(quality), names, chosen.ratings, chosen.seed)
    scores = opinions(answers)
    header = ["Video Name", "Dataset", "Tags", "Strength", "Family", "Generator"]
    _write(folder / "Tags.csv", header, tags)
    columns = (answers.rater, answers.session, answers.video, answers.score)
    rows = [
        [who, when, name, f"{score:g}"] for who, when, name, score in zip(*columns, strict=True)
    ]
    _write(folder / "Ratings.csv", ["Rater", "Session", "Video Name", "Rating"], rows)
    mos = [[name, f"{value:.4f}"] for name, value in zip(scores.video, scores.mos, strict=True)]
    _write(folder / "MOS.csv", ["Video Name", "MOS"], mos)
    drawn = random_splits(len(names), len(names) // 5, chosen.splits, chosen.seed)
    header = ["Video Name", *(f"Split{number:03d}" for number in range(1, chosen.splits + 1))]
    is_test = np.where(drawn.T, "Test", "Train").tolist()
    _write(
        folder / "TrainTestSplit.csv",
        header,
        [[str(name), *row] for name, row in zip(names, is_test, strict=True)],
    )


def _write(path: Path, header: list[str], rows: list[list[str]]) -> None:
    pd.DataFrame(rows, columns=header).to_csv(path, index=False, lineterminator="\n")


def video(source: str, number: int, options: PvqaOptions) -> MadeVideo:
    """Make one video; it does not depend on how many videos are made.

    Args:
        source: name of the dataset that the video represents.
        number: number of the video among those of this dataset.
        options: options of the generator.
    """
    which = [options.seed, list(COUNTS).index(source), number]
    rng = np.random.default_rng(which)
    height, width = SIZES[which[1] % options.sizes]
    natural = rng.random() < options.natural
    damage = "none" if natural else DAMAGES[rng.integers(len(DAMAGES))]
    strength = 0.0 if natural else float(rng.uniform(0.1, 1))
    grey = source == "KTH"
    truth = scene(rng, height, width, grey, vanishing=None)
    frames = truth
    if damage == "disappearance":
        again = np.random.default_rng(which)
        again.random(), again.integers(len(DAMAGES)), again.uniform(0.1, 1)
        frames = scene(again, height, width, grey, vanishing=strength)
    elif damage != "none":
        frames = damage_frames(truth, damage, strength, rng)
    return MadeVideo(f"{source}_{number:03d}", source, damage, strength, frames, truth)


def scene(
    rng: np.random.Generator, height: int, width: int, grey: bool, vanishing: float | None
) -> np.ndarray:
    """Draw textured discs that move over a textured ground.

    Args:
        rng: random number generator of all draws.
        height, width: height and width of a frame.
        grey: whether the three channels are equal.
        vanishing: strength of the fading of discs after the context; None without fading.

    Returns:
        frames, uint8 (T, H, W, 3).
    """
    scale = height / 64
    ground = rng.normal(size=(height, width, 3))
    ground = 110 + 60 * _unit(gaussian_filter(ground, (2 * scale, 2 * scale, 0)))
    y, x = np.mgrid[:height, :width].astype(float)
    discs = [
        (
            rng.uniform(0.25, 0.75, 2) * (height, width),
            rng.normal(0, 1.2 * scale, 2),
            rng.uniform(6, 12) * scale,
            rng.uniform(30, 225, 3),
            rng.uniform(0.3, 1.2) / scale,
        )
        for _ in range(3)
    ]
    frames = np.repeat(ground[None], FRAMES, axis=0)
    for t in range(FRAMES):
        visible = 1.0
        if vanishing is not None and t >= CONTEXT:
            visible = 1 - vanishing * min(1, (t - CONTEXT + 1) / 8)
        for centre, speed, radius, color, stripes in discs:
            at = centre + speed * t
            away = np.hypot(y - at[0], x - at[1])
            cover = visible * np.clip(radius - away + 0.5, 0, 1)[..., None]
            texture = 25 * np.sin(stripes * (y - at[0] + x - at[1]))[..., None]
            frames[t] = frames[t] * (1 - cover) + (color + texture) * cover
    if grey:
        frames = np.repeat(frames.mean(axis=-1, keepdims=True), 3, axis=-1)
    return np.asarray(frames).clip(0, 255).round().astype(np.uint8)


def damage_frames(
    truth: np.ndarray, damage: str, strength: float, rng: np.random.Generator
) -> np.ndarray:
    """Damage the frames after the context, with strength increasing over time.

    Args:
        truth: true frames, of which the first 4 are the context, uint8 (20, H, W, 3).
        damage: ``blur``, ``shape`` (a wavy displacement) or ``color`` (a shift of the hue).
        strength: strength of the damage from the eighth damaged frame on, from 0 to 1. In earlier
            frames, the damage is weaker.
        rng: random number generator of the phase of displacements and of the direction of a shift.

    Returns:
        the context frames as they are, and damaged frames, uint8 (20, H, W, 3).
    """
    frames = truth.astype(float)
    height, width = truth.shape[1:3]
    scale = height / 64
    phase = rng.uniform(0, 2 * np.pi, 2)
    shift = rng.normal(size=3)
    shift -= shift.mean()
    shift *= 110 / np.abs(shift).max()
    y, x = np.mgrid[:height, :width].astype(float)
    for t in range(CONTEXT, FRAMES):
        grown = strength * min(1, (t - CONTEXT + 1) / 8)
        if damage == "blur":
            frames[t] = gaussian_filter(frames[t], (3 * scale * grown, 3 * scale * grown, 0))
        elif damage == "color":
            frames[t] = frames[t] + grown * shift
        else:
            reach, length = 4 * scale * grown, 2 * np.pi / (9 * scale)
            at = [
                y + reach * np.sin(length * x + phase[0]),
                x + reach * np.sin(length * y + phase[1]),
            ]
            for channel in range(3):
                frames[t, ..., channel] = map_coordinates(
                    truth[t, ..., channel].astype(float), at, order=1, mode="nearest"
                )
    return frames.clip(0, 255).round().astype(np.uint8)


def _unit(values: np.ndarray) -> np.ndarray:
    return np.asarray(values / values.std())


def write_video(path: Path, frames: np.ndarray) -> None:
    """Write RGB frames without loss, 4 a second: uint8 (T, H, W, 3)."""
    # Of all presets, which give the same frames here, this one is written and read fastest.
    options = {"crf": "0", "preset": "ultrafast", "threads": "1"}
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264rgb", rate=4, options=options)
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = "rgb24"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())
