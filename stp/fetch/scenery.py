"""Synthetic streets, seen by a camera in a moving car.

Rays through a pinhole meet the ground, rows of houses on both sides, or the sky; trees, poles and
cars are upright rectangles. Everything has a position in space, so near things move faster through
the picture than distant ones. There are no shadows, curves or weather.
"""

from typing import NamedTuple

import numpy as np

_CAMERA = 1.6  # height above the ground, metres
_HORIZON = 0.45  # share of the picture's height, from the top
_FOCAL = 0.6  # share of the picture's width, as in KITTI and nuScenes
_LOOP = 400.0  # metres after which things beside the road repeat
_SIGHT = 70.0  # metres in which haze grows by e
_HAZE = np.array([200.0, 208.0, 216.0])


class Thing(NamedTuple):
    """An upright rectangle, such as a tree or a car.

    Attributes:
        x: distance to the right of the middle of the road, metres.
        z: distance along the road at time 0, metres.
        width: width, metres.
        foot, top: heights of the lower and the upper edge above the ground, metres.
        speed: speed along the road, m/s.
        colour: colour, RGB, 0..255.
    """

    x: float
    z: float
    width: float
    foot: float
    top: float
    speed: float
    colour: np.ndarray


class Street:
    """A street with its traffic; all random values are drawn at construction.

    Args:
        rng: generator of the random numbers of houses, trees and cars.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.half_width = float(rng.uniform(3.2, 4.5))  # of the road, metres
        self.houses_at = self.half_width + rng.uniform(2.5, 6.0, 2)  # left, right
        edges = [np.cumsum(rng.uniform(8, 22, 60)) for _ in range(2)]
        self.edges = [e[e < _LOOP] for e in edges]
        self.heights = rng.uniform(4, 18, (2, 61))
        self.colours = rng.uniform(60, 200, (2, 61, 1)) + rng.normal(0, 22, (2, 61, 3))
        self.road = rng.uniform(70, 110)
        self.pavement = rng.uniform(120, 165)
        self.sky = np.array([120.0, 160.0, 215.0]) + rng.normal(0, 15, 3)
        self.grain = rng.normal(0, 7, (64, 64))
        self.things = [*_trees(rng, self.half_width), *_cars(rng, self.half_width)]

    def picture(self, z: float, time: float, height: int, width: int) -> np.ndarray:
        """Draw what the camera in the moving car sees.

        Args:
            z: distance that the car has travelled, metres.
            time: time, seconds, which determines where other cars are.
            height: height of the picture, pixels.
            width: width of the picture, pixels.

        Returns:
            picture, uint8 RGB (height, width, 3).
        """
        focal = _FOCAL * width
        x = (np.arange(width) + 0.5 - width / 2) / focal
        y = (np.arange(height) + 0.5 - _HORIZON * height) / focal
        share = np.clip(-y / (_HORIZON * height / focal), 0, 1)[:, None, None]
        frame = np.broadcast_to(_HAZE * (1 - share) + self.sky * share, (height, width, 3)).copy()
        self._ground(frame, x, y, z)
        self._houses(frame, x, y, z)
        gone = [(np.mod(t.z + t.speed * time - z, _LOOP), t) for t in self.things]
        for depth, thing in sorted(gone, key=lambda pair: -pair[0]):
            if depth > 2:
                _paint(frame, thing, depth, focal)
        return np.clip(np.rint(frame), 0, 255).astype(np.uint8)

    def _ground(self, frame: np.ndarray, x: np.ndarray, y: np.ndarray, z: float) -> None:
        below = y > 0
        depth = _CAMERA / y[below][:, None]
        side = x[None, :] * depth
        along = z + depth
        grey = np.where(np.abs(side) < self.half_width, self.road, self.pavement)
        grey = grey + self.grain[(along * 2).astype(int) % 64, (side * 2).astype(int) % 64]
        is_line = (np.abs(side) < 0.12) & (np.mod(along, 9) < 4)
        is_line |= np.abs(np.abs(side) - self.half_width + 0.3) < 0.1
        grey = np.where(is_line, 225, grey)
        frame[below] = _add_haze(grey[..., None], depth[..., None])

    def _houses(self, frame: np.ndarray, x: np.ndarray, y: np.ndarray, z: float) -> None:
        side = (x > 0).astype(int)
        depth = self.houses_at[side] / np.maximum(np.abs(x), 1e-6)
        along = np.mod(z + depth, _LOOP)
        house = np.where(side == 0, *(np.searchsorted(self.edges[s], along) for s in range(2)))
        up = _CAMERA - y[:, None] * depth
        wall = (up >= 0) & (up < self.heights[side, house]) & (depth < _LOOP / 2)
        window = (np.mod(up, 3.1) > 1.0) & (np.mod(up, 3.1) < 2.4) & (np.mod(along, 2.7) > 1.3)
        colour = np.where(window[..., None], 45.0, self.colours[side, house])
        frame[wall] = _add_haze(colour, depth[None, :, None])[wall]


def _add_haze(colour: np.ndarray, depth: np.ndarray) -> np.ndarray:
    clear = np.exp(-depth / _SIGHT)
    return colour * clear + _HAZE * (1 - clear)


def _paint(frame: np.ndarray, thing: Thing, depth: float, focal: float) -> None:
    height, width = frame.shape[:2]
    left = width / 2 + focal * (thing.x - thing.width / 2) / depth
    right = width / 2 + focal * (thing.x + thing.width / 2) / depth
    top = _HORIZON * height + focal * (_CAMERA - thing.top) / depth
    foot = _HORIZON * height + focal * (_CAMERA - thing.foot) / depth
    columns = slice(max(0, round(left)), max(0, round(right)))
    rows = slice(max(0, round(top)), max(0, round(foot)))
    frame[rows, columns] = _add_haze(thing.colour, np.array(depth))


def _trees(rng: np.random.Generator, road: float) -> list[Thing]:
    things = []
    for z in np.arange(0, _LOOP, 14.0) + rng.uniform(-4, 4, int(np.ceil(_LOOP / 14.0))):
        x = float(rng.choice([-1, 1]) * (road + rng.uniform(0.6, 1.6)))
        top = float(rng.uniform(4, 8))
        things.append(Thing(x, float(z), 0.25, 0.0, top, 0.0, np.full(3, 70.0)))
        if rng.random() < 0.6:  # a tree, not a pole
            green = np.array([50.0, 100.0, 45.0]) + rng.normal(0, 12, 3)
            things.append(Thing(x, float(z), 2.4, 2.0, top, 0.0, green))
    return things


def _cars(rng: np.random.Generator, road: float) -> list[Thing]:
    things = []
    for lane, speed in ((-1, -9.0), (1, 8.0)):  # on the left towards us
        for z in rng.uniform(0, _LOOP, 6):
            colour = rng.uniform(30, 230, 3)
            x, v = lane * road / 2, speed * float(rng.uniform(0.8, 1.2))
            things.append(Thing(x, float(z), 1.8, 0.2, 1.0, v, colour))
            things.append(Thing(x, float(z), 1.4, 1.0, 1.5, v, colour * 0.5))
    return things
