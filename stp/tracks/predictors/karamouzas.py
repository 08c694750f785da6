"""Kara: people evade predicted collisions (Karamouzas et al. 2009; Atlas, section IV-B)."""

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
"""Bounds of the calibrated parameters (Atlas, released configuration)."""

INSIDE = 0.1
"""Time to the collision with an obstacle around the person, seconds (released code)."""
DISC_MARGIN = -0.4
"""Addition to the radius of a disc, metres (released code)."""


@dataclass(frozen=True)
class Parameters:
    """Parameters of the predictor: range and strength of the evasive force.

    The force at distance D is ``strength / D`` up to the distance ``near``, constant over the next
    ``near_to_flat`` metres, and falls to 0 over the next ``flat_to_end`` metres. With the released
    parameters it is about 1 N on a body of 80 kg, which has little effect.

    Attributes:
        people: maximum number of people that one person evades at once: those with the earliest
            collisions.
        safe: distance that people keep from each other, metres.
        near: distance up to which the force falls as 1 / D, metres (d_min of the released code).
        near_to_flat: length of the constant part, metres (d_mid).
        flat_to_end: length of the part that falls to 0, metres (d_max).
        strength: product of force and distance for D up to ``near``, newton metres (k).
        obstacle_factor: force of an obstacle as a multiple of that of a person (kara_scale).
        body: constants of a person's body, the same for all people: mass, radius, ...
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
        """Magnitude of the force at a distance to the collision, newtons.

        Args:
            distance: remaining distance, metres, of any shape.
        """
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
    """Time until two bodies are closer than a radius, in seconds; infinite if they never are.

    Leading axes of the arguments, written as "...", are pairs of bodies, as in the result.

    Args:
        towards: velocity relative to the other body, (..., 2), metres per second.
        apart: vector to the other body, (..., 2), metres.
        radius: distance between centres below which the bodies collide, metres, (...).
        horizon: largest time, seconds; later collisions are ignored.
        inside: result for bodies that are already closer than the radius, seconds.
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
    """Predict positions of N people in S scenarios, who evade collisions that they foresee.

    Args:
        scenarios: scenarios to predict.
        steps: number of future positions.
        parameters: parameters of the forces.
        obstacles: obstacles of the scene, which people evade too; None without a map.
        jitter: random displacement at each step, (S, N, steps, 2), metres, which affects all later
            steps; None for none.

    Returns:
        positions, (S, N, steps, 2), metres; NaN for absent people.
    """
    own, body = parameters, parameters.body
    pairs = forces.present_pairs(scenarios.present)
    horizon = forces.HORIZON_STEPS * scenarios.dt
    count = min(own.people, pairs.shape[-1])
    # Row k: weights of k evaded people, the largest for the first collision.
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
