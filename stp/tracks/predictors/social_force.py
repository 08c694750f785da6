"""Sof: social forces that decay with distance (Helbing and Molnár 1995; Atlas, section IV-B)."""

from dataclasses import dataclass

import numpy as np

from stp.tracks import forces
from stp.tracks.obstacles import Obstacles
from stp.tracks.scenarios import Scenarios

SEARCH = {
    "contact": (0.0, 1200.0),
    "contact_obstacle": (0.0, 1500.0),
    "strength": (1.0, 800.0),
    "strength_obstacle": (1.0, 1000.0),
    "range": (0.005, 10.0),
    "range_obstacle": (0.005, 10.0),
}
"""Bounds of the calibrated parameters (Atlas, released configuration)."""

DISC_FACTOR = 1.5
"""Factor of the force of discs, relative to cells of a map (released code)."""


@dataclass(frozen=True)
class Parameters:
    """Parameters of the forces between people, and between a person and the nearest obstacle.

    At distance d between centres, the force is w * a * exp(-|d0 - d| / b) + K * max(0, d0 - d). It
    pushes the person away from the other person or the obstacle. Bodies touch at the distance d0
    and overlap if d is smaller. The weight w, at most 1, depends on the direction to the other
    person or the obstacle (`stp.tracks.forces.sight_weight`). Letters are those of the released
    code of Atlas.

    Attributes:
        strength: force a, which decays with distance, between people who touch, newtons.
        range: length b over which this force decays by the factor e, metres.
        contact: additional force K per overlap of two bodies, newtons per metre; 0 without overlap.
        strength_obstacle: as `strength`, for the nearest obstacle (ao); the force is 1.5 times as
            large if obstacles are discs.
        range_obstacle: as `range`, for the nearest obstacle (bo), metres.
        contact_obstacle: as `contact`, for the nearest obstacle (Ko), newtons per metre.
        body: constants of a person's body, the same for all people: mass, radius, ...
    """

    strength: float = 13.4
    range: float = 4.15
    contact: float = 215.0
    strength_obstacle: float = 518.0
    range_obstacle: float = 0.12
    contact_obstacle: float = 750.0
    body: forces.Body = forces.BODY


def predict(
    scenarios: Scenarios,
    steps: int,
    parameters: Parameters,
    obstacles: Obstacles | None = None,
    jitter: np.ndarray | None = None,
) -> np.ndarray:
    """Predict positions of N people in S scenarios, whom nearby people and obstacles repel.

    Args:
        scenarios: scenarios to predict.
        steps: number of future positions.
        parameters: parameters of the forces.
        obstacles: obstacles of the scene; None without a map.
        jitter: random displacement at each step, (S, N, steps, 2), metres, which affects all later
            steps; None for none.

    Returns:
        positions, (S, N, steps, 2), metres; NaN for absent people.
    """
    pairs = forces.present_pairs(scenarios.present)[..., None]
    own = parameters

    def force(position: np.ndarray, velocity: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        heading = velocity / (forces.length(velocity) + 1e-6)
        apart = position[:, :, None] - position[:, None]
        distance = forces.length(apart)
        away = apart / (distance + 1e-8)
        social = forces.sight_weight(heading[:, :, None], away, own.body) * own.strength
        # As released, with the absolute value: the force is largest at contact.
        social = social * np.exp(-np.abs(own.body.apart - distance) / own.range)
        touching = own.contact * np.maximum(0, own.body.apart - distance)
        total = np.where(pairs, (social + touching) * away, 0).sum(axis=2)
        return total if obstacles is None else total + from_obstacle(position, heading, obstacles)

    def from_obstacle(
        position: np.ndarray, heading: np.ndarray, obstacles: Obstacles
    ) -> np.ndarray:
        centre, radius = obstacles.nearest(position)
        discs = obstacles.kind == "discs"
        apart = own.body.radius + radius[..., None] if discs else own.body.apart
        distance = forces.length(position - centre)
        away = (position - centre) / distance
        social = forces.sight_weight(heading, away, own.body) * own.strength_obstacle
        social = social * np.exp(-np.abs(apart - distance) / own.range_obstacle)
        touching = own.contact_obstacle * np.maximum(0, apart - distance)
        return np.asarray(((DISC_FACTOR if discs else 1) * social + touching) * away)

    return forces.walk(scenarios, steps, force, own.body, jitter)
