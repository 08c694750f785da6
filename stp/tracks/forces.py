"""Common parts of force models: driving force, field of view, and integration in time.

Positions and velocities have the shape (S, N, 2) for S scenarios and N people. Quantities of pairs
of people have the shape (S, N, N, 2): the second axis is the person on whom a force acts, the third
is the person who causes it. Positions of absent people are NaN and have no effect.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stp.tracks.scenarios import Scenarios
from stp.tracks.velocity import filtered_velocity

FASTER = 1.3
"""Highest speed relative to the desired speed (Helbing and Molnár 1995; Atlas)."""
HORIZON_STEPS = 40
"""Horizon of collisions, steps (the paper's "40 steps")."""


@dataclass(frozen=True)
class Body:
    """Constants of a person's body in the force models of Atlas (released configuration).

    Attributes:
        mass: mass, kg.
        relaxation: relaxation time to the desired velocity, seconds.
        radius: radius, metres.
        apart: distance between the centres of two people who touch, metres.
        behind: weight of the force of a person straight ahead, from 0 to 1, if that of a person
            straight behind is 1 (`sight_weight`). The name is that of Helbing's model, where the
            weight is for people behind; the released code has exchanged the two.
    """

    mass: float = 80.0
    relaxation: float = 0.5
    radius: float = 0.25
    apart: float = 0.5
    behind: float = 0.7


BODY = Body()

Force = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Function from positions, velocities and desired velocities, (S, N, 2) each, to forces in newtons,
(S, N, 2)."""


def length(vectors: np.ndarray) -> np.ndarray:
    """Lengths of vectors: (..., 2) to (..., 1)."""
    return np.asarray(np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True)))


def present_pairs(present: np.ndarray) -> np.ndarray:
    """Find the pairs of different people who are both present.

    Args:
        present: whether each of N people is present in each of S scenarios, bool (S, N).

    Returns:
        whether each pair is such a pair, bool (S, N, N).
    """
    pairs = present[:, :, None] & present[:, None, :]
    return np.asarray(pairs & ~np.eye(present.shape[1], dtype=bool))


def sight_weight(heading: np.ndarray, away: np.ndarray, body: Body) -> np.ndarray:
    """Weight of the force of another person, depending on the direction to that person.

    As in the released code of Atlas, a person straight behind has the weight 1, and a person
    straight ahead the smaller weight ``body.behind``. This is the opposite of Helbing's model.

    Args:
        heading: unit vector in the direction of movement, (..., 2).
        away: unit vector from the other person to this one, (..., 2).
        body: constants of a person's body.

    Returns:
        weights, (..., 1), from ``body.behind`` to 1.
    """
    cosine = (heading * away).sum(axis=-1, keepdims=True)
    return np.asarray(body.behind + (1 - body.behind) * (1 + cosine) / 2)


def drive(velocity: np.ndarray, wanted: np.ndarray, body: Body) -> np.ndarray:
    """Force that accelerates people towards their desired velocity, (S, N, 2), newtons.

    Args:
        velocity: velocity of N people in S scenarios, (S, N, 2), metres per second.
        wanted: desired velocity, (S, N, 2), metres per second.
        body: constants of a person's body.
    """
    return np.asarray(body.mass / body.relaxation * (wanted - velocity))


def walk(
    scenarios: Scenarios,
    steps: int,
    force: Force,
    body: Body,
    jitter: np.ndarray | None = None,
) -> np.ndarray:
    """Predict the motion of people under forces, by integration from their last observed positions.

    The integration is semi-implicit Euler. Speeds are limited to `FASTER` (1.3) times the desired
    speed, which is estimated from the observation.

    Args:
        scenarios: S observed scenarios with up to N people.
        steps: number of future positions.
        force: function from positions, velocities and desired velocities of N people in S
            scenarios, (S, N, 2) each, to forces on them, (S, N, 2), newtons. The force that
            accelerates people to their desired velocity (`drive`) is added to its result.
        body: constants of a person's body, the same for all people.
        jitter: random displacement at each step, (S, N, steps, 2), metres; None for none.

    Returns:
        predicted positions, (S, N, steps, 2), metres.
    """
    position = scenarios.observed[:, :, -1]
    wanted = filtered_velocity(scenarios.observed, scenarios.dt)
    velocity = wanted
    limit = FASTER * length(wanted)
    path = np.empty((*position.shape[:2], steps, 2))
    for step in range(steps):
        total = drive(velocity, wanted, body) + force(position, velocity, wanted)
        velocity = velocity + total / body.mass * scenarios.dt
        speed = length(velocity)
        velocity = np.where(
            speed > limit, velocity * limit / np.where(speed > 0, speed, 1), velocity
        )
        position = position + velocity * scenarios.dt
        if jitter is not None:
            position = position + jitter[:, :, step]
        path[:, :, step] = position
    return path
