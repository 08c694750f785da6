"""Distortions of real clips (Unterthiner et al. 2018, arXiv 1812.01717, section 4.1 and Table 3).

Static distortions change each frame; temporal ones change the order of frames or insert frames of
other clips. They map clips, float32 (T, C, H, W) in [0, 1], to new arrays of that shape. Points
that the paper leaves open are named arguments, whose default is the first of `CHOICES`.

Each clip has a generator of random numbers (`generator`), the same at every intensity, so that
stronger distortions extend weaker ones.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from stp.core.errors import StpError
from stp.core.options import require, whole

Others = tuple[np.ndarray, ...]
"""Further clips of the same shape, for distortions that mix several."""

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
"""Points that the paper leaves open.

place: the rectangle has another place in each ``frame``, or one place in the ``clip``.
size: the intensity is a share of the frame's ``area``, or of each ``side``.
border: extension of frames beyond their edges when they are blurred (SciPy's modes).
scale: standard Gaussian noise is added to frames in [0, 1] (``unit``) or in [-1, 1] (``signed``).
range: noisy frames are ``clipped`` to [0, 1], or not.
of: salt and pepper change all channels of a ``pixel``, or each ``channel`` separately.
ends: the first and last frame take part in swaps (``free``), or not (``kept``).
time: frames of another clip are those of the same time (``kept``), or start with its first frame
(``own``).
"""


def generator(seed: int, number: int) -> np.random.Generator:
    """Make the random number generator of the clip with number ``number``."""
    return np.random.default_rng([seed, number])


def partners(count: int, number: int, others: int, seed: int) -> np.ndarray:
    """Choose the clips that one clip is mixed with.

    In a random circular order of all clips, each is mixed with its successors.

    Args:
        count: number of all clips.
        number: index of the clip, from 0.
        others: number of clips to choose.
        seed: seed of the order.

    Returns:
        indices of the chosen clips, int64 (others,).

    Raises:
        StpError: there are too few clips.
    """
    if others >= count:
        raise StpError(
            f"{others + 1} clips are to be mixed, and there are {count}",
            remedy="use more clips, or a lower intensity",
        )
    order = np.random.default_rng([seed, count]).permutation(count)
    place = int(np.flatnonzero(order == number)[0])
    return np.asarray(order[(place + 1 + np.arange(others)) % count], np.int64)


def black_rectangle(
    clip: np.ndarray, share: float, random: np.random.Generator, *, place: str, size: str
) -> np.ndarray:
    """Blacken a rectangle with the proportions of the frame, at a random place within it.

    Args:
        clip: frames (T, C, H, W) in [0, 1].
        share: size of the rectangle, as a share of the frame from 0 to 1.
        random: random number generator of the clip.
        place: "frame", another place in each frame; "clip", one place in the clip.
        size: what ``share`` is a share of: "area" of the frame, or each "side".
    """
    distorted = clip.copy()
    height, width = clip.shape[-2:]
    side = np.sqrt(share) if size == "area" else share
    high, wide = round(side * height), round(side * width)
    places = random.random((len(clip), 2))
    if place == "clip":
        places[:] = places[0]
    for frame, (y, x) in zip(distorted, places, strict=True):
        top, left = int(y * (height - high + 1)), int(x * (width - wide + 1))
        frame[:, top : top + high, left : left + wide] = 0
    return distorted


def gaussian_blur(
    clip: np.ndarray, sigma: float, random: np.random.Generator, *, border: str
) -> np.ndarray:
    """Smooth each frame with a Gaussian kernel, cut off at 4 sigma.

    Args:
        clip: frames (T, C, H, W) in [0, 1].
        sigma: standard deviation of the kernel, pixels.
        random: unused.
        border: how frames are extended beyond their edges, a mode of `scipy.ndimage`: "reflect",
            "nearest" or "constant".
    """
    return np.asarray(ndimage.gaussian_filter(clip, (0, 0, sigma, sigma), mode=border), np.float32)


def gaussian_noise(
    clip: np.ndarray, share: float, random: np.random.Generator, *, scale: str, range: str
) -> np.ndarray:
    """Mix each frame with Gaussian noise: (1 - share) frame + share noise.

    Args:
        clip: frames (T, C, H, W) in [0, 1].
        share: weight of the noise, from 0 to 1.
        random: random number generator of the clip.
        scale: which noise is mixed in: "unit", standard noise; "signed", noise with mean and
            standard deviation 0.5. The latter is the same as to map frames to [-1, 1], mix them
            with standard noise, and map them back.
        range: whether noisy frames are "clipped" to [0, 1] or "unclipped".
    """
    noise: np.ndarray = random.standard_normal(clip.shape, np.float32)
    if scale == "signed":
        noise = (noise + 1) / 2
    mixed = (1 - np.float32(share)) * clip + np.float32(share) * noise
    return mixed.clip(0, 1) if range == "clipped" else mixed


def salt_and_pepper(
    clip: np.ndarray, probability: float, random: np.random.Generator, *, of: str
) -> np.ndarray:
    """Set each pixel, with the given probability, to black or white, which are equally likely.

    Args:
        clip: frames (T, C, H, W) in [0, 1].
        probability: probability that a pixel changes, from 0 to 1.
        random: random number generator of the clip.
        of: "pixel", all channels of a pixel change together; "channel", each channel changes
            separately.
    """
    frames, channels, height, width = clip.shape
    shape = (frames, channels if of == "channel" else 1, height, width)
    hit, white = random.random(shape) < probability, random.random(shape) < 0.5
    return np.where(hit, white.astype(np.float32), clip)


def _swap_frames(clip: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    order = np.arange(len(clip))
    for a, b in pairs:
        order[[a, b]] = order[[b, a]]
    return np.asarray(clip[order])


def _movable_range(clip: np.ndarray, ends: str) -> tuple[int, int]:
    """The first frame that may move, and the number of such frames."""
    kept = ends == "kept"
    number = len(clip) - 2 * kept
    require(number >= 2, "frames that are swapped", number, "at least 2")
    return int(kept), number


def local_swap(
    clip: np.ndarray, swaps: float, random: np.random.Generator, *, ends: str
) -> np.ndarray:
    """Swap random neighbouring frames, ``swaps`` times; a pair drawn twice is swapped back.

    Args:
        clip: frames (T, C, H, W) in [0, 1].
        swaps: number of swaps; a whole number, given as a float like all intensities.
        random: random number generator of the clip.
        ends: whether the first and last frame take part: "free", they do; "kept", they do not.
    """
    first, number = _movable_range(clip, ends)
    left = first + (random.random(int(swaps)) * (number - 1)).astype(np.int64)
    return _swap_frames(clip, np.stack([left, left + 1], axis=1))


def global_swap(
    clip: np.ndarray, swaps: float, random: np.random.Generator, *, ends: str
) -> np.ndarray:
    """Swap random pairs of any two frames, ``swaps`` times.

    Args:
        clip: frames (T, C, H, W) in [0, 1].
        swaps: number of swaps; a whole number, given as a float like all intensities.
        random: random number generator of the clip.
        ends: whether the first and last frame take part: "free", they do; "kept", they do not.
    """
    first, number = _movable_range(clip, ends)
    drawn = random.random((int(swaps), 2))
    a = (drawn[:, 0] * number).astype(np.int64)
    b = (a + 1 + (drawn[:, 1] * (number - 1)).astype(np.int64)) % number
    return _swap_frames(clip, first + np.stack([a, b], axis=1))


def interleaving(
    clip: np.ndarray, sequences: float, random: np.random.Generator, others: Others, *, time: str
) -> np.ndarray:
    """Interleave the frames of several clips: frame t is taken from clip t mod ``sequences``.

    Args:
        clip: frames (T, C, H, W) in [0, 1]; this is clip 0.
        sequences: number of clips, including ``clip``; a whole number, given as a float like all
            intensities.
        random: unused.
        others: the other clips, numbered from 1, (T, C, H, W) each.
        time: which frame is taken from a clip for frame t of the result: "kept", its frame t;
            "own", its first frame that was not taken yet.
    """
    clips, n = (clip, *others), int(sequences)
    times = np.arange(len(clip))
    return np.stack([clips[t % n][t if time == "kept" else t // n] for t in times])


def switching(
    clip: np.ndarray, frames: float, random: np.random.Generator, others: Others, *, time: str
) -> np.ndarray:
    """Switch to another clip after ``frames`` frames.

    Args:
        clip: clip before the switch, (T, C, H, W) in [0, 1].
        frames: number of frames before the switch; a whole number, given as a float like all
            intensities.
        random: unused.
        others: a single clip, the one after the switch, (T, C, H, W).
        time: which frames of the other clip follow: "kept", those at the same times, from index
            ``frames`` on; "own", its first ones.
    """
    n = int(frames)
    (other,) = others
    rest = other[n:] if time == "kept" else other[: len(clip) - n]
    return np.concatenate([clip[:n], rest])


class Distortion(NamedTuple):
    """A kind of distortion of clips, with what its function needs.

    Attributes:
        apply: function that maps a clip, an intensity, a generator and, if needed, other clips to
            the distorted clip.
        open_points: names of the choices that the paper leaves open, such as "border"; keys of
            `CHOICES`, which lists the possible values.
        is_temporal: whether the distortion changes the order of frames, not their pixels.
        others: function that maps the intensity to the number of other clips that are mixed in.
        weakens: whether a higher intensity is a weaker distortion.
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
"""The eight distortions of the paper, by name."""
COUNTED = ("local_swap", "global_swap", "interleaving", "switching")
"""Distortions whose intensity is a whole number."""


class Distorter:
    """One distortion at one intensity, a callable that distorts clips.

    For clip ``number`` of ``count`` clips::

        distort = Distorter("local_swap", 2, seed=0)
        others = [clips[index] for index in distort.partners(count, number)]
        distorted = distort(number, clips[number], others)

    Args:
        name: a key of `DISTORTIONS`, such as "gaussian_blur".
        intensity: strength of the distortion: its first parameter, such as ``sigma`` or ``swaps``.
        seed: seed of all random numbers.
        chosen: choices where the paper leaves details open, such as ``border="nearest"``. The names
            are those in the distortion's `Distortion.open_points`; the values, and the defaults
            (the first ones), are listed in `CHOICES`.

    Attributes:
        others: number of other clips that each clip is mixed with.

    Raises:
        StpError: there is no distortion with this name, `chosen` has an unknown name or value, or
            the intensity is out of range.
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
        self._choices = {
            point: chosen.get(point, CHOICES[point][0]) for point in self._of.open_points
        }
        self.others = self._of.others(intensity)

    def partners(self, count: int, number: int) -> np.ndarray:
        """Choose the clips that one clip is mixed with.

        Args:
            count: number of all clips.
            number: index of the one clip, from 0.

        Returns:
            indices of the chosen clips, int64 (others,).

        Raises:
            StpError: there are too few clips.
        """
        if not self.others:
            return np.empty(0, np.int64)
        return partners(count, number, self.others, self._seed)

    def __call__(self, number: int, clip: np.ndarray, others: Others = ()) -> np.ndarray:
        """Distort one clip.

        Args:
            number: number of the clip, which its random numbers depend on.
            clip: frames of the clip, float32 (T, C, H, W) in [0, 1].
            others: the clips that `partners` chooses, of the same shape.

        Returns:
            a new array with the distorted clip, of the same shape.
        """
        random = generator(self._seed, number)
        more = (others,) if self.others else ()
        return self._of.apply(clip, self._intensity, random, *more, **self._choices)
