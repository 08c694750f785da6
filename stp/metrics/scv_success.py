"""Does a predicted game keep its rules? For videos drawn as stp.data.scv_look draws them.

Unterthiner et al. 2018, section 3.2: "any valid RTwM video must consist of a pick-up,
transportation, and drop-off phase, and the same number and type of units that were picked up must
be dropped off again". The rules are checked on frames alone: colours are taken apart by what they
are mixed of, and what is counted is the area that a colour covers. The first observed frame says
what there is. A video in which nothing happens keeps no rule: at least half of what is collected,
lost or picked up in the observed video has to be, and half as much has to move. Where the observed
video itself breaks a rule, its things are not recognised (videos of the real game are not): the
sample has no value.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from stp.data.scv_look import COLOURS, GROUND, MEDIVAC, RADII, SHARD, TEAMS
from stp.metrics.metric import Metric

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


def covered(frames: np.ndarray, colours: Sequence[str]) -> dict[str, np.ndarray]:
    """How much of each pixel a colour covers.

    Args:
        frames: (T, 3, H, W) in 0..1.
        colours: that there may be, keys of `COLOURS`.

    Returns:
        colour -> (T, H, W) in 0..1; a pixel has one colour. "none" is 1 where it has none of these.
    """
    ground = np.array(GROUND) / 255
    off = np.moveaxis(frames.astype(np.float64), 1, -1) - ground
    ways = np.array([COLOURS[colour] for colour in colours]) / 255 - ground
    share = np.clip(off @ (ways / (ways**2).sum(axis=1, keepdims=True)).T, 0, 1)
    left = np.linalg.norm(off[..., None, :] - share[..., None] * ways, axis=-1)
    best = left.argmin(axis=-1)
    unlike = left.min(axis=-1) > UNLIKE
    share = np.where((share < FAINT) | unlike[..., None], 0, share)
    found = {colour: np.where(best == i, share[..., i], 0) for i, colour in enumerate(colours)}
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


def keeps_unit(predicted: np.ndarray, observed: np.ndarray) -> bool:
    """Is there one unit, always the same, that goes straight on?"""
    size = predicted.shape[-1]
    colours = (*TEAMS, "cue")
    first = blobs(covered(observed[:1], colours), TEAMS, 0)
    if len(first) != 1:
        return False
    cover = covered(predicted, colours)
    places = []
    for t in range(len(predicted)):
        found = blobs(cover, TEAMS, t)
        if len(found) != 1 or found[0].colour != first[0].colour:
            return False
        if abs(found[0].area / first[0].area - 1) > SLACK:
            return False
        places.append(found[0].place)
    if np.hypot(*(places[0] - first[0].place)) > FAR * size:
        return False
    steps = np.diff(places, axis=0)
    if not len(steps):
        return True
    bends = np.linalg.norm(steps - np.median(steps, axis=0), axis=1)
    moves = np.linalg.norm(steps, axis=1)
    return bool((bends <= 0.012 * size + 0.3).all() and (moves > 0.005 * size).all())


def keeps_shards(predicted: np.ndarray, observed: np.ndarray) -> bool:
    """Are there always two units, and is each shard collected once, by a unit that is there?

    At least half as many are collected as in the observed video.
    """
    size = predicted.shape[-1]
    colours = ("blue", "shard", "cue")
    start, cover = covered(observed[:1], colours), covered(predicted, colours)
    units = start["blue"][0].sum()
    if units < area_of(RADII[1], size) or start["none"].sum() > area_of(SHARD, size):
        return False
    shards = [blob.place for blob in blobs(start, ["shard"], 0)]
    if not shards:
        return False
    rows, columns = np.mgrid[:size, :size]
    near = [np.hypot(rows - at[0], columns - at[1]) < 1.6 * SHARD * size + 1 for at in shards]
    full = area_of(SHARD, size)
    anywhere = np.any(near, axis=0)
    true = covered(observed, colours)
    if motion(cover, ["blue"]) < HALF * motion(true, ["blue"]):
        return False
    left = np.array([true["shard"][-1][disc].sum() > SURE * full for disc in near])
    before = np.ones(len(shards), bool)
    previous = start["blue"][0]
    for t in range(len(predicted)):
        blue, shard = cover["blue"][t], cover["shard"][t]
        if abs(blue.sum() / units - 1) > SLACK:
            return False
        if shard[~anywhere].sum() > SURE * full:
            return False
        there = np.array([shard[disc].sum() > SURE * full for disc in near])
        if (there & ~before).any():
            return False
        for i in np.flatnonzero(before & ~there):
            reach = (RADII[1] + SHARD + 0.035) * size + 1
            disc = np.hypot(rows - shards[i][0], columns - shards[i][1]) < reach
            if max(blue[disc].sum(), previous[disc].sum()) < SURE * units / 4:
                return False
        before, previous = there, blue
    return bool((~before).sum() >= HALF * (~left).sum())


def keeps_armies(predicted: np.ndarray, observed: np.ndarray) -> bool:
    """Do both armies only lose, no more than a few units at once, and is one of them left?

    They lose at least half as much as in the observed video, but for one unit.
    """
    size = predicted.shape[-1]
    colours = ("zerg", "terran", "yellow")
    start, cover = covered(observed[:1], colours), covered(predicted, colours)
    true, armies = covered(observed, colours), ("zerg", "terran")
    if motion(cover, armies) < HALF * motion(true, armies):
        return False
    least = area_of(RADII[0], size)
    left = lost = truly_lost = 0.0
    for army in armies:
        before = start[army][0].sum()
        if before < least * SURE:
            return False
        whole = before
        for t in range(len(predicted)):
            now = cover[army][t].sum()
            slack = max(0.75 * least, 0.05 * whole)
            if now > before + slack or now < before - 0.45 * whole - slack:
                return False
            # What was lost does not come back, however slowly.
            before = min(before, now)
        left, lost = max(left, now), lost + whole - now
        truly_lost += whole - true[army][-1].sum()
    if lost < HALF * truly_lost - least:
        return False
    strange = max(cover["none"][t].sum() for t in range(len(predicted)))
    return bool(left > SURE * least and strange < 3 * least)


def keeps_passengers(predicted: np.ndarray, observed: np.ndarray) -> bool:
    """Is every unit picked up once by the medivac, and are the same ones delivered?

    They have to be delivered by the end if they are in the observed video, and at least half of
    those that are picked up there.
    """
    size = predicted.shape[-1]
    colours = (*TEAMS, "medivac", "beacon")
    start, cover = covered(observed[:1], colours), covered(predicted, colours)
    units, back = blobs(start, TEAMS, 0), blobs(covered(observed[-1:], colours), TEAMS, 0)
    # Some may have been picked up before the first observed frame.
    known, missed = list(units), []
    for one in back:
        same = next((i for i, unit in enumerate(known) if _alike(one, unit)), None)
        if same is None:
            missed.append(one)
        else:
            del known[same]
    phase = ["waiting"] * len(units) + ["inside"] * len(missed)
    first = list(units)
    units += missed
    whole = area_of(MEDIVAC, size)
    true = covered(observed, colours)
    if motion(cover, ["medivac"]) < HALF * motion(true, ["medivac"]):
        return False
    flying = blobs(start, ["medivac"], 0)
    if len(flying) != 1 or not 1 <= len(units) <= 4:
        return False
    before = flying[0].place
    for t in range(len(predicted)):
        flying = blobs(cover, ["medivac"], t)
        if len(flying) != 1 or abs(flying[0].area / whole - 1) > SLACK:
            return False
        if np.hypot(*(flying[0].place - before)) > 2.5 * FAR * size:
            return False
        seen: dict[int, str] = {}
        for blob in blobs(cover, TEAMS, t):
            match = _match(blob, units, phase, seen, flying[0].place, size)
            if match is None:
                return False
            seen[match[0]] = match[1]
        for i, unit in enumerate(units):
            now = seen.get(i, "inside")
            if phase[i] == "waiting" and now == "inside":
                gaps = [np.hypot(*(unit.place - place)) for place in (before, flying[0].place)]
                reach = (MEDIVAC + RADII[-1]) * size + 2.5 * FAR * size
                if min(gaps) > reach:
                    return False
            if phase[i] == "delivered" and now != "delivered":
                return False
            phase[i] = now
        before = flying[0].place
    waiting = [any(_alike(b, unit) and _near(b, unit, size) for b in back) for unit in first]
    picked_up = phase[: len(first)].count("waiting") <= len(first) - HALF * waiting.count(False)
    delivered = len(back) < len(units) or phase.count("delivered") == len(units)
    return picked_up and (any(waiting) or delivered)


def _alike(one: Blob, other: Blob) -> bool:
    return one.colour == other.colour and abs(one.area / other.area - 1) <= SLACK


def _near(one: Blob, other: Blob, size: int) -> bool:
    return bool(np.hypot(*(one.place - other.place)) < 0.02 * size + 1)


def _match(
    blob: Blob,
    units: Sequence[Blob],
    phase: Sequence[str],
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


def _metric(keeps: Callable[[np.ndarray, np.ndarray], bool]) -> Metric:
    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        if predicted.shape[2] != 3:
            return np.full((len(predicted), 1, 1), np.inf)
        found = [
            float(keeps(ours, theirs)) if keeps(theirs, theirs) else np.inf
            for ours, theirs in zip(predicted, observed, strict=True)
        ]
        bad = np.isnan(predicted).any(axis=(1, 2, 3, 4))
        return np.where(bad, np.nan, found)[:, None, None]

    why = "things in the observed videos are not recognised: they are not drawn by the generator"
    return Metric(statistics, leads="pool", no_value=why, independent_leads=False)


move_unit = _metric(keeps_unit)
"""Share of videos in which one unit stays the same and goes straight on."""

collect_shards = _metric(keeps_shards)
"""Share of videos with two units in which shards are collected once, by a unit that is there."""

brawl = _metric(keeps_armies)
"""Share of videos in which armies only lose units, and one is left."""

road_trip = _metric(keeps_passengers)
"""Share of videos in which units are picked up once, and the same ones are delivered."""
