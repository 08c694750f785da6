"""Units of drawn StarCraft videos as blobs: their colours, areas and places, and where they go.

For videos drawn as stp.datasets.scv.appearance draws them. Colours are taken apart by what they are
mixed of; a blob is a connected area of one colour. Units are told by colour and area, and followed
from frame to frame: no unit goes farther than its largest step.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import ndimage
from scipy.optimize import linear_sum_assignment

from stp.datasets.scv.appearance import COLOURS, GROUND, SHARD

UNLIKE = 0.12
"""Distance of a pixel from all mixtures of ground and a colour, from which it is none; 0..1."""
FAINT = 0.15
"""Share of a pixel, less of which is taken for noise."""
CORE = 0.4
"""Share of a pixel that a colour covers in the middle of a blob."""
SLACK = 0.15
"""Share by which an area may be off: half of the way to the next type of unit."""
ROUNDING = 0.5
"""Pixels by which a place may be off, and an area for each pixel of its radius."""
LEAST = 0.4
"""Share of a mineral shard; smaller areas are noise."""
IN_FRAME = np.zeros((3, 3, 3), bool)
IN_FRAME[1] = ndimage.generate_binary_structure(2, 1)
"""Neighbours of a pixel, (time, row, column): those in its own frame."""


class Blob(NamedTuple):
    """A connected area of one colour.

    Attributes:
        colour: a key of `COLOURS`.
        area: pixels.
        place: row and column of its centre, pixels.
    """

    colour: str
    area: float
    place: np.ndarray

    @property
    def radius(self) -> float:
        """Of the disc of the same area, pixels."""
        return float(np.sqrt(self.area / np.pi))


class Seen(NamedTuple):
    """What is recognised in a video.

    Attributes:
        cover: colour -> how much of each pixel it covers, (T, H, W) in 0..1; a pixel has one
            colour. "none" is 1 where it has none of those that there may be.
        blobs: of each frame.
    """

    cover: dict[str, np.ndarray]
    blobs: list[list[Blob]]

    @property
    def size(self) -> int:
        """Width of a frame, pixels."""
        return int(self.cover["none"].shape[-1])

    def of(self, *colours: str) -> list[list[Blob]]:
        """Blobs of some colours in each frame."""
        return [[blob for blob in blobs if blob.colour in colours] for blobs in self.blobs]


class Paths(NamedTuple):
    """Where units are in each frame.

    Attributes:
        seen: whether a unit is seen, (units, T).
        places: where each is or was last, (units, 1 + T, 2), pixels; the first is its start.
        others: number of blobs that are none of the units, (T,).
    """

    seen: np.ndarray
    places: np.ndarray
    others: np.ndarray

    @property
    def farthest(self) -> float:
        """How far units come from where they are in the first frame, mean over units, pixels.

        Not from their starts, so that what stands still one step from there does not move.
        """
        gaps = np.linalg.norm(self.places[:, 1:] - self.places[:, 1:2], axis=-1)
        return float(gaps.max(axis=1).mean())


def see(frames: np.ndarray, colours: Sequence[str]) -> Seen:
    """Recognise colours and blobs.

    Args:
        frames: (T, 3, H, W) in 0..1.
        colours: that there may be, keys of `COLOURS`.
    """
    cover = covered(frames, colours)
    blobs: list[list[Blob]] = [[] for _ in frames]
    for colour in colours:
        for t, blob in _blobs(colour, cover[colour]):
            blobs[t].append(blob)
    return Seen(cover, blobs)


def covered(frames: np.ndarray, colours: Sequence[str]) -> dict[str, np.ndarray]:
    """How much of each pixel a colour covers; see `Seen.cover`."""
    ground = np.array(GROUND) / 255
    off = [frames[:, i].astype(np.float64) - ground[i] for i in range(3)]
    ways = np.array([COLOURS[colour] for colour in colours]) / 255 - ground
    shares = np.empty((len(colours), *off[0].shape))
    left = np.empty_like(shares)
    for way, share, squares in zip(ways, shares, left, strict=True):
        along = sum(here * there for here, there in zip(off, way, strict=True))
        np.clip(along / (way**2).sum(), 0, 1, out=share)
        squares[:] = sum((here - share * there) ** 2 for here, there in zip(off, way, strict=True))
    best = left.argmin(axis=0)
    unlike = left.min(axis=0) > UNLIKE**2
    shares[(shares < FAINT) | unlike] = 0
    cover = {colour: np.where(best == i, shares[i], 0) for i, colour in enumerate(colours)}
    return cover | {"none": unlike.astype(float)}


def _blobs(colour: str, area: np.ndarray) -> list[tuple[int, Blob]]:
    """All areas of a colour that are larger than noise, with the frames in which they are."""
    labels, number = ndimage.label(area > CORE, structure=IN_FRAME)
    for _ in range(2):
        # Pixels at the edge, less covered, belong to the area beside them.
        beside = np.zeros_like(labels)
        for here, there in ((np.s_[:, 1:], np.s_[:, :-1]), (np.s_[:, :, 1:], np.s_[:, :, :-1])):
            np.maximum(beside[here], labels[there], out=beside[here])
            np.maximum(beside[there], labels[here], out=beside[there])
        labels = np.where((labels == 0) & (area > 0), beside, labels)
    t, rows, columns = np.nonzero(labels)
    label, weight = labels[t, rows, columns], area[t, rows, columns]

    def total(values: np.ndarray) -> np.ndarray:
        return np.bincount(label, values, minlength=number + 1)

    frame = np.zeros(number + 1, int)
    frame[label] = t
    areas = total(weight)
    centres = np.stack([total(weight * rows), total(weight * columns)], axis=1)
    least = LEAST * area_of(SHARD, area.shape[-1])
    return [
        (int(frame[n]), Blob(colour, float(areas[n]), centres[n] / areas[n]))
        for n in range(1, number + 1)
        if areas[n] > least
    ]


def area_of(radius: float, size: int) -> float:
    """Pixels of a disc whose radius is in widths of the map."""
    return float(np.pi * (radius * size) ** 2)


def alike(units: Sequence[Blob], blobs: Sequence[Blob]) -> np.ndarray:
    """Which blobs have the colour of a unit, and its area but for what drawing changes.

    Returns:
        bool (units, blobs).
    """
    areas, theirs = (np.array([blob.area for blob in some]) for some in (units, blobs))
    slack = SLACK * areas + ROUNDING * np.sqrt(areas / np.pi)
    colours, others = (np.array([blob.colour for blob in some], str) for some in (units, blobs))
    same = colours[:, None] == others
    return np.asarray(same & (np.abs(areas[:, None] - theirs) <= slack[:, None]))


def assign(
    units: Sequence[Blob], places: np.ndarray, reach: np.ndarray, blobs: Sequence[Blob]
) -> list[Blob | None]:
    """Which blob each unit is: one like it and near its place, so that all are as near as possible.

    Args:
        units: as they look.
        places: where they are expected, (units, 2), pixels.
        reach: how far from there they may be, (units,), pixels.
        blobs: of a frame.

    Returns:
        A blob for each unit; None if it is not seen.
    """
    never = 1e9
    if not units or not blobs:
        return [None] * len(units)
    gaps = np.linalg.norm(places[:, None] - [blob.place for blob in blobs], axis=-1)
    # Those that were seen last, and so are near, come first.
    costs = np.where(
        alike(units, blobs) & (gaps <= reach[:, None] + ROUNDING), gaps + reach[:, None], never
    )
    match: list[Blob | None] = [None] * len(units)
    for i, j in zip(*linear_sum_assignment(costs), strict=True):
        if costs[i, j] < never:
            match[i] = blobs[j]
    return match


def follow(units: Sequence[Blob], blobs: Sequence[Sequence[Blob]], step: float) -> Paths:
    """Follow units from frame to frame.

    Args:
        units: in the first observed frame.
        blobs: of their colours, in each frame.
        step: the farthest that one goes from a frame to the next, pixels. As the first frame is
            that of the units themselves, they may be one step from there.
    """
    seen = np.zeros((len(units), len(blobs)), bool)
    places = np.array([[unit.place] * (1 + len(blobs)) for unit in units])
    others = np.zeros(len(blobs))
    unseen = np.ones(len(units))
    for t, here in enumerate(blobs):
        match = assign(units, places[:, t], step * unseen, here)
        seen[:, t] = [blob is not None for blob in match]
        for i, blob in enumerate(match):
            places[i, t + 1 :] = places[i, t] if blob is None else blob.place
        others[t] = len(here) - seen[:, t].sum()
        unseen = np.where(seen[:, t], 1, unseen + 1)
    return Paths(seen, places, others)
