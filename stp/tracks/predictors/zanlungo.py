"""Zan: social forces at the moment of the next collision (Zanlungo, Ikeda and Kanda 2011).

This predictor is in the released code of Atlas, but not in the tables of its paper.
"""

from dataclasses import dataclass

import numpy as np

from stp.tracks import forces
from stp.tracks.obstacles import Obstacles
from stp.tracks.scenarios import Scenarios

SEARCH = {
    "contact": (1.0, 1200.0),
    "contact_obstacle": (1.0, 1500.0),
    "strength": (1.0, 70.0),
    "strength_obstacle": (1.0, 1500.0),
    "range": (0.001, 10.0),
    "range_obstacle": (0.001, 10.0),
}
"""Bounds of the calibrated parameters (Atlas, released configuration)."""

SOONEST = 0.2
"""Smallest time to a collision, which bounds forces, seconds."""
DISC_FACTOR = 2.0
"""Factor of the force of discs, relative to cells of a map (released code)."""


@dataclass(frozen=True)
class Parameters:
    """Parameters of the forces between people, and between a person and the nearest obstacle.

    Attributes:
        strength, strength_obstacle: strength of the force, N s² / m (a_z, a_zo of the released
            code).
        range, range_obstacle: decay length, metres (b_z, b_zo).
        contact, contact_obstacle: contact force per overlap of bodies, newtons per metre (K, Ko).
        body: constants of a person's body, the same for all people: mass, radius, ...
    """

    strength: float = 8.8
    range: float = 0.015
    contact: float = 115.0
    strength_obstacle: float = 225.0
    range_obstacle: float = 0.11
    contact_obstacle: float = 1188.0
    body: forces.Body = forces.BODY


def meeting(
    towards: np.ndarray, apart: np.ndarray, gap: np.ndarray | float, cone: float, horizon: float
) -> np.ndarray:
    """Time to the collision with a body ahead, seconds, (..., 1); infinite without a collision.

    Args:
        towards: velocity relative to the other body, (..., 2), metres per second.
        apart: vector to the other body, (..., 2), metres.
        gap: distance between centres at contact, metres.
        cone: half the angle of the region ahead, radians.
        horizon: largest time, seconds; later collisions are ignored.
    """
    speed, distance = forces.length(towards), forces.length(apart)
    cosine = (towards * apart).sum(axis=-1, keepdims=True) / (speed * distance + 1e-9)
    with np.errstate(divide="ignore", invalid="ignore"):
        seconds = cosine * (distance - gap) / speed
    seconds = np.where(distance < gap, SOONEST, np.clip(seconds, SOONEST, horizon))
    return np.where(cosine < np.cos(cone), np.inf, seconds)


def predict(
    scenarios: Scenarios,
    steps: int,
    parameters: Parameters,
    obstacles: Obstacles | None = None,
    jitter: np.ndarray | None = None,
) -> np.ndarray:
    """Predict positions of N people in S scenarios, who evade the next collision.

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
    pairs = forces.present_pairs(scenarios.present)[..., None]
    horizon = forces.HORIZON_STEPS * scenarios.dt

    def force(position: np.ndarray, velocity: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        speed = forces.length(velocity)
        heading = velocity / (speed + 1e-6)
        towards = velocity[:, :, None] - velocity[:, None]
        apart = position[:, None] - position[:, :, None]
        seconds = meeting(towards, apart, body.apart, np.pi / 4, horizon)
        soonest = np.where(pairs, seconds, np.inf).min(axis=2)
        meets = np.isfinite(soonest)
        soonest = np.where(meets, soonest, 1)
        then = towards * soonest[:, :, None] - apart
        felt = own_force(
            then, heading[:, :, None], (speed / soonest)[:, :, None], body.apart,
            own.strength, own.range, own.contact,
        )  # fmt: skip
        total = np.where(pairs & meets[:, :, None], felt, 0).sum(axis=2)
        if obstacles is None:
            return np.asarray(total)
        return np.asarray(total + from_obstacle(position, velocity, obstacles))

    def own_force(
        apart: np.ndarray, heading: np.ndarray, haste: np.ndarray, gap: np.ndarray | float,
        strength: float, reach: float, contact: float,
    ) -> np.ndarray:  # fmt: skip
        distance = forces.length(apart)
        away = apart / np.where(distance > 0, distance, 1)
        social = forces.sight_weight(heading, away, body) * strength * haste
        social = social * np.exp(-np.abs(gap - distance) / reach)
        return np.asarray((social + contact * np.maximum(0, gap - distance)) * away)

    def from_obstacle(
        position: np.ndarray, velocity: np.ndarray, obstacles: Obstacles
    ) -> np.ndarray:
        centre, radius = obstacles.nearest(position)
        discs = obstacles.kind == "discs"
        gap = body.radius + radius[..., None] if discs else body.apart
        speed = forces.length(velocity)
        heading = velocity / (speed + 1e-9)
        seconds = meeting(velocity, centre - position, gap, np.pi / 3, horizon)
        meets = np.isfinite(seconds)
        seconds = np.where(meets, seconds, 1)
        felt = own_force(
            position + velocity * seconds - centre, heading, speed / seconds, gap,
            own.strength_obstacle * (DISC_FACTOR if discs else 1), own.range_obstacle,
            own.contact_obstacle,
        )  # fmt: skip
        return np.where(meets, felt, 0)

    return forces.walk(scenarios, steps, force, body, jitter)
