"""Generate a synthetic version of the KTH action videos: figures that walk, run, box or wave.

File names, ``00sequences.txt`` and the video format (AVI, MPEG-4 with tag DX50, 160x120, 25 fps,
grey) are those of the official data (Schuldt, Laptev and Caputo, ICPR 2004). The same video is
missing: person 13's hand clapping in scenario 3. Walkers cross the picture once per sequence, and
the picture is empty in between; other actions continue without a break.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
from av.codec.context import Flags
from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt
from scipy import ndimage

from stp.core.job import Report
from stp.core.options import build, require

ACTIONS = ("boxing", "handclapping", "handwaving", "jogging", "running", "walking")
_WIDTH, _HEIGHT, _FPS = 160, 120, 25
_MISSING = (13, "handclapping", 3)
# speed (pixels per frame); swing of thighs and arms, bend of knee and elbow, lean (radians)
_GAITS = {
    "walking": (2.2, 0.45, 0.8, 0.3, 0.03),
    "jogging": (3.3, 0.60, 1.2, 1.3, 0.08),
    "running": (4.6, 0.75, 1.6, 1.5, 0.15),
}
_PERIODS = {"boxing": 22.0, "handclapping": 18.0, "handwaving": 32.0}  # frames


@dataclass(frozen=True)
class KthOptions:
    """Options of the generator of synthetic KTH.

    Attributes:
        persons: numbers of the persons, 1..25.
        actions: names of actions, from the six official ones.
        scenarios: numbers of scenarios: 1 outdoors, 2 with changing scale, 3 in other clothes, 4
            indoors.
        frames: number of frames of every clip.
        sequences: number of sequences per clip (the official clips have four).
        lawn: lowest and highest grey level of the lawn, 0 to 255; the level is drawn for each clip
            outdoors.
        texture: strength of texture and shading of lawn and wall; 0 for plain ones.
        noise: standard deviation of the sensor noise, grey levels.
        seed: seed of all random numbers; a clip does not depend on which others are generated.
    """

    persons: tuple[int, ...] = tuple(range(1, 26))
    actions: tuple[str, ...] = ACTIONS
    scenarios: tuple[int, ...] = (1, 2, 3, 4)
    frames: PositiveInt = 320
    sequences: PositiveInt = 4
    lawn: tuple[float, float] = (135, 165)
    texture: NonNegativeFloat = 1.0
    noise: NonNegativeFloat = 1.5
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        for key, allowed in (
            ("persons", range(1, 26)),
            ("actions", ACTIONS),
            ("scenarios", range(1, 5)),
        ):
            chosen = getattr(self, key)
            ok = 0 < len(set(chosen)) == len(chosen) and set(chosen) <= set(allowed)
            require(ok, key, chosen, f"different members of {', '.join(map(str, allowed))}")
        ok = 0 <= self.lawn[0] <= self.lawn[1] <= 255
        require(ok, "lawn", self.lawn, "lowest and highest grey, from 0 to 255")
        require(self.frames >= self.sequences, "frames", self.frames, "one per sequence at least")


@dataclass(frozen=True)
class _Person:
    """Properties of a person in all clips. Lengths in pixels, grey levels 0..255."""

    height: float
    width: float
    pace: float
    phase: float
    head: float
    top: float
    legs: float

    @classmethod
    def draw(cls, rng: np.random.Generator) -> "_Person":
        return cls(
            height=rng.uniform(72, 92),
            width=rng.uniform(0.9, 1.15),
            pace=rng.uniform(0.88, 1.12),
            phase=rng.uniform(0, 2 * np.pi),
            head=rng.uniform(90, 150),
            top=rng.uniform(25, 75),
            legs=rng.uniform(20, 60),
        )


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write the videos, ``kth/<action>/*.avi``, and their annotation, ``kth/00sequences.txt``.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(KthOptions, options, "generator options")
    clips = [
        (person, action, scenario)
        for person in sorted(chosen.persons)
        for action in sorted(chosen.actions)
        for scenario in sorted(chosen.scenarios)
    ]
    lines = []
    for done, (person, action, scenario) in enumerate(clips, start=1):
        name = f"person{person:02d}_{action}_d{scenario}"
        if (person, action, scenario) == _MISSING:
            lines.append(f"{name}\t*missing*\r\n")
            continue
        who = _Person.draw(np.random.default_rng([chosen.seed, person]))
        rng = np.random.default_rng([chosen.seed, person, ACTIONS.index(action), scenario])
        spans = sequence_spans(action, who.pace, chosen.frames, chosen.sequences)
        path = out / "kth" / action / f"{name}_uncomp.avi"
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_video(path, render(who, action, scenario, spans, rng, chosen))
        # the official file aligns its columns: one tab after the longest action, two elsewhere
        tabs = "\t" if action == "handclapping" else "\t\t"
        listed = ", ".join(f"{first + 1}-{last}" for first, last in spans)
        lines.append(f"{name}{tabs}frames\t{listed}\r\n")
        report("draw clips", done, len(clips))
    (out / "kth" / "00sequences.txt").write_text("".join(lines), encoding="ascii", newline="")


def sequence_spans(action: str, pace: float, frames: int, sequences: int) -> list[tuple[int, int]]:
    """Frames [first, last) of every sequence; the first starts at 0, the last ends at ``frames``.

    A sequence of a walker lasts as long as crossing the picture takes, but is shorter if the
    sequences do not fit into the clip.

    Args:
        action: name of the action.
        pace: factor of the speed of the person, about 1.
        frames: number of frames of the clip.
        sequences: number of sequences.
    """
    if action not in _GAITS or sequences == 1:
        edges = np.linspace(0, frames, sequences + 1).astype(int).tolist()
        return list(pairwise(edges))
    # At least one frame between two of them, or a window could hold a walker who jumps back.
    most = max(1, frames // sequences - 1)
    length = min(most, round(_WIDTH / (_GAITS[action][0] * pace)))
    starts = np.linspace(0, frames - length, sequences).astype(int).tolist()
    return [(start, start + length) for start in starts]


def render(
    who: _Person,
    action: str,
    scenario: int,
    spans: list[tuple[int, int]],
    rng: np.random.Generator,
    options: KthOptions,
) -> np.ndarray:
    """Draw all frames of a clip.

    Args:
        who: look and pace of the person.
        action: name of the action.
        scenario: number of the scenario, 1..4.
        spans: frames of each sequence, from `sequence_spans`.
        rng: generator of all random numbers.
        options: options of the generator.

    Returns:
        grey levels, uint8 (T, 120, 160).
    """
    background = _background(scenario, rng, options)
    ground = rng.uniform(106, 112)
    if scenario == 3:  # other clothes: a light coat
        who = replace(who, top=215.0, width=1.15 * who.width)
    phase, side = who.phase + rng.uniform(0, 2 * np.pi), rng.uniform(68, 92)
    frames = np.empty((spans[-1][1], _HEIGHT, _WIDTH), np.uint8)
    starts = [first for first, _ in spans]
    for t in range(len(frames)):
        turn = int(np.searchsorted(starts, t, side="right")) - 1
        first, last = spans[turn]
        since = t - first
        height = who.height
        if scenario == 2:  # walks or stands nearer and nearer to the camera
            height *= 0.8 + 0.25 * min(1.0, since / max(1, last - first))
        image = background.copy()
        if action in _GAITS:
            speed, swing = _GAITS[action][0] * who.pace, _GAITS[action][1]
            facing = -1 if turn % 2 == 0 else 1  # the first time from right to left, then back
            way = speed * since - 4.0
            x = way if facing == 1 else _WIDTH - 1 - way
            # a stride is as long as both legs swing apart, so that the feet do not slide
            stride = 4 * 0.5 * who.height * np.sin(swing)
            limbs = _gait(action, height, phase + 2 * np.pi * speed * since / stride, who)
        else:
            facing = 1 if scenario % 2 else -1
            angle = phase + 2 * np.pi * t * who.pace / _PERIODS[action]
            x = side + 0.5 * np.sin(angle)
            if action == "boxing":
                limbs = _boxing(height, angle, who)
            else:
                limbs = _front_limbs(action, height, angle, who)
        limbs[:, [0, 2]] = x + facing * limbs[:, [0, 2]]
        # the lowest point of the figure stands on the ground
        limbs[:, [1, 3]] += ground - (limbs[:, [1, 3]] + limbs[:, 4:5]).max()
        _paint(image, limbs)
        image += rng.normal(0, options.noise, image.shape)
        frames[t] = np.clip(np.rint(image), 0, 255)
    return frames


def _gait(action: str, height: float, angle: float, who: _Person) -> np.ndarray:
    """A walking, jogging or running figure at ``angle`` of its stride; limbs as in ``_profile``."""
    _, swing, knee, elbow, lean = _GAITS[action]
    legs, arms = [], []
    for half in (np.pi, 0.0):
        thigh = swing * np.sin(angle + half)
        # the knee bends while the leg swings forward
        legs.append((thigh, thigh - knee * max(0.0, float(np.cos(angle + half))) - 0.05))
        arms.append((-thigh, -thigh + elbow))
    return _profile(height, lean, legs, arms, who)


def _boxing(height: float, angle: float, who: _Person) -> np.ndarray:
    """A figure that strikes with both fists in turn; limbs as in ``_profile``."""
    arms = []
    for half in (np.pi, 0.0):
        reach = (0.5 - 0.5 * np.cos(angle + half)) ** 2  # 0 fist at the chin, 1 stretched
        upper = 0.5 + 1.05 * reach
        arms.append((upper, upper + 2.1 * (1 - reach)))
    return _profile(height, 0.05, [(-0.15, -0.2), (0.15, 0.1)], arms, who)


def _profile(
    height: float,
    lean: float,
    legs: list[tuple[float, float]],
    arms: list[tuple[float, float]],
    who: _Person,
) -> np.ndarray:
    """Make a figure seen from the side, facing positive x.

    Args:
        lean: angle of the lean of the body, radians.
        legs: angles (thigh, shin) of the far and the near leg, radians forward from hanging down.
        arms: angles (upper arm, forearm) of the far and the near arm, radians forward from hanging
            down.

    Returns:
        limbs in painting order, (limbs, 6): x0, y0, x1, y1 relative to the hip (y down), radius,
        grey level.
    """
    shoulder = (0.30 * height * np.sin(lean), -0.30 * height * np.cos(lean))
    head = (shoulder[0] + 0.03 * height, shoulder[1] - 0.12 * height)
    limbs: list[list[float]] = []
    for side, (thigh, shin), (upper, fore) in zip(("far", "near"), legs, arms, strict=True):
        light = 12 if side == "far" else 0
        if side == "near":
            limbs.append([0, 0, *shoulder, 0.075 * height * who.width, who.top])
            limbs.append([*head, head[0], head[1] - 0.02 * height, 0.062 * height, who.head])
        joints = _chain((0, 0), [(thigh, 0.25 * height), (shin, 0.25 * height)])
        limbs += _tubes(joints, 0.045 * height * who.width, who.legs + light)
        x, y = joints[-1]
        limbs.append([x, y, x + 0.06 * height, y, 0.022 * height, who.legs + light])
        joints = _chain(shoulder, [(upper, 0.17 * height), (fore, 0.17 * height)])
        limbs += _tubes(joints, 0.032 * height * who.width, who.top + light)
    return np.array(limbs, float)


def _front_limbs(action: str, height: float, angle: float, who: _Person) -> np.ndarray:
    """A figure that waves or claps, seen from the front; limbs as in ``_profile``."""
    opening = 0.5 - 0.5 * np.cos(angle)
    limbs = [
        [0, 0, 0, -0.28 * height, 0.10 * height * who.width, who.top],
        [0, -0.42 * height, 0, -0.44 * height, 0.062 * height, who.head],
    ]
    for mirror in (-1, 1):
        hip, foot = (mirror * 0.05 * height, 0.0), (mirror * 0.08 * height, 0.50 * height)
        limbs.append([*hip, *foot, 0.047 * height * who.width, who.legs])
        shoulder = (mirror * 0.11 * height, -0.30 * height)
        if action == "handwaving":  # from beside the legs to above the head and back
            lift = 0.35 + 2.4 * opening
            joints = _chain(shoulder, [(lift, 0.17 * height), (lift + 0.1, 0.17 * height)], mirror)
        else:  # the hands meet in front of the chest
            hand = (mirror * (0.02 + 0.26 * opening) * height, -0.20 * height)
            joints = [*_chain(shoulder, [(0.3 + 0.5 * opening, 0.17 * height)], mirror), hand]
        limbs += _tubes(joints, 0.034 * height * who.width, who.top + 30)
    return np.array(limbs, float)


def _chain(
    start: tuple[float, float], bones: list[tuple[float, float]], mirror: int = 1
) -> list[tuple[float, float]]:
    """Positions of the joints of a chain of bones (angle from hanging down, length)."""
    joints = [start]
    for angle, length in bones:
        x, y = joints[-1]
        joints.append((x + mirror * length * np.sin(angle), y + length * np.cos(angle)))
    return joints


def _tubes(joints: list[tuple[float, float]], radius: float, grey: float) -> list[list[float]]:
    return [[*a, *b, radius, grey] for a, b in pairwise(joints)]


def _paint(image: np.ndarray, limbs: np.ndarray) -> None:
    """Draw limbs, tubes with round ends and edges one pixel soft, into a (H, W) float image."""
    reach = limbs[:, 4].max() + 1
    x0, y0 = np.floor(limbs[:, :4].reshape(-1, 2).min(0) - reach).astype(int).clip(0)
    x1, y1 = np.ceil(limbs[:, :4].reshape(-1, 2).max(0) + reach).astype(int) + 1
    patch = image[y0 : max(y1, 0), x0 : max(x1, 0)]
    if patch.size == 0:
        return
    y, x = np.ogrid[y0 : y0 + patch.shape[0], x0 : x0 + patch.shape[1]]
    ax, ay, bx, by, radius, grey = (limbs[:, k, None, None].astype(np.float32) for k in range(6))
    x, y = x.astype(np.float32) - ax, y.astype(np.float32) - ay
    dx, dy = bx - ax, by - ay
    along = ((x * dx + y * dy) / np.maximum(dx * dx + dy * dy, 1e-6)).clip(0, 1)
    cover = (radius + 0.5 - np.hypot(x - along * dx, y - along * dy)).clip(0, 1)
    for part, shade in zip(cover, grey, strict=True):
        patch += part * (shade - patch)


def _background(scenario: int, rng: np.random.Generator, options: KthOptions) -> np.ndarray:
    """A still (120, 160) float image: a lawn, or a wall with a floor, with a light texture."""
    noise = options.texture * rng.normal(size=(2, _HEIGHT, _WIDTH))
    fine = ndimage.gaussian_filter(noise[0], 1.0) * np.sqrt(4 * np.pi)  # unit variance
    coarse = ndimage.gaussian_filter(noise[1], 8.0, mode="wrap") * np.sqrt(4 * np.pi) * 8
    slope = options.texture * np.linspace(-12, 12, _HEIGHT)[:, None]
    if scenario == 4:
        image = 195 + 1.5 * fine + 3 * coarse + 0.3 * slope
        image[100:] -= 55
        return image
    return rng.uniform(*options.lawn) + 4 * fine + 5 * coarse - slope


def _write_video(path: Path, frames: np.ndarray) -> None:
    """Encode grey frames, uint8 (T, 120, 160), reproducibly."""
    planes = np.full((_HEIGHT * 3 // 2, _WIDTH), 128, np.uint8)  # yuv420p without colour
    with av.open(str(path), "w", format="avi", options={"fflags": "+bitexact"}) as container:
        stream = container.add_stream("mpeg4", rate=_FPS)
        stream.width, stream.height, stream.pix_fmt = _WIDTH, _HEIGHT, "yuv420p"
        stream.codec_context.codec_tag = "DX50"
        stream.codec_context.bit_rate = 1_000_000  # the official clips have 0.85 to 1.1 Mbit/s
        stream.codec_context.thread_count = 1
        stream.codec_context.flags |= Flags.bitexact
        for frame in frames:
            # video range, like the official clips: black is 16 and white is 235
            planes[:_HEIGHT] = np.rint(16 + frame * (219 / 255))
            picture = av.VideoFrame.from_ndarray(planes, format="yuv420p")
            container.mux(stream.encode(picture))
        container.mux(stream.encode())
