"""Simulate simple versions of the four scenarios of StarCraft 2 Videos (Unterthiner et al. 2018).

Each function plays a scenario, and yields the objects on the map in each frame of the game. Rules,
numbers and ends are those of appendix B; sizes, speeds and strengths were chosen so that videos are
about as long as the official ones. Units do not touch, so each remains visible, and after the first
frame the game is deterministic.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
from pydantic import Field

from stp.datasets.scv.appearance import DEPTH, MEDIVAC, RADII, SHARD, TEAMS, TYPES, Thing

LIMIT = 398
"""Number of frames of the game in "two minutes": 99 times every fourth, after the first two."""
TRIP = 258
"""Number of frames of a road trip: 32 times every eighth, after the first two."""
SHOWN = 4
"""Number of frames in which a click is visible."""
MARINE, MARINES = 1, "blue"
SPEEDS = (0.0068, 0.0063, 0.0057, 0.0052, 0.0047, 0.0042)
"""Speeds of units by type, in widths of the map per frame: at least 68 frames to the border."""
TURN = 40.0
"""Angle by which the lobes (bulges of the outline) turn while a unit moves by one width of the map,
radians."""
GAP, MARINE_GAP = 0.045, 0.038
"""Minimum distance between the lobes of two units, in widths of the map. The gap between marines is
narrower than a shard, so that both can reach a shard between them."""
MARINE_REACH = RADII[MARINE] * (1 + DEPTH) + SHARD
"""Distance between the centres of a marine and a shard at which the lobes of the marine touch the
shard, in widths of the map."""
LEAST_REACH, DAMAGE = 0.08, 5.0
"""Minimum range of a weapon, from edge to edge, and damage by a shot of the weakest type; units
have a health of 30."""


@dataclass(frozen=True)
class Scenario:
    """Parameters of the scenarios; the defaults are those of Unterthiner et al. 2018, appendix B.

    Units are the figures of the game, such as soldiers.

    Attributes:
        types: number of types of units, out of six.
        colours: number of colours of units, out of four.
        shards: number of shards of minerals.
        army: number of units on either side.
        most_units: maximum number of units that a medivac carries.
        beacons: number of beacons that a medivac visits.
    """

    types: Annotated[int, Field(ge=1, le=TYPES)] = 6
    colours: Annotated[int, Field(ge=1, le=len(TEAMS))] = 4
    shards: Annotated[int, Field(ge=1, le=24)] = 20
    army: Annotated[int, Field(ge=1, le=12)] = 9
    most_units: Annotated[int, Field(ge=1, le=4)] = 4
    beacons: Annotated[int, Field(ge=1, le=4)] = 2


Frames = Iterator[list[Thing]]


def move_unit(rng: np.random.Generator, scenario: Scenario) -> Frames:
    """Yield the frames of a game in which a unit moves from the centre to the border.

    A mark, as of a mouse click, shows in the first frames where the unit goes.

    Args:
        rng: generator of all random numbers.
        scenario: parameters of the game: ``types`` and ``colours`` of units.

    Yields:
        all objects on the map, for each frame.
    """
    kind = int(rng.integers(scenario.types))
    colour = TEAMS[rng.integers(scenario.colours)]
    angle = rng.uniform(0, 2 * np.pi)
    way = np.array([np.cos(angle), np.sin(angle)])
    click = 0.5 + way * 0.2
    position, gone = np.full(2, 0.5), 0.0
    edge = 0.5 - RADII[kind] * (1 + DEPTH)
    while np.abs(position - 0.5).max() <= edge:
        things = [Thing(0, "unit", kind, colour, position[0], position[1], gone * TURN)]
        if gone < SHOWN * SPEEDS[kind]:
            things.insert(0, Thing(1, "cue", 0, "cue", *click))
        yield things
        gone += SPEEDS[kind]
        position = 0.5 + way * gone


def collect_shards(rng: np.random.Generator, scenario: Scenario) -> Frames:
    """Yield the frames of a game in which two marines collect shards of minerals.

    Each goes to the nearest shard; shards do not reappear.

    Args:
        rng: generator of all random numbers.
        scenario: parameters of the game: number of ``shards``.

    Yields:
        all objects on the map, for each frame.
    """
    positions = draw_positions(rng, 2, 0.1, 0.9, 4 * RADII[MARINE], np.empty((0, 2)), 0.0)
    shards = draw_positions(rng, scenario.shards, 0.05, 0.95, 0.12, positions, MARINE_REACH + 0.073)
    remaining = np.ones(len(shards), bool)
    target, clicked, gone = [-1, -1], [-SHOWN, -SHOWN], [0.0, 0.0]
    for frame in range(LIMIT):
        for unit in range(2):
            if target[unit] < 0 or not remaining[target[unit]]:
                distances = np.hypot(*(shards - positions[unit]).T)
                distances[~remaining] = np.inf
                if remaining.any():
                    target[unit], clicked[unit] = int(distances.argmin()), frame
                else:
                    target[unit] = -1
        yield [
            *(
                Thing(4 + unit, "cue", 0, "cue", *shards[target[unit]])
                for unit in range(2)
                if target[unit] >= 0 and frame < clicked[unit] + SHOWN
            ),
            *(
                Thing(10 + i, "shard", 0, "shard", *at)
                for i, at in enumerate(shards)
                if remaining[i]
            ),
            *(
                Thing(
                    unit,
                    "unit",
                    MARINE,
                    MARINES,
                    positions[unit, 0],
                    positions[unit, 1],
                    gone[unit] * TURN,
                )
                for unit in range(2)
            ),
        ]
        for unit in range(2):
            if target[unit] >= 0:
                positions[unit] += step(shards[target[unit]] - positions[unit], SPEEDS[MARINE])
                gone[unit] += SPEEDS[MARINE]
        push_apart(positions, np.full(2, RADII[MARINE]), MARINE_GAP)
        for position in positions:
            remaining &= np.hypot(*(shards - position).T) > MARINE_REACH


def brawl(rng: np.random.Generator, scenario: Scenario) -> Frames:
    """Yield the frames of a game in which two armies fight until one has no units left.

    Each unit attacks the nearest enemy. Armies start so close that units are lost within the 16
    recorded frames of a clip.

    Args:
        rng: generator of all random numbers.
        scenario: parameters of the game: ``types`` of units, and size of an ``army``.

    Yields:
        all objects on the map, for each frame.
    """
    n = scenario.army
    sides = ("zerg", "terran") if rng.integers(2) else ("terran", "zerg")
    kinds = rng.integers(scenario.types, size=2 * n)
    army = np.repeat([0, 1], n)
    radii = np.array(RADII)[kinds]
    places = np.stack([rng.uniform(0.24, 0.36, 2 * n), rng.uniform(0.06, 0.94, 2 * n)], axis=1)
    places[army == 1, 0] = 1 - places[army == 1, 0]
    for _ in range(40):
        push_apart(places, radii, GAP)
    speeds = np.array(SPEEDS)[kinds]
    health, damage = 30.0 * 1.35**kinds, DAMAGE * 1.2**kinds
    reach = LEAST_REACH + 0.02 * ((kinds + army) % 3)
    alive, gone = np.ones(2 * n, bool), np.zeros(2 * n)
    units, foes = np.arange(2 * n), army[:, None] != army
    for frame in range(LIMIT):
        things = [
            Thing(
                i, "unit", int(kinds[i]), sides[army[i]], places[i, 0], places[i, 1], gone[i] * TURN
            )
            for i in units[alive].tolist()
        ]
        if not all(alive[army == side].any() for side in (0, 1)):
            yield things
            return
        way = places - places[:, None]
        distance = np.where(foes & alive, np.hypot(way[..., 0], way[..., 1]), np.inf)
        enemy = distance.argmin(axis=1)
        way, distance = way[units, enemy], distance[units, enemy]
        fights = alive & (distance <= radii + radii[enemy] + reach)
        shoots = fights & ((frame + units) % 6 == 0)
        yield [
            *things,
            *(
                Thing(100 + i, "shot", 0, "yellow", *(places[i] + way[i] / 2))
                for i in units[shoots].tolist()
            ),
        ]
        moves = alive & ~fights
        places[moves] += (way * (speeds / distance)[:, None])[moves]
        gone[moves] += speeds[moves]
        np.subtract.at(health, enemy[shoots], damage[shoots])
        alive &= health > 0
        moved = places[alive]
        push_apart(moved, radii[alive], GAP)
        places[alive] = moved


def road_trip(rng: np.random.Generator, scenario: Scenario) -> Frames:
    """Yield the frames of a game in which a medivac (a flying transport) carries units.

    It picks up units, the nearest first, visits beacons, and unloads at the last one.

    Args:
        rng: generator of all random numbers.
        scenario: parameters of the game: ``types``, ``colours`` and maximum number of units
            (``most_units``), and number of ``beacons``.

    Yields:
        all objects on the map, for each frame.
    """
    medivac = rng.uniform(0.4, 0.6, 2)
    n = int(rng.integers(1, scenario.most_units + 1))
    kinds, colours = rng.integers(scenario.types, size=n), rng.integers(scenario.colours, size=n)
    units = draw_positions(rng, n, 0.15, 0.85, 0.17, medivac[None], 0.17)
    beacons = draw_positions(rng, scenario.beacons, 0.18, 0.82, 0.16, units, 0.16, hole=0.15)

    # The way, as stops; `taken` is the unit that is picked up at a stop.
    stops, taken, position, waiting = [medivac], [-1], medivac, list(range(n))
    while waiting:
        nearest = min(waiting, key=lambda i: float(np.hypot(*(units[i] - position))))
        way = units[nearest] - position
        reached = MEDIVAC + RADII[kinds[nearest]]
        position = position + step(way, max(0.0, float(np.hypot(*way)) - reached))
        stops.append(position)
        taken.append(nearest)
        waiting.remove(nearest)
    stops += list(beacons)
    taken += [-1] * len(beacons)
    lengths = np.array([0, *(np.hypot(*(b - a)) for a, b in pairwise(stops))])
    arrival = np.cumsum(lengths) / lengths.sum() * (TRIP - 58)
    picked = {unit: time for unit, time in zip(taken, arrival, strict=True) if unit >= 0}
    order = [unit for unit in taken if unit >= 0]
    around = np.arange(n) * 2 * np.pi / n + rng.uniform(0, 2 * np.pi)
    way = [np.interp(np.arange(TRIP), arrival, [stop[axis] for stop in stops]) for axis in (0, 1)]
    for frame, (x, y) in enumerate(zip(*way, strict=True)):
        things = [Thing(20 + i, "beacon", 0, "beacon", *at) for i, at in enumerate(beacons)]
        for i in range(n):
            rank = order.index(i)
            if frame < picked[i]:
                at = units[i]
            elif frame >= TRIP - 50 + 8 * rank:
                distance = MEDIVAC + RADII[kinds[i]] + 0.015
                at = beacons[-1] + distance * np.array([np.cos(around[i]), np.sin(around[i])])
            else:
                continue
            things.append(Thing(i, "unit", int(kinds[i]), TEAMS[colours[i]], *at))
        yield [*things, Thing(10, "medivac", 0, "medivac", x, y)]


SCENARIOS: dict[str, tuple[str, int, Callable[[np.random.Generator, Scenario], Frames]]] = {
    "move_unit_to_border": ("MoveUnitToBorder", 6, move_unit),
    "collect_mineral_shards": ("CollectMineralShards", 4, collect_shards),
    "brawl": ("Brawl", 4, brawl),
    "road_trip_with_medivac": ("RoadTripWithMedivac", 8, road_trip),
}
"""For each scenario, the name of its map, the number of frames of the game from one recorded frame
to the next, and the function that plays it."""


def play(name: str, rng: np.random.Generator, scenario: Scenario) -> tuple[list[list[Thing]], int]:
    """Play one game of a scenario.

    As in the official data, the first two frames are not recorded.

    Args:
        name: name of the scenario, such as "brawl".
        rng: generator of all random numbers.
        scenario: parameters of the scenario.

    Returns:
        the objects on the map in each recorded frame, and the number of frames of the whole game.
    """
    _, every, scene = SCENARIOS[name]
    frames = list(scene(rng, scenario))
    return frames[2::every], len(frames)


def step(way: np.ndarray, length: float) -> np.ndarray:
    """A step of the given length along the vector ``way``, but no longer than ``way``."""
    distance = float(np.hypot(*way))
    return way * min(1.0, length / max(distance, 1e-9))


def draw_positions(
    rng: np.random.Generator,
    n: int,
    low: float,
    high: float,
    apart: float,
    others: np.ndarray,
    from_others: float,
    hole: float = 0.0,
) -> np.ndarray:
    """Draw random positions in a square, (n, 2), in widths of the map.

    Args:
        rng: generator of the random numbers.
        n: number of positions.
        low: lower limits of both coordinates.
        high: upper limits of both coordinates.
        apart: minimum distance from each other.
        others: positions to keep away from, (M, 2).
        from_others: minimum distance from ``others``.
        hole: minimum distance from the centre along at least one axis.
    """
    while True:
        points = np.empty((0, 2))
        for _ in range(400):
            point = rng.uniform(low, high, 2)
            far = np.abs(point - 0.5).max() >= hole
            far &= bool((np.hypot(*(points - point).T) >= apart).all())
            far &= bool((np.hypot(*(others - point).T) >= from_others).all())
            if far:
                points = np.vstack([points, point])
                if len(points) == n:
                    return points


def push_apart(places: np.ndarray, radii: np.ndarray, gap: float) -> None:
    """Move units apart where they are too close, and back onto the map, in place.

    A unit is a figure of the game. It is drawn as a disc with lobes (bulges of its outline).

    Args:
        places: positions of the centres of the units, (units, 2), 0..1; changed.
        radii: radii of the units without their lobes, (units,), in widths of the map. Lobes reach
            beyond the radius by a fifth of it (`DEPTH`).
        gap: distance to keep between the lobes of two units, in widths of the map.
    """
    for _ in range(4):
        way = places[:, None] - places[None]
        distance = np.hypot(way[..., 0], way[..., 1])
        np.fill_diagonal(distance, np.inf)
        room = radii * (1 + DEPTH) + gap / 2
        overlap = np.maximum(room[:, None] + room[None] - distance, 0)
        places += (way / np.maximum(distance, 1e-9)[..., None] * overlap[..., None] / 2).sum(axis=1)
        np.clip(places, radii[:, None], 1 - radii[:, None], out=places)
