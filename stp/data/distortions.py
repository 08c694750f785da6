"""Distortions of real clips (Unterthiner et al. 2018, arXiv 1812.01717, section 4.1 and Table 3).

Static ones change each frame, temporal ones the order of frames, or put frames of other clips among
them. Clips are float32 (T, C, H, W) in [0, 1]; what is returned is a new array of that shape. The
paper leaves several points open: each is an argument with a name, and the first of `CHOICES` is
what is done unless one says otherwise.

Random numbers come from the generator that is given, one for each clip (`generator`). At every
intensity a clip has the same one, so that stronger distortions are mostly more of the same.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from stp.core.errors import StpError
from stp.core.options import require, whole

Others = tuple[np.ndarray, ...]
"""Further clips, for distortions that mix several."""

CHOICES: dict[str, tuple[str, ...]] = {
    "place": ("frame", "clip"),
    "size": ("area", "side"),
    "border": ("reflect", "nearest", "constant"),
    "scale": ("unit", "signed"),
    "range": ("clipped", "unclipped"),
    "of": ("pixel", "channel"),
    "ends": ("free", "kept"),
    "time": ("kept", "own"),
}
"""What the paper does not say.

place: a rectangle is drawn in each ``frame`` anew, or once for the ``clip``.
size: of the rectangle, a share of the frame's ``area``, or of each ``side``.
border: how a frame goes on beyond its edges when it is blurred (SciPy's modes).
scale: standard Gaussian noise is added to frames in [0, 1] (``unit``) or in [-1, 1] (``signed``).
range: noisy frames are ``clipped`` to [0, 1], or not.
of: salt and pepper fall on a ``pixel``, all channels together, or on each ``channel``.
ends: the first and last frame take part in swaps (``free``), or stay where they are (``kept``).
time: frames of another clip are those of the same time (``kept``), or go on from its first frame
(``own``).
"""


def generator(seed: int, number: int) -> np.random.Generator:
    """Random numbers of one clip: they depend on the seed and the number of the clip alone."""
    return np.random.default_rng([seed, number])


def partners(count: int, number: int, others: int, seed: int) -> np.ndarray:
    """Choose the clips that one clip is mixed with.

    All clips stand in a circle of random order, and each is mixed with those behind it: no clip is
    preferred, and none is mixed with itself.

    Args:
        count: clips that there are.
        number: of the clip, from 0.
        others: clips that are wanted.
        seed: of the order.

    Returns:
        their numbers, int64 (others,).

    Raises:
        StpError: there are not so many.
    """
    if others >= count:
        raise StpError(
            f"{others + 1} clips are to be mixed, and there are {count}",
            expected="at least as many",
            remedy="take more clips, or a lower intensity",
        )
    order = np.random.default_rng([seed, count]).permutation(count)
    place = int(np.flatnonzero(order == number)[0])
    return np.asarray(order[(place + 1 + np.arange(others)) % count], np.int64)


def black_rectangle(
    clip: np.ndarray, share: float, random: np.random.Generator, *, place: str, size: str
) -> np.ndarray:
    """Blacken a rectangle with the proportions of the frame, at a random place within it.

    Args:
        share: of the frame, from 0 to 1; see ``size`` of `CHOICES`.
    """
    found = clip.copy()
    height, width = clip.shape[-2:]
    side = np.sqrt(share) if size == "area" else share
    high, wide = round(side * height), round(side * width)
    shown = random.random((len(clip), 2))
    if place == "clip":
        shown[:] = shown[0]
    for frame, (y, x) in zip(found, shown, strict=True):
        top, left = int(y * (height - high + 1)), int(x * (width - wide + 1))
        frame[:, top : top + high, left : left + wide] = 0
    return found


def gaussian_blur(
    clip: np.ndarray, sigma: float, random: np.random.Generator, *, border: str
) -> np.ndarray:
    """Smooth each frame with a Gaussian kernel, cut off at 4 sigma.

    Args:
        sigma: in pixels.
    """
    return np.asarray(ndimage.gaussian_filter(clip, (0, 0, sigma, sigma), mode=border), np.float32)


def gaussian_noise(
    clip: np.ndarray, share: float, random: np.random.Generator, *, scale: str, range: str
) -> np.ndarray:
    """Mix each frame with Gaussian noise: (1 - share) frame + share noise."""
    noise: np.ndarray = random.standard_normal(clip.shape, np.float32)
    if scale == "signed":
        noise = (noise + 1) / 2
    mixed = (1 - np.float32(share)) * clip + np.float32(share) * noise
    return mixed.clip(0, 1) if range == "clipped" else mixed


def salt_and_pepper(
    clip: np.ndarray, probability: float, random: np.random.Generator, *, of: str
) -> np.ndarray:
    """Set each pixel with a probability to black or white, both alike."""
    frames, channels, height, width = clip.shape
    shape = (frames, channels if of == "channel" else 1, height, width)
    hit, white = random.random(shape) < probability, random.random(shape) < 0.5
    return np.where(hit, white.astype(np.float32), clip)


def _swapped(clip: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    order = np.arange(len(clip))
    for a, b in pairs:
        order[[a, b]] = order[[b, a]]
    return np.asarray(clip[order])


def _movable(clip: np.ndarray, ends: str) -> tuple[int, int]:
    """The first frame that may move, and how many may."""
    kept = ends == "kept"
    number = len(clip) - 2 * kept
    require(number >= 2, "frames that are swapped", number, "at least 2")
    return int(kept), number


def local_swap(
    clip: np.ndarray, swaps: float, random: np.random.Generator, *, ends: str
) -> np.ndarray:
    """Swap a random frame with its neighbour, again and again.

    All pairs of neighbours are as likely; a pair may be drawn again, and is then swapped back.
    """
    first, number = _movable(clip, ends)
    left = first + (random.random(int(swaps)) * (number - 1)).astype(np.int64)
    return _swapped(clip, np.stack([left, left + 1], axis=1))


def global_swap(
    clip: np.ndarray, swaps: float, random: np.random.Generator, *, ends: str
) -> np.ndarray:
    """Swap two random frames of the whole clip, again and again."""
    first, number = _movable(clip, ends)
    drawn = random.random((int(swaps), 2))
    a = (drawn[:, 0] * number).astype(np.int64)
    b = (a + 1 + (drawn[:, 1] * (number - 1)).astype(np.int64)) % number
    return _swapped(clip, first + np.stack([a, b], axis=1))


def interleaving(
    clip: np.ndarray, sequences: float, random: np.random.Generator, others: Others, *, time: str
) -> np.ndarray:
    """Show the frames of several clips in turn: frame t is one of clip t mod ``sequences``."""
    clips, n = (clip, *others), int(sequences)
    times = np.arange(len(clip))
    return np.stack([clips[t % n][t if time == "kept" else t // n] for t in times])


def switching(
    clip: np.ndarray, frames: float, random: np.random.Generator, others: Others, *, time: str
) -> np.ndarray:
    """Show another clip after some frames, to the end."""
    n = int(frames)
    (other,) = others
    rest = other[n:] if time == "kept" else other[: len(clip) - n]
    return np.concatenate([clip[:n], rest])


class Distortion(NamedTuple):
    """A distortion.

    Attributes:
        apply: (clip, intensity, random numbers) to a clip; others follow where it needs some.
        open_points: those of `CHOICES` that it has.
        is_temporal: whether frames stay as they are, and other ones follow each other.
        others: intensity -> how many other clips it needs.
        weakens: whether it changes less, the higher its intensity is.
    """

    apply: Callable[..., np.ndarray]
    open_points: tuple[str, ...]
    is_temporal: bool
    others: Callable[[float], int] = lambda intensity: 0
    weakens: bool = False


DISTORTIONS = {
    "black_rectangle": Distortion(black_rectangle, ("place", "size"), False),
    "gaussian_blur": Distortion(gaussian_blur, ("border",), False),
    "gaussian_noise": Distortion(gaussian_noise, ("scale", "range"), False),
    "salt_and_pepper": Distortion(salt_and_pepper, ("of",), False),
    "local_swap": Distortion(local_swap, ("ends",), True),
    "global_swap": Distortion(global_swap, ("ends",), True),
    "interleaving": Distortion(interleaving, ("time",), True, lambda n: int(n) - 1),
    "switching": Distortion(switching, ("time",), True, lambda n: 1, weakens=True),
}
"""The eight of the paper, by name."""
COUNTED = ("local_swap", "global_swap", "interleaving", "switching")
"""Those whose intensity is a whole number."""


class Distorter:
    """One distortion at one intensity, its open points decided.

    Args:
        name: of `DISTORTIONS`.
        intensity: the parameter of the distortion, in its unit.
        seed: of all random numbers.
        chosen: open point -> choice, where it is not the first of `CHOICES`.

    Attributes:
        others: how many other clips it needs for each.

    Raises:
        StpError: an unknown name, point or choice, or an intensity out of range.
    """

    def __init__(self, name: str, intensity: float, seed: int = 0, **chosen: str) -> None:
        require(name in DISTORTIONS, "distortion", name, " or ".join(DISTORTIONS))
        self._of, self._intensity, self._seed = DISTORTIONS[name], intensity, seed
        for point, choice in chosen.items():
            points = self._of.open_points
            require(point in points, f"option of {name}", point, " or ".join(points))
            ok = choice in CHOICES[point]
            require(ok, f"{name}: {point}", choice, " or ".join(CHOICES[point]))
        if name in COUNTED:
            require(whole(intensity, 1), f"intensity of {name}", intensity, "a number from 1")
        elif name == "gaussian_blur":
            require(intensity > 0, f"intensity of {name}", intensity, "pixels, above 0")
        else:
            require(0 < intensity <= 1, f"intensity of {name}", intensity, "above 0, at most 1")
        self._decided = {
            point: chosen.get(point, CHOICES[point][0]) for point in self._of.open_points
        }
        self.others = self._of.others(intensity)

    def partners(self, count: int, number: int) -> np.ndarray:
        """The numbers of the other clips that one of ``count`` clips needs."""
        if not self.others:
            return np.empty(0, np.int64)
        return partners(count, number, self.others, self._seed)

    def __call__(self, number: int, clip: np.ndarray, others: Others = ()) -> np.ndarray:
        """Distort one clip.

        Args:
            number: of the clip, which its random numbers depend on.
            clip: float32 (T, C, H, W) in [0, 1].
            others: as `partners` chooses them, each of this shape.
        """
        random = generator(self._seed, number)
        more = (others,) if self.others else ()
        return self._of.apply(clip, self._intensity, random, *more, **self._decided)
