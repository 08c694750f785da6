"""Draw units in synthetic StarCraft videos; their colours and sizes are also used for checks.

Units (the figures of the game) are blobs on flat ground. The colour of a unit shows its side, and
its area shows its type. The outline of most types has lobes (bulges). It turns while the unit
moves, without changes of the area.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

GROUND = (62, 52, 44)
COLOURS = {
    "red": (220, 60, 50),
    "blue": (70, 110, 235),
    "green": (70, 190, 80),
    "yellow": (235, 205, 70),
    "zerg": (175, 80, 205),
    "terran": (240, 140, 55),
    "shard": (60, 225, 230),
    "medivac": (240, 240, 245),
    "beacon": (105, 90, 60),
    "cue": (255, 90, 180),
}
"""RGB colours, 0..255."""
TEAMS = ("red", "blue", "green", "yellow")
TYPES = 6
RADII = tuple(0.030 * 1.35 ** (kind / 2) for kind in range(TYPES))
"""Radii of units by type, in widths of the map; areas grow by 1.35 from type to type."""
SHARD, MEDIVAC, BEACON, CUE, SHOT = 0.022, 0.060, 0.050, 0.012, 0.006
"""Radii of other objects, in widths of the map."""
LOBES = (0, 2, 3, 4, 5, 6)
"""Number of lobes (bulges of the outline) of a unit, by type; the first type is a disc."""
DEPTH = 0.2
"""Depth of the lobes on the outline of a unit, relative to the unit's radius."""


class Thing(NamedTuple):
    """An object on the map, a square with the corners (0, 0) and (1, 1).

    A unit (a figure of the game) is drawn as a disc with 0 to 6 lobes (bulges of its outline), all
    other objects are drawn as discs.

    Attributes:
        number: number of the object, the same in all frames of a video.
        what: kind of object: unit, shard, medivac, beacon, cue or shot.
        kind: type of a unit, 0..5; 0 for other objects.
        colour: colour, a key of `COLOURS`.
        x: position from left to right, 0..1.
        y: position from top to bottom, 0..1.
        turn: angle by which the lobes of a unit are turned clockwise, radians. At 0, one of them
            points to the right.
    """

    number: int
    what: str
    kind: int
    colour: str
    x: float
    y: float
    turn: float = 0.0


def radius(thing: Thing) -> float:
    """Radius of the circle with the same area as an object, in widths of the map."""
    if thing.what == "unit":
        return RADII[thing.kind]
    return {"shard": SHARD, "medivac": MEDIVAC, "beacon": BEACON, "cue": CUE, "shot": SHOT}[
        thing.what
    ]


def draw(things: Sequence[Thing], size: int) -> np.ndarray:
    """Draw a frame; later objects cover earlier ones.

    Args:
        things: all objects on the map.
        size: height and width of the frame, pixels.

    Returns:
        frame, uint8 RGB (size, size, 3).
    """
    frame = np.empty((size, size, 3))
    frame[:] = GROUND
    for thing in things:
        mean = radius(thing)
        lobes = LOBES[thing.kind] if thing.what == "unit" else 0
        depth = DEPTH if lobes else 0.0
        reach = mean * (1 + depth) + 1 / size
        rows, columns = (
            slice(max(0, int((at - reach) * size)), max(0, int((at + reach) * size) + 1))
            for at in (thing.y, thing.x)
        )
        patch = frame[rows, columns]
        if not patch.size:
            continue
        down = (np.arange(patch.shape[0]) + rows.start + 0.5)[:, None] / size - thing.y
        right = (np.arange(patch.shape[1]) + columns.start + 0.5)[None] / size - thing.x
        # The mean of (1 + d cos)^2 over a turn is 1 + d^2 / 2.
        edge = mean / np.sqrt(1 + depth**2 / 2)
        if lobes:
            edge = edge * (1 + depth * np.cos(lobes * (np.arctan2(down, right) - thing.turn)))
        cover = np.clip((edge - np.hypot(down, right)) * size + 0.5, 0, 1)[..., None]
        patch += cover * (np.array(COLOURS[thing.colour], float) - patch)
    return np.rint(frame).astype(np.uint8)
