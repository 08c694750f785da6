"""Seeded scenes of a robot arm that pushes objects on a table, seen by several cameras.

The synthetic versions of BAIR, RoboNet and BridgeData share these scenes. The gripper goes from
object to object, approaches each from a random side and pushes it; objects push one another and
stay on the table. Like real recordings, pictures have a still camera, a textured table, sensor
noise, and occlusion of objects by the arm. There is no physics beyond contact, no grasping, lifting
or changing light.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import ndimage

_SPEED = 0.085  # speed of the gripper, table widths per frame
_REACH = 0.045  # radius of the gripper at the table
_NOISE = 1.5  # standard deviation of the sensor noise, grey levels
_PALETTE = np.array(
    [(200, 60, 50), (60, 110, 200), (70, 160, 80), (225, 180, 60), (150, 80, 170), (230, 130, 60)],
    float,
)


class Motion(NamedTuple):
    """Motion on the table, whose corners are (0, 0) and (1, 1); y points away from the camera.

    Attributes:
        gripper: x, y and height of the gripper, (frames, 3).
        objects: x, y of the centres of the objects, (frames, objects, 2).
        radii: radii of the objects, (objects,).
        colours: colours of the objects, RGB, (objects, 3).
    """

    gripper: np.ndarray
    objects: np.ndarray
    radii: np.ndarray
    colours: np.ndarray


@dataclass(frozen=True)
class Camera:
    """A camera's view of the table.

    Attributes:
        turn: rotation of the table about its centre, radians.
        tilt: tilt of the camera; 0 looks straight down, larger values shorten distant things.
        light: factor of the brightness.
    """

    turn: float = 0.0
    tilt: float = 0.4
    light: float = 1.0

    @classmethod
    def draw(cls, rng: np.random.Generator) -> "Camera":
        return cls(rng.uniform(-0.7, 0.7), rng.uniform(0.2, 0.6), rng.uniform(0.85, 1.1))

    def project(self, x: np.ndarray, y: np.ndarray, z: np.ndarray | float = 0.0) -> np.ndarray:
        """Project points of the scene to the picture.

        Args:
            x, y: position on the table, 0..1; y points away from the camera.
            z: height above the table.

        Returns:
            column and row, as fractions of the picture's size, and magnification, (..., 3).
        """
        cos, sin = np.cos(self.turn), np.sin(self.turn)
        right = cos * (x - 0.5) - sin * (y - 0.5)
        away = sin * (x - 0.5) + cos * (y - 0.5) + 0.5
        size = 0.82 / (1 + self.tilt * away)
        row = 0.92 - 0.95 * away * size - 0.6 * self.tilt * z
        return np.stack([0.5 + right * size, row, size], axis=-1)


def simulate(rng: np.random.Generator, frames: int, objects: int) -> Motion:
    """Simulate an arm that pushes objects on a table.

    Args:
        rng: generator of all random numbers.
        frames: number of frames.
        objects: number of objects.
    """
    radii = rng.uniform(0.05, 0.09, objects)
    places = rng.uniform(0.15, 0.85, (objects, 2))
    hand = rng.uniform(0.2, 0.8, 2)
    gripper, history = np.empty((frames, 3)), np.empty((frames, objects, 2))
    route: list[np.ndarray] = []
    height = 0.2
    for t in range(frames):
        if not route:
            chosen = places[rng.integers(objects)]
            angle = rng.uniform(0, 2 * np.pi)
            push = np.array([np.cos(angle), np.sin(angle)])
            route = [(chosen - 0.2 * push).clip(0.02, 0.98), (chosen + 0.3 * push).clip(0.02, 0.98)]
        way = route[0] - hand
        distance = float(np.hypot(*way))
        hand = hand + way * min(1.0, _SPEED / max(distance, 1e-9))
        if distance <= _SPEED:
            route.pop(0)
        # Raised on the way to an object, lowered to push it.
        height += 0.5 * ((0.2 if len(route) == 2 else 0.0) - height)
        if height < 0.12:
            _push_apart(places, radii, hand)
        gripper[t] = [*hand, height]
        history[t] = places
    tints = rng.uniform(0.8, 1.1, (objects, 1))
    colours = (_PALETTE[rng.permutation(objects) % len(_PALETTE)] * tints).clip(0, 255)
    return Motion(gripper, history, radii, colours)


def _push_apart(places: np.ndarray, radii: np.ndarray, hand: np.ndarray) -> None:
    """Move objects out of the gripper, then out of one another, in place."""
    for i, radius in enumerate(radii):
        _leave(places[i], hand, radius + _REACH)
    for i in range(len(radii)):
        for j in range(i):
            _leave(places[i], places[j].copy(), radii[i] + radii[j])
    np.clip(places, 0.05, 0.95, out=places)


def _leave(point: np.ndarray, other: np.ndarray, distance: float) -> None:
    way = point - other
    now = float(np.hypot(*way))
    if 1e-9 < now < distance:
        point += way * (distance / now - 1)


def render(
    motion: Motion, camera: Camera, height: int, width: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw the frames of a motion, seen by a camera.

    Args:
        motion: the motion of the gripper and the objects.
        camera: the view.
        height: height of a frame, pixels.
        width: width of a frame, pixels.
        rng: generator of the random numbers of textures and noise.

    Returns:
        frames, uint8 RGB (T, height, width, 3).
    """
    background = _background(camera, height, width, rng)
    frames = np.empty((len(motion.gripper), height, width, 3), np.uint8)
    scale = np.array([width, height])
    size = min(height, width)
    for t, (x, y, z) in enumerate(motion.gripper):
        image = background.copy()
        order = np.argsort(-motion.objects[t, :, 1])  # far ones first
        projected = camera.project(motion.objects[t, :, 0], motion.objects[t, :, 1])
        for i in order:
            centre, radius = projected[i, :2] * scale, motion.radii[i] * projected[i, 2] * size
            shadow = centre + 0.35 * radius
            _paint_capsule(image, shadow, shadow, 1.05 * radius, np.full(3, 45.0), 0.4)
            _paint_capsule(image, centre, centre, radius, motion.colours[i])
            glint = centre - 0.3 * radius
            _paint_capsule(image, glint, glint, 0.3 * radius, motion.colours[i] * 0.5 + 127, 0.6)
        joints = _arm(camera, np.array([x, y, z]))
        for (a, b), thick in zip(pairwise(joints), (0.055, 0.045, 0.03), strict=True):
            thickness = thick * (a[2] + b[2]) / 2 * size
            _paint_capsule(
                image, a[:2] * scale, b[:2] * scale, thickness, np.array([70.0, 72.0, 80.0])
            )
        tip = joints[-1]
        for side in (-0.02, 0.02):  # two fingers
            finger = (tip[:2] + np.array([side, 0])) * scale
            low = finger + np.array([0, 0.03 * size])
            _paint_capsule(image, finger, low, 0.012 * size, np.array([190.0, 190.0, 195.0]))
        image += rng.normal(0, _NOISE, image.shape)
        frames[t] = np.clip(np.rint(image), 0, 255)
    return frames


def _arm(camera: Camera, hand: np.ndarray) -> np.ndarray:
    """Base, elbow, wrist and gripper in the picture, (4, 3); the base is behind the table."""
    base = np.array([0.5, 1.25, 0.35])
    elbow = (base + hand) / 2 + np.array([0.25 * (hand[0] - 0.5), 0, 0.35])
    wrist = hand + np.array([0, 0.03, 0.15])
    return camera.project(*np.array([base, elbow, wrist, hand]).T)


def _background(camera: Camera, height: int, width: int, rng: np.random.Generator) -> np.ndarray:
    """The empty table in front of a wall, float (H, W, 3)."""
    wall = np.array([150.0, 150.0, 155.0]) * camera.light * rng.uniform(0.7, 1.0)
    wood = np.array([185.0, 150.0, 110.0]) * camera.light * rng.uniform(0.85, 1.1)
    image = np.broadcast_to(wall, (height, width, 3)).copy()
    # Which point of the table each pixel shows: the inverse of Camera.project for z = 0.
    rows, columns = np.mgrid[:height, :width]
    u, v = (columns + 0.5) / width - 0.5, 0.92 - (rows + 0.5) / height
    away = v / (0.95 * 0.82 - v * camera.tilt)
    right = u * (1 + camera.tilt * away) / 0.82
    cos, sin = np.cos(camera.turn), np.sin(camera.turn)
    x, y = cos * right + sin * (away - 0.5) + 0.5, -sin * right + cos * (away - 0.5) + 0.5
    on_table = (x > 0) & (x < 1) & (y > 0) & (y < 1) & (away > -0.5)
    image[on_table] = wood
    grain = 6 * np.sin(60 * x + 4 * np.sin(7 * y))
    spots = ndimage.gaussian_filter(rng.normal(size=(height, width)), max(height, width) / 60)
    image[on_table] += (grain + 25 * spots / max(float(spots.std()) * 4, 1e-9))[on_table, None]
    rim = on_table & ~ndimage.binary_erosion(on_table, iterations=max(1, height // 60))
    image[rim] *= 0.6
    return image


def _paint_capsule(
    image: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    radius: float,
    colour: np.ndarray,
    strength: float = 1.0,
) -> None:
    """Paint all points near a line from a to b (column, row), with a soft edge of one pixel."""
    ends = np.array([a, b])
    x0, y0 = np.floor(ends.min(0) - radius - 1).astype(int).clip(0)
    x1, y1 = np.ceil(ends.max(0) + radius + 2).astype(int)
    patch = image[y0 : max(y1, 0), x0 : max(x1, 0)]
    if patch.size == 0:
        return
    y, x = np.ogrid[y0 : y0 + patch.shape[0], x0 : x0 + patch.shape[1]]
    dx, dy = b - a
    along = ((x - a[0]) * dx + (y - a[1]) * dy) / max(dx * dx + dy * dy, 1e-9)
    along = along.clip(0, 1)
    cover = radius + 0.5 - np.hypot(x - a[0] - along * dx, y - a[1] - along * dy)
    patch += strength * cover.clip(0, 1)[..., None] * (colour - patch)
