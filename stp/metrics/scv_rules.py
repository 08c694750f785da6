"""The rules of simple StarCraft games, and how far a video keeps them: by its frames alone.

For videos drawn as stp.data.scv_look draws them. Unterthiner et al. 2018, section 3.2: "any valid
RTwM video must consist of a pick-up, transportation, and drop-off phase, and the same number and
type of units that were picked up must be dropped off again". Colours are taken apart by what they
are mixed of, and what is counted is the area that a colour covers. The first observed frame says
what there is. A video in which nothing happens breaks rules: at least half of what is collected,
lost or picked up in the observed video has to be, and half as much has to move.

Some rules are about what stays as it is, in each frame, others about what has to happen. How much
of the rules a video keeps is the product of both means: what happens to the wrong things does not
count, and neither do the right things if nothing happens to them.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from stp.data.scv_look import COLOURS, GROUND, MEDIVAC, RADII, SHARD, TEAMS

UNLIKE = 0.12
"""Distance of a pixel from all mixtures of ground and a colour, from which it is none; 0..1."""
FAINT = 0.15
"""Share of a pixel, less of which is taken for noise."""
SLACK = 0.15
"""Share by which an area may be off: half of the way to the next type of unit."""
LEAST = 0.4
"""Share of a mineral shard; smaller areas are noise."""
SURE = 0.5
"""Share of a thing that is to be seen if it is there."""
HALF = 0.5
"""Share of what happens in the observed video that has to happen in the predicted one."""
FAR = 0.09
"""Widths of the map that a unit or a medivac may go between two frames."""


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


class Judged(NamedTuple):
    """How far a video keeps each rule, 0..1.

    Attributes:
        stays: share of the frames, and of the things in them, in which what stays is right.
        happens: how much happens of what has to; what need not happen is absent.
    """

    stays: dict[str, float]
    happens: dict[str, float | None]

    @property
    def share(self) -> float:
        """How much of the rules is kept, 0..1; 1 exactly if all are, in all frames."""
        happens = [share for share in self.happens.values() if share is not None]
        done = np.mean(happens) if happens else 1.0
        return float(np.mean(list(self.stays.values())) * done)


Game = Callable[[np.ndarray, np.ndarray], Judged]
"""Rules of a game: (predicted, observed), (T, 3, H, W) in 0..1."""

NOTHING = Judged({"what there is at the beginning": 0.0}, {})
"""The things of the first observed frame are not recognised."""


def covered(frames: np.ndarray, colours: Sequence[str]) -> dict[str, np.ndarray]:
    """How much of each pixel a colour covers.

    Args:
        frames: (T, 3, H, W) in 0..1.
        colours: that there may be, keys of `COLOURS`.

    Returns:
        colour -> (T, H, W) in 0..1; a pixel has one colour. "none" is 1 where it has none of these.
    """
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
    found = {colour: np.where(best == i, shares[i], 0) for i, colour in enumerate(colours)}
    return found | {"none": unlike.astype(float)}


def blobs(cover: dict[str, np.ndarray], colours: Sequence[str], t: int) -> list[Blob]:
    """All areas of some colours in a frame that are larger than noise."""
    found = []
    for colour in colours:
        area = cover[colour][t]
        labels, number = ndimage.label(area > 0.25)
        # Pixels at the edge, less covered, belong to the nearest area.
        nearest = ndimage.distance_transform_edt(labels == 0, return_indices=True)
        distance, (rows, columns) = nearest[0], nearest[1]
        labels = np.where((area > 0) & (distance < 2), labels[rows, columns], labels)
        for n in range(1, number + 1):
            there = labels == n
            size = float(area[there].sum())
            if size > LEAST * area_of(SHARD, area.shape[-1]):
                place = np.array(ndimage.center_of_mass(area, labels, n))
                found.append(Blob(colour, size, place))
    return found


def area_of(radius: float, size: int) -> float:
    """Pixels of a disc whose radius is in widths of the map."""
    return float(np.pi * (radius * size) ** 2)


def motion(cover: dict[str, np.ndarray], colours: Sequence[str]) -> float:
    """Area that some colours come to cover, or leave, from one frame to the next; pixels."""
    area = np.sum([cover[colour] for colour in colours], axis=0)
    steps = np.abs(np.diff(area, axis=0)).sum(axis=(1, 2))
    return float(steps.mean()) if len(steps) else 0.0


def _enough(done: float, needed: float) -> float | None:
    """How much is done of what has to be, at most 1; None if nothing has to be."""
    return float(np.clip(done / needed, 0, 1)) if needed > 0 else None


def move_unit(predicted: np.ndarray, observed: np.ndarray) -> Judged:
    """There is one unit, always of the same colour and area, that goes straight on."""
    size = predicted.shape[-1]
    colours = (*TEAMS, "cue")
    first = blobs(covered(observed[:1], colours), TEAMS, 0)
    if len(first) != 1:
        return NOTHING
    unit, cover = first[0], covered(predicted, colours)
    alone, colour, area = np.zeros((3, len(predicted)), bool)
    places = np.full((len(predicted), 2), np.nan)
    for t in range(len(predicted)):
        found = blobs(cover, TEAMS, t)
        if found:
            largest = max(found, key=lambda blob: blob.area)
            alone[t], colour[t] = len(found) == 1, largest.colour == unit.colour
            area[t] = abs(largest.area / unit.area - 1) <= SLACK
            places[t] = largest.place
    steps = np.diff(places, axis=0)
    bends = np.full(len(steps), np.nan)
    if np.isfinite(steps).any():
        bends = np.linalg.norm(steps - np.nanmedian(steps, axis=0), axis=1)
    starts = np.hypot(*(places[0] - unit.place)) <= FAR * size
    moves = np.linalg.norm(steps, axis=1) > 0.005 * size
    return Judged(
        {
            "there is one unit": alone.mean(),
            "its colour": colour.mean(),
            "its area": area.mean(),
            "it goes straight on": np.append(bends <= 0.012 * size + 0.3, starts).mean(),
        },
        {"it moves": moves.mean() if len(moves) else None},
    )


def collect_shards(predicted: np.ndarray, observed: np.ndarray) -> Judged:
    """There are always two units, and each shard is collected once, by a unit that is there.

    At least half as many are collected as in the observed video.
    """
    size = predicted.shape[-1]
    colours = ("blue", "shard", "cue")
    start, cover = covered(observed[:1], colours), covered(predicted, colours)
    units = start["blue"][0].sum()
    shards = [blob.place for blob in blobs(start, ["shard"], 0)]
    is_small = units < area_of(RADII[1], size)
    if is_small or start["none"].sum() > area_of(SHARD, size) or not shards:
        return NOTHING
    rows, columns = np.mgrid[:size, :size]
    gaps = [np.hypot(rows - at[0], columns - at[1]) for at in shards]
    near = [gap < 1.6 * SHARD * size + 1 for gap in gaps]
    in_reach = [gap < (RADII[1] + SHARD + 0.035) * size + 1 for gap in gaps]
    full = area_of(SHARD, size)
    elsewhere = ~np.any(near, axis=0)
    true = covered(observed, colours)
    truly = sum(true["shard"][-1][disc].sum() <= SURE * full for disc in near)
    # A shard that returned, or vanished alone, is wrong from then on.
    before, right = np.ones((2, len(shards)), bool)
    previous = start["blue"][0]
    all_units, of_shards = np.zeros((2, len(predicted)))
    for t in range(len(predicted)):
        blue, shard = cover["blue"][t], cover["shard"][t]
        all_units[t] = abs(blue.sum() / units - 1) <= SLACK
        there = np.array([shard[disc].sum() > SURE * full for disc in near])
        right &= before | ~there
        for i in np.flatnonzero(before & ~there):
            disc = in_reach[i]
            right[i] &= max(blue[disc].sum(), previous[disc].sum()) >= SURE * units / 4
        of_shards[t] = right.mean() * (shard[elsewhere].sum() <= SURE * full)
        before, previous = there, blue
    return Judged(
        {
            "there are two units": all_units.mean(),
            "shards stay, or are collected by a unit": of_shards.mean(),
        },
        {
            "units move": _enough(motion(cover, ["blue"]), HALF * motion(true, ["blue"])),
            "shards are collected": _enough((right & ~before).sum(), HALF * truly),
        },
    )


def brawl(predicted: np.ndarray, observed: np.ndarray) -> Judged:
    """Both armies only lose, no more than a few units at once, and one of them is left.

    They lose at least half as much as in the observed video, but for one unit.
    """
    size = predicted.shape[-1]
    colours = ("zerg", "terran", "yellow")
    start, cover = covered(observed[:1], colours), covered(predicted, colours)
    true, armies = covered(observed, colours), ("zerg", "terran")
    least = area_of(RADII[0], size)
    if min(start[army][0].sum() for army in armies) < least * SURE:
        return NOTHING
    is_right = np.zeros((len(armies), len(predicted)), bool)
    left = np.zeros(len(predicted))
    lost = truly = 0.0
    for army, right in zip(armies, is_right, strict=True):
        area = cover[army].sum(axis=(1, 2))
        whole = before = start[army][0].sum()
        for t, now in enumerate(area):
            slack = max(0.75 * least, 0.05 * whole)
            right[t] = before - 0.45 * whole - slack <= now <= before + slack
            # What was lost does not come back, however slowly.
            before = min(before, now)
        # An army that lost too much at once, or grew, is wrong from then on.
        right[:] = np.logical_and.accumulate(right)
        left = np.maximum(left, area * right)
        lost += (whole - area[-1]) * right[-1]
        truly += whole - true[army][-1].sum()
    strange = cover["none"].sum(axis=(1, 2)) >= 3 * least
    return Judged(
        {
            "armies only lose": (is_right & ~strange).mean(),
            "one is left": (left > SURE * least).mean(),
        },
        {
            "they move": _enough(motion(cover, armies), HALF * motion(true, armies)),
            "they lose": _enough(lost, HALF * truly - least),
        },
    )


def road_trip(predicted: np.ndarray, observed: np.ndarray) -> Judged:
    """Every unit is picked up once by the one medivac, and the same ones are delivered.

    They have to be delivered by the end if they are in the observed video, and at least half of
    those that are picked up there.
    """
    size = predicted.shape[-1]
    colours = (*TEAMS, "medivac", "beacon")
    start, cover = covered(observed[:1], colours), covered(predicted, colours)
    first, back = blobs(start, TEAMS, 0), blobs(covered(observed[-1:], colours), TEAMS, 0)
    # Some may have been picked up before the first observed frame.
    known, missed = list(first), []
    for one in back:
        same = next((i for i, unit in enumerate(known) if _alike(one, unit)), None)
        if same is None:
            missed.append(one)
        else:
            del known[same]
    units, flying = first + missed, blobs(start, ["medivac"], 0)
    if len(flying) != 1 or not 1 <= len(units) <= 4:
        return NOTHING
    phase = np.array(["waiting"] * len(first) + ["inside"] * len(missed), dtype="<U9")
    whole, place = area_of(MEDIVAC, size), flying[0].place
    reach = (MEDIVAC + RADII[-1]) * size + 2.5 * FAR * size
    # A unit that vanished far from the medivac, or after it was delivered, is wrong from then on.
    right = np.ones(len(units), bool)
    of_medivac, of_units = np.zeros((2, len(predicted)))
    for t in range(len(predicted)):
        flying, before = blobs(cover, ["medivac"], t), place
        if flying:
            largest = max(flying, key=lambda blob: blob.area)
            place = largest.place
            is_near = np.hypot(*(place - before)) <= 2.5 * FAR * size
            of_medivac[t] = len(flying) == 1 and abs(largest.area / whole - 1) <= SLACK and is_near
        seen: dict[int, str] = {}
        strange = 0
        for blob in blobs(cover, TEAMS, t):
            match = _match(blob, units, phase, seen, place, size)
            if match is None:
                strange += 1
            else:
                seen[match[0]] = match[1]
        for i, unit in enumerate(units):
            now = seen.get(i, "inside")
            if phase[i] == "waiting" and now == "inside":
                right[i] &= min(np.hypot(*(unit.place - at)) for at in (before, place)) <= reach
            right[i] &= phase[i] != "delivered" or now == "delivered"
            phase[i] = now
        # Nothing is inside of what is no medivac.
        there = (phase != "inside") | (of_medivac[t] > 0)
        of_units[t] = (right & there).sum() / (len(units) + strange)
        before = place
    true = covered(observed, colours)
    waiting = [any(_alike(b, unit) and _near(b, unit, size) for b in back) for unit in first]
    picked_up = (right & (phase != "waiting"))[: len(first)].sum()
    delivered = (right & (phase == "delivered")).sum()
    is_over = not any(waiting) and len(back) >= len(units)
    return Judged(
        {
            "there is one medivac": of_medivac.mean(),
            "units wait, are in it, or are delivered": of_units.mean(),
        },
        {
            "it moves": _enough(motion(cover, ["medivac"]), HALF * motion(true, ["medivac"])),
            "units are picked up": _enough(picked_up, HALF * waiting.count(False)),
            "all are delivered": delivered / len(units) if is_over else None,
        },
    )


def _alike(one: Blob, other: Blob) -> bool:
    return one.colour == other.colour and abs(one.area / other.area - 1) <= SLACK


def _near(one: Blob, other: Blob, size: int) -> bool:
    return bool(np.hypot(*(one.place - other.place)) < 0.02 * size + 1)


def _match(
    blob: Blob,
    units: Sequence[Blob],
    phase: np.ndarray,
    seen: dict[int, str],
    medivac: np.ndarray,
    size: int,
) -> tuple[int, str] | None:
    """Which unit an area is, and whether it waits or is delivered; None: none of them."""
    like = [i for i, unit in enumerate(units) if i not in seen and _alike(blob, unit)]
    for i in like:
        if phase[i] == "waiting" and _near(blob, units[i], size):
            return i, "waiting"
    close = np.hypot(*(blob.place - medivac)) < (MEDIVAC + RADII[-1] + 0.03) * size + 1
    for i in like:
        if phase[i] != "waiting" and (close or phase[i] == "delivered"):
            return i, "delivered"
    return None


def kept(game: Game, predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """How much of the rules of a game each video keeps.

    Args:
        game: one of this module.
        predicted: (N, T, C, H, W) in 0..1.
        observed: likewise.

    Returns:
        (N,) in 0..1, 1 if it keeps all of them. NaN for bad data; infinite where the observed video
        itself breaks a rule, as its things are not recognised (those of the real game are not).
    """
    if predicted.shape[2] != 3:
        return np.full(len(predicted), np.inf)

    found = [
        game(ours, theirs).share if game(theirs, theirs).share == 1 else np.inf
        for ours, theirs in zip(predicted, observed, strict=True)
    ]
    bad = np.isnan(predicted).any(axis=(1, 2, 3, 4))
    return np.where(bad, np.nan, found)


NO_VALUE = "things in the observed videos are not recognised: they are not drawn by the generator"
