"""Generate a synthetic version of Human3.6M: a figure that moves before four cameras.

Names of the pictures, their sizes, the numbering of frames and cameras, and the lists of clips are
as PredBench uses them (Ionescu et al. 2014): every fifth frame of each video is a JPEG file,
``S1_Walking.54138969_000006.jpg``, packed into one tar archive for each actor, or in a folder; a
clip starts every 25 frames. The videos, poses and silhouettes of the official release are missing.

A figure of tubes moves in three dimensions. The cameras are in the corners of the room, so the four
videos of a performance differ only in the view.
"""

import io
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from PIL import Image, ImageDraw
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from stp.core.job import Report
from stp.core.options import build, require

CAMERAS = {"54138969": (1002, 1000), "55011271": (1000, 1000)} | {
    "58860488": (1000, 1000),
    "60457274": (1002, 1000),
}
"""Height and width of the official pictures by camera. Both sizes exist; the assignment to cameras
was not checked."""
SPLITS = ("train", "val", "test")
_INTERVAL, _SPAN, _EVERY, _FPS = 5, 70, 25, 50
_QUALITY = 90

Performance = Annotated[str, Field(pattern=r"^[A-Za-z]+(_\d)?$")]


@dataclass(frozen=True)
class Human36mOptions:
    """Options of the generator of synthetic Human3.6M.

    Attributes:
        actors: numbers of the actors; officially 1, 5, 6, 7, 8, 9 and 11.
        performances: names of performances: scenario, with a number for the second one; officially
            about 30 per actor.
        cameras: number of cameras, 1 to 4; they are the first ones of `CAMERAS`.
        frames: number of frames of a video; every fifth frame is a picture.
        size: height and width of all pictures; null for the official sizes.
        every: number of frames from the start of one clip to the next.
        shares: shares of the clips for validation and for the test, each from 0 to 1; the others
            are for training. The defaults are the official shares.
        packed: whether pictures are packed in ``human36m/S<actor>.tar``.
        seed: seed of all random numbers; a video does not depend on which others are generated.
    """

    actors: tuple[PositiveInt, ...] = (1, 5, 6, 7, 8, 9, 11)
    performances: tuple[Performance, ...] = ("Walking", "Sitting", "Greeting_1")
    cameras: Annotated[int, Field(ge=1, le=len(CAMERAS))] = 4
    frames: Annotated[int, Field(ge=_SPAN + 1)] = 400
    size: tuple[Annotated[int, Field(ge=16)], Annotated[int, Field(ge=16)]] | None = None
    every: PositiveInt = _EVERY
    shares: tuple[PositiveFloat, PositiveFloat] = (7341 / 81986, 8582 / 81986)
    packed: bool = True
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        for name, values in (("actors", self.actors), ("performances", self.performances)):
            ok = 0 < len(set(values)) == len(values)
            require(ok, name, values, "different ones, one at least")
        require(self.every % _INTERVAL == 0, "every", self.every, f"a multiple of {_INTERVAL}")
        require(sum(self.shares) < 1, "shares", self.shares, "together less than 1")


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write the pictures, ``human36m/S<actor>.tar`` or ``human36m/images``, and the lists of clips.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(Human36mOptions, options, "generator options")
    folder = out / "human36m"
    folder.mkdir(parents=True)
    total = len(chosen.actors) * len(chosen.performances) * chosen.cameras
    done = 0
    videos = []
    for actor in chosen.actors:
        with _Pictures(folder, actor, chosen.packed) as pictures:
            for performance in chosen.performances:
                for camera in list(CAMERAS)[: chosen.cameras]:
                    video = f"S{actor}_{performance}.{camera}"
                    videos.append(video)
                    size = chosen.size or CAMERAS[camera]
                    for number, picture in film(chosen, actor, performance, camera, size):
                        pictures.add(f"{video}_{number:06d}.jpg", picture)
                    done += 1
                    report("film videos", done, total)
    _write_lists(out / "predbench_annotations/human", videos, chosen)


class _Pictures:
    """Writes pictures to a tar archive of one actor, or to a folder of all actors."""

    def __init__(self, folder: Path, actor: int, packed: bool) -> None:
        self.folder = folder / "images"
        self.archive: tarfile.TarFile | None = None
        if packed:
            path = folder / f"S{actor}.tar"
            self.archive = tarfile.open(path, "w", format=tarfile.USTAR_FORMAT)  # noqa: SIM115
        else:
            self.folder.mkdir(exist_ok=True)

    def __enter__(self) -> "_Pictures":
        return self

    def __exit__(self, *_: object) -> None:
        if self.archive is not None:
            self.archive.close()

    def add(self, name: str, picture: Image.Image) -> None:
        content = io.BytesIO()
        picture.save(content, "JPEG", quality=_QUALITY)
        if self.archive is None:
            (self.folder / name).write_bytes(content.getvalue())
            return
        entry = tarfile.TarInfo(f"images/{name}")
        entry.size = len(content.getvalue())
        content.seek(0)
        self.archive.addfile(entry, content)


def _write_lists(folder: Path, videos: list[str], chosen: Human36mOptions) -> None:
    """Write lists of clips, which are assigned to splits at random, clip by clip as officially."""
    rng = np.random.default_rng([chosen.seed, 1000])
    lines = []
    for video in videos:
        first = int(rng.choice([1, 6, 11, 16, 21]))
        for start in range(first, chosen.frames - _SPAN + 1, chosen.every):
            lines.append(f"images/{video}_,{start},{start + _SPAN}\n")
    order = rng.permutation(len(lines)).tolist()
    val, test = (max(1, round(share * len(lines))) for share in chosen.shares)
    folder.mkdir(parents=True)
    parts = (order[val + test :], order[:val], order[val : val + test])
    for split, part in zip(SPLITS, parts, strict=True):
        text = "".join(lines[i] for i in part)
        (folder / f"human_{split}.txt").write_text(text, encoding="ascii")


def film(
    chosen: Human36mOptions, actor: int, performance: str, camera: str, size: tuple[int, int]
) -> Iterator[tuple[int, Image.Image]]:
    """Yield every fifth frame of a synthetic video: its number, and its picture.

    All cameras film the same motion of an actor in a performance.

    Args:
        chosen: options of the generator, with the number of frames and the seed.
        actor: number of the actor, such as 5; it determines height and colours of the figure.
        performance: name of the performance, such as "Walking" or "Greeting_1". Its beginning
            determines whether the figure walks (Walk...), sits (Sitting, Eating, Phoning, Smoking)
            or stands (all others).
        camera: identifier of the camera, a key of `CAMERAS`, such as "54138969".
        size: height and width of the pictures, pixels.

    Yields:
        number of the frame (1, 6, 11, ...), and its RGB picture.
    """
    # The same motion for all cameras.
    rng = np.random.default_rng([chosen.seed, actor, zlib.crc32(performance.encode())])
    motion = _Motion(performance, rng, np.random.default_rng([chosen.seed, actor]))
    view = _View(list(CAMERAS).index(camera), size)
    room = view.room()
    for index in range(0, chosen.frames, _INTERVAL):
        picture = room.copy()
        view.draw(picture, motion.tubes(index / _FPS))
        yield index + 1, picture


class _Motion:
    """A moving figure, in metres; z points up.

    Args:
        performance: name of the performance, which determines the kind of motion.
        rng: generator of the random numbers of the motion.
        looks: generator of the random numbers of height and colours.
    """

    def __init__(
        self, performance: str, rng: np.random.Generator, looks: np.random.Generator
    ) -> None:
        self.walks = performance.startswith("Walk")
        self.sits = performance.startswith(("Sitting", "Eating", "Phoning", "Smoking"))
        self.height = looks.uniform(1.6, 1.9)
        self.speed = rng.uniform(0.9, 1.4)
        self.radius = rng.uniform(0.9, 1.4)
        self.heading = rng.uniform(0, 2 * np.pi)
        self.place = rng.normal(0, 0.3, 2)
        # Gestures of each arm: angles of the upper arm and the forearm, at some frequencies.
        self.rates = rng.uniform(0.15, 0.7, (2, 2, 2))
        self.phases = rng.uniform(0, 2 * np.pi, (2, 2, 2))
        self.skin = tuple(looks.integers((170, 120, 95), (225, 165, 135)).tolist())
        self.shirt = tuple(looks.integers(30, 220, 3).tolist())
        self.trousers = tuple(looks.integers(20, 110, 3).tolist())

    def tubes(self, t: float) -> list[tuple[np.ndarray, np.ndarray, float, tuple[int, ...]]]:
        """Both ends, radius and colour of all limbs at a time, in seconds."""
        h = self.height
        if self.walks:
            angle = self.speed * t / self.radius + self.heading
            place = self.radius * np.array([np.cos(angle), np.sin(angle)])
            heading = angle + np.pi / 2
        else:
            place = self.place + 0.05 * np.sin([0.7 * t, 0.9 * t + 1])
            heading = self.heading + 0.3 * np.sin(0.5 * t)
        ahead = np.array([np.cos(heading), np.sin(heading), 0])
        aside = np.array([-np.sin(heading), np.cos(heading), 0])
        up = np.array([0.0, 0.0, 1.0])
        stride = 2 * np.pi * self.speed * t / (0.8 * h)
        hip = np.array([*place, 0.27 * h if self.sits else 0.51 * h])
        if self.walks:
            hip = hip + 0.02 * h * np.cos(2 * stride) * up
        neck = hip + 0.31 * h * up + 0.03 * h * ahead
        top = neck + 0.06 * h * up

        def bone(start: np.ndarray, angle: float, length: float, out: float = 0) -> np.ndarray:
            """The end of a limb that hangs down, turned forward by an angle, and outwards."""
            way = np.cos(angle) * -up + np.sin(angle) * ahead + out * aside
            return start + length * h * way / np.linalg.norm(way)

        limbs = [
            (hip, neck, 0.085 * h, self.shirt),
            (top, top + 0.05 * h * up, 0.06 * h, self.skin),
        ]
        for side, half in ((-1, 0.0), (1, np.pi)):
            thigh = shin = 0.0
            if self.sits:
                thigh, shin = 1.45, -0.1
            elif self.walks:
                thigh = 0.45 * np.sin(stride + half)
                shin = thigh - 0.7 * max(0.0, float(np.cos(stride + half)))
            start = hip + side * 0.05 * h * aside
            knee = bone(start, thigh, 0.25)
            foot = bone(knee, shin, 0.25)
            limbs += [(start, knee, 0.05 * h, self.trousers), (knee, foot, 0.04 * h, self.trousers)]
            limbs.append((foot, foot + 0.09 * h * ahead, 0.025 * h, self.trousers))
            shoulder = neck + side * 0.1 * h * aside - 0.03 * h * up
            if self.walks:
                upper, fore, out = -0.4 * np.sin(stride + half), 0.3, 0.05
            else:
                i = (side + 1) // 2
                waves = np.sin(2 * np.pi * self.rates[i] * t + self.phases[i]).sum(axis=-1)
                upper, fore, out = 0.5 + 0.45 * waves[0], 1.2 + 0.6 * waves[1], 0.2
            elbow = bone(shoulder, upper, 0.17, side * out)
            hand = bone(elbow, upper + fore, 0.15)
            limbs += [(shoulder, elbow, 0.032 * h, self.shirt), (elbow, hand, 0.028 * h, self.skin)]
        return limbs


class _View:
    """A camera in a corner of the room, 1.5 m above the floor."""

    def __init__(self, corner: int, size: tuple[int, int]) -> None:
        self.height, self.width = size
        angle = np.pi / 4 + corner * np.pi / 2
        self.eye = np.array([4.4 * np.cos(angle), 4.4 * np.sin(angle), 1.5])
        ahead = np.array([0, 0, 0.9]) - self.eye
        self.ahead = ahead / np.linalg.norm(ahead)
        self.right = np.cross(self.ahead, [0, 0, 1])
        self.right /= np.linalg.norm(self.right)
        self.down = np.cross(self.ahead, self.right)
        self.focal = 1.15 * self.width
        self.corner = corner

    def project(self, point: np.ndarray) -> tuple[float, float, float]:
        """Column, row and distance of a point."""
        away = point - self.eye
        depth = float(away @ self.ahead)
        x = self.width / 2 + self.focal * float(away @ self.right) / depth
        return x, self.height / 2 + self.focal * float(away @ self.down) / depth, depth

    def room(self) -> Image.Image:
        """Draw the empty room: walls, and a carpet."""
        rows = np.linspace(0, 1, self.height)[:, None, None]
        columns = np.linspace(-1, 1, self.width)[None, :, None]
        wall = np.array([150, 150, 158.0]) - 8 * self.corner
        colours = wall - 25 * columns**2 + 15 * rows
        picture = Image.fromarray(np.clip(colours, 0, 255).astype(np.uint8))
        corners = [np.array([x, y, 0.0]) for x, y in ((-2, -2), (-2, 2), (2, 2), (2, -2))]
        outline = [self.project(point)[:2] for point in corners]
        ImageDraw.Draw(picture).polygon(outline, fill=(122, 66, 60))
        return picture

    def draw(
        self,
        picture: Image.Image,
        tubes: list[tuple[np.ndarray, np.ndarray, float, tuple[int, ...]]],
    ) -> None:
        """Draw a figure, the farthest limbs first."""
        pencil = ImageDraw.Draw(picture)
        projected = [(self.project(a), self.project(b), r, colour) for a, b, r, colour in tubes]
        for (ax, ay, az), (bx, by, bz), radius, colour in sorted(projected, key=lambda s: -s[0][2]):
            ra, rb = radius * self.focal / az, radius * self.focal / bz
            pencil.line([ax, ay, bx, by], fill=colour, width=max(1, round(ra + rb)))
            for x, y, r in ((ax, ay, ra), (bx, by, rb)):
                pencil.ellipse([x - r, y - r, x + r, y + r], fill=colour)
