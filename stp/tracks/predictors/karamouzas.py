"""Kara: people evade collisions that they foresee (Karamouzas et al. 2009; Atlas, section IV-B)."""

from dataclasses import dataclass

import numpy as np

from stp.tracks import forces
from stp.tracks.obstacles import Obstacles
from stp.tracks.scenarios import Scenarios
from stp.tracks.velocity import weights

SEARCH = {
    "flat_to_end": (0.005, 40.0),
    "near_to_flat": (0.005, 30.0),
    "near": (0.005, 10.0),
    "strength": (0.001, 30.0),
    "obstacle_factor": (1.0, 100.0),
}
"""What is calibrated, and from where to where (Atlas, released configuration)."""

INSIDE = 0.1
"""Seconds to a collision with an obstacle that one is in already (released code)."""
DISC_MARGIN = -0.4
"""Metres that are added to the radius of a disc (released code)."""


@dataclass(frozen=True)
class Parameters:
    """How far ahead people look, and how strongly they evade.

    The force is ``strength / D`` up to the distance ``near``, constant over the next
    ``near_to_flat`` metres, and falls to 0 over the next ``flat_to_end``. It is one of 1 N or so on
    a body of 80 kg, which is hardly felt: so it is in the released code.

    Attributes:
        people: that are evaded at once: those that would be met first.
        safe: metres that people keep between themselves and others.
        near: metres (d_min of the released code).
        near_to_flat: metres (d_mid).
        flat_to_end: metres (d_max).
        strength: newton metres (k).
        obstacle_factor: of the force of obstacles (kara_scale).
    """

    people: int = 4
    safe: float = 0.7
    near: float = 1.0
    near_to_flat: float = 2.6
    flat_to_end: float = 5.6
    strength: float = 0.8
    obstacle_factor: float = 37.0
    body: forces.Body = forces.BODY

    def magnitude(self, distance: np.ndarray) -> np.ndarray:
        """Newtons at a distance that is left until a collision, metres."""
        flat = self.near + self.near_to_flat
        end = flat + self.flat_to_end
        most = self.strength / self.near
        falling = most * (end - distance) / (end - flat)
        with np.errstate(divide="ignore"):
            close = self.strength / distance
        return np.select([distance < self.near, distance < flat, distance < end],
                         [close, most, falling], 0.0)  # fmt: skip


def collision(
    towards: np.ndarray,
    apart: np.ndarray,
    radius: float | np.ndarray,
    horizon: float,
    inside: float,
) -> np.ndarray:
    """Seconds until two come closer than a radius; infinite if they do not within the horizon.

    Args:
        towards: velocity relative to the other, (..., 2), metres per second.
        apart: from oneself to the other, (..., 2), metres.
        radius: metres, (...).
        horizon: seconds.
        inside: seconds where they are too close already.
    """
    a = (towards * towards).sum(axis=-1)
    b = -2 * (apart * towards).sum(axis=-1)
    c = (apart * apart).sum(axis=-1) - np.square(radius)
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(b * b - 4 * a * c)
        first, second = (-b - root) / (2 * a), (-b + root) / (2 * a)
    ahead = (first > 0) & (first < horizon)
    return np.select([ahead, (first < 0) & (second > 0)], [first, inside], np.inf)


def predict(
    scenarios: Scenarios,
    steps: int,
    parameters: Parameters,
    obstacles: Obstacles | None = None,
    jitter: np.ndarray | None = None,
) -> np.ndarray:
    """Predict positions, (S, N, steps, 2), metres; NaN for absent people.

    Jitter, of this shape, moves people at each step, and what they do next follows from it.
    """
    own, body = parameters, parameters.body
    pairs = forces.others(scenarios.present)
    horizon = forces.HORIZON_STEPS * scenarios.dt
    count = min(own.people, pairs.shape[-1])
    # Row k: how much each counts where k + 1 people are evaded; who is met first counts most.
    shares = np.zeros((count + 1, count))
    for met in range(1, count + 1):
        shares[met, :met] = weights(met)[::-1]

    def force(position: np.ndarray, velocity: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        desired = velocity + forces.drive(velocity, wanted, body) / body.mass * scenarios.dt
        apart = position[:, None] - position[:, :, None]
        towards = desired[:, :, None] - velocity[:, None]
        seconds = collision(towards, apart, own.safe + body.radius, horizon, inside=0.0)
        seconds = np.where(pairs, seconds, np.inf)
        first = np.argsort(seconds, axis=-1, kind="stable")[..., :count]
        seconds = np.take_along_axis(seconds, first, axis=-1)
        meets = np.isfinite(seconds)
        seconds = np.where(meets, seconds, 0)[..., None]
        scene = np.arange(len(position))[:, None, None]
        there = position[scene, first] + seconds * velocity[scene, first]
        here = position[:, :, None] + seconds * desired[:, :, None]
        evading = own_force(here - there, here - position[:, :, None], body.apart)
        share = shares[meets.sum(axis=-1)][..., None]
        total = np.where(meets[..., None], share * evading, 0).sum(axis=2)
        return total if obstacles is None else total + from_obstacle(position, desired, obstacles)

    def own_force(apart: np.ndarray, way: np.ndarray, gap: float) -> np.ndarray:
        distance = forces.length(apart)
        left = np.abs(forces.length(way) + distance - gap)
        return np.asarray(own.magnitude(left) * apart / (distance + 1e-6))

    def from_obstacle(
        position: np.ndarray, desired: np.ndarray, obstacles: Obstacles
    ) -> np.ndarray:
        centre, radius = obstacles.nearest(position)
        size = radius + DISC_MARGIN if obstacles.kind == "discs" else body.radius
        seconds = collision(desired, centre - position, own.safe + size, horizon, INSIDE)
        meets = np.isfinite(seconds)
        here = position + np.where(meets, seconds, 0)[..., None] * desired
        evading = own.obstacle_factor * own_force(here - centre, here - position, body.radius)
        return np.where(meets[..., None], evading, 0)

    return forces.walk(scenarios, steps, force, body, jitter)
