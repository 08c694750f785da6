"""Recognise and track units of generated StarCraft videos as blobs of one colour.

Units are the figures of the game. Videos are drawn by `stp.datasets.scv.appearance`. Pixels are
unmixed into ground and one colour; a blob is a connected area of one colour. Units are identified
by colour and area, and tracked from frame to frame: no unit moves farther than its largest step.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import ndimage
from scipy.optimize import linear_sum_assignment

from stp.datasets.scv.appearance import COLOURS, GROUND, SHARD

UNLIKE = 0.12
"""Distance in 0..1 from all mixtures of ground and a colour, above which a pixel has no colour."""
FAINT = 0.15
"""Share of a pixel below which a colour counts as noise."""
CORE = 0.4
"""Share of a pixel that a colour covers inside a blob."""
SLACK = 0.15
"""Relative tolerance of an area: half of the difference to the next type of unit."""
ROUNDING = 0.5
"""Tolerance of a position in pixels, and of an area per pixel of its radius."""
LEAST = 0.4
"""Minimum area of a blob, as a share of the area of a mineral shard."""
IN_FRAME = np.zeros((3, 3, 3), bool)
IN_FRAME[1] = ndimage.generate_binary_structure(2, 1)
"""Neighbourhood of a pixel, (time, row, column): pixels of the same frame."""


class Blob(NamedTuple):
    """A connected area of one colour.

    Attributes:
        colour: colour of the area, a key of `COLOURS`.
        area: area in pixels, some of which are covered in part.
        place: row and column of the centre, in pixels.
    """

    colour: str
    area: float
    place: np.ndarray

    @property
    def radius(self) -> float:
        """Radius of a disc of the same area, pixels."""
        return float(np.sqrt(self.area / np.pi))


class Seen(NamedTuple):
    """The blobs (areas of one colour) seen in the frames of a video.

    Attributes:
        cover: for each colour, the share of each pixel that the colour covers, (T, H, W) in 0..1; a
            pixel has at most one colour. Under "none", 1 for pixels with none of the possible
            colours.
        blobs: blobs in each frame.
    """

    cover: dict[str, np.ndarray]
    blobs: list[list[Blob]]

    @property
    def size(self) -> int:
        """Width of a frame, pixels."""
        return int(self.cover["none"].shape[-1])

    def of(self, *colours: str) -> list[list[Blob]]:
        """Select the blobs of some colours, keys of `COLOURS`, in each frame."""
        return [[blob for blob in blobs if blob.colour in colours] for blobs in self.blobs]


class Paths(NamedTuple):
    """Positions of tracked units in each frame.

    A unit is a figure of the game, which looks like a blob (a connected area of one colour). A
    prediction may also have blobs in the colours of units that no tracked unit accounts for.

    Attributes:
        seen: whether each unit is visible in each of T frames, bool (units, T).
        places: current or last known position of each unit, row and column in pixels, (units,
            1 + T, 2): first the position from which `follow` starts its search, then those in each
            of T frames.
        others: number of blobs in each frame that are in the colours of the units, but are not
            assigned to one of them, (T,).
    """

    seen: np.ndarray
    places: np.ndarray
    others: np.ndarray

    @property
    def farthest(self) -> float:
        """Largest distance of units from their first position, mean over units, in pixels.

        Distances are from the position in the first frame. The position from which `follow` starts
        its search, up to one step away from it, is left out.
        """
        gaps = np.linalg.norm(self.places[:, 1:] - self.places[:, 1:2], axis=-1)
        return float(gaps.max(axis=1).mean())


def see(frames: np.ndarray, colours: Sequence[str]) -> Seen:
    """Recognise the colours and blobs of a video.

    Args:
        frames: RGB frames, (T, 3, H, W) in 0..1.
        colours: possible colours, keys of `COLOURS`.
    """
    cover = colour_coverage(frames, colours)
    blobs: list[list[Blob]] = [[] for _ in frames]
    for colour in colours:
        for t, blob in _blobs(colour, cover[colour]):
            blobs[t].append(blob)
    return Seen(cover, blobs)


def colour_coverage(frames: np.ndarray, colours: Sequence[str]) -> dict[str, np.ndarray]:
    """The share of each pixel that each colour covers, in 0..1, by colour, (T, H, W) each.

    Args:
        frames: RGB frames, (T, 3, H, W) in 0..1.
        colours: possible colours, keys of `COLOURS`.
    """
    ground = np.array(GROUND) / 255
    off = [frames[:, i].astype(np.float64) - ground[i] for i in range(3)]
    ways = np.array([COLOURS[colour] for colour in colours]) / 255 - ground
    shares = np.empty((len(colours), *off[0].shape))
    remainder = np.empty_like(shares)
    for way, share, squares in zip(ways, shares, remainder, strict=True):
        along = sum(here * there for here, there in zip(off, way, strict=True))
        np.clip(along / (way**2).sum(), 0, 1, out=share)
        squares[:] = sum((here - share * there) ** 2 for here, there in zip(off, way, strict=True))
    best = remainder.argmin(axis=0)
    unlike = remainder.min(axis=0) > UNLIKE**2
    shares[(shares < FAINT) | unlike] = 0
    cover = {colour: np.where(best == i, shares[i], 0) for i, colour in enumerate(colours)}
    return cover | {"none": unlike.astype(float)}


def _blobs(colour: str, area: np.ndarray) -> list[tuple[int, Blob]]:
    """The blobs of a colour that are larger than noise, each with the index of its frame."""
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
    """Area of a disc, in pixels.

    Args:
        radius: radius of the disc, in widths of the map.
        size: width of a frame, in pixels.
    """
    return float(np.pi * (radius * size) ** 2)


def match_appearance(units: Sequence[Blob], blobs: Sequence[Blob]) -> np.ndarray:
    """Compare seen blobs with known units: equal colour and, within a tolerance, equal area.

    Args:
        units: the units (figures of the game) as they looked in an earlier frame.
        blobs: areas of one colour in the current frame, any of which may be one of the units.

    Returns:
        whether each blob looks like each unit, bool (units, blobs).
    """
    areas, blob_areas = (np.array([blob.area for blob in some]) for some in (units, blobs))
    slack = SLACK * areas + ROUNDING * np.sqrt(areas / np.pi)
    colours, others = (np.array([blob.colour for blob in some], str) for some in (units, blobs))
    same = colours[:, None] == others
    return np.asarray(same & (np.abs(areas[:, None] - blob_areas) <= slack[:, None]))


def assign(
    units: Sequence[Blob], places: np.ndarray, reach: np.ndarray, blobs: Sequence[Blob]
) -> list[Blob | None]:
    """Find the units of a game in a frame: assign to each a blob that looks like it and is near.

    As many units as possible get a blob. Of the assignments that do this, the one with the smallest
    sum is chosen, over units with a blob, of distance (from the expected position of the unit to
    its blob) plus reach. So a blob that two units may claim goes to a near unit, and rather to one
    with a small reach, which was seen more recently.

    Args:
        units: the units as they looked in an earlier frame.
        places: expected positions of the units, their last known ones, (units, 2), in pixels.
        reach: largest distance of each unit from its expected position, (units,), in pixels.
        blobs: blobs of a frame.

    Returns:
        for each unit, its blob; None if the unit is not visible.
    """
    never = 1e9
    if not units or not blobs:
        return [None] * len(units)
    gaps = np.linalg.norm(places[:, None] - [blob.place for blob in blobs], axis=-1)
    # Units that were visible most recently have priority, since their reach is small.
    costs = np.where(
        match_appearance(units, blobs) & (gaps <= reach[:, None] + ROUNDING),
        gaps + reach[:, None],
        never,
    )
    match: list[Blob | None] = [None] * len(units)
    for i, j in zip(*linear_sum_assignment(costs), strict=True):
        if costs[i, j] < never:
            match[i] = blobs[j]
    return match


def follow(units: Sequence[Blob], blobs: Sequence[Sequence[Blob]], step: float) -> Paths:
    """Track units (figures of the game) from frame to frame.

    Args:
        units: units to track, as they look in the first observed frame.
        blobs: blobs of the units' colours in each frame; in the first frame, they may be up to one
            step away from the units.
        step: largest distance that a unit moves from frame to frame, in pixels.
    """
    seen = np.zeros((len(units), len(blobs)), bool)
    places = np.array([[unit.place] * (1 + len(blobs)) for unit in units])
    others = np.zeros(len(blobs))
    unseen = np.ones(len(units))
    for t, blobs_of_frame in enumerate(blobs):
        match = assign(units, places[:, t], step * unseen, blobs_of_frame)
        seen[:, t] = [blob is not None for blob in match]
        for i, blob in enumerate(match):
            places[i, t + 1 :] = places[i, t] if blob is None else blob.place
        others[t] = len(blobs_of_frame) - seen[:, t].sum()
        unseen = np.where(seen[:, t], 1, unseen + 1)
    return Paths(seen, places, others)
