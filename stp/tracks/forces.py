"""What force models share: the person's own drive, the sight, and the step of time.

Arrays have people in the second axis: positions and velocities are (S, N, 2), pairs (S, N, N, 2)
with the person that feels a force first. Values of places that nobody fills are NaN in positions,
and without an effect.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stp.tracks.scenarios import Scenarios
from stp.tracks.velocity import filtered

FASTER = 1.3
"""Nobody exceeds this multiple of the wanted speed (Helbing and Molnár 1995; Atlas)."""
HORIZON_STEPS = 40
"""Steps that people look ahead for collisions (the paper's "40 steps")."""


@dataclass(frozen=True)
class Body:
    """A person, as all force models of Atlas have it (released configuration).

    Attributes:
        mass: kg.
        relaxation: seconds in which somebody returns to the wanted velocity.
        radius: metres.
        apart: metres between the centres of two people who touch.
        behind: weight of what is where one does not look, from 0 to 1.
    """

    mass: float = 80.0
    relaxation: float = 0.5
    radius: float = 0.25
    apart: float = 0.5
    behind: float = 0.7


BODY = Body()

Force = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Positions, velocities and wanted velocities, each (S, N, 2), to forces in newtons, (S, N, 2)."""


def length(vectors: np.ndarray) -> np.ndarray:
    """Lengths of vectors, with an axis of one kept for division."""
    return np.asarray(np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True)))


def others(present: np.ndarray) -> np.ndarray:
    """Which pairs are of two people, (S, N, N)."""
    pairs = present[:, :, None] & present[:, None, :]
    return np.asarray(pairs & ~np.eye(present.shape[1], dtype=bool))


def sight(heading: np.ndarray, away: np.ndarray, body: Body) -> np.ndarray:
    """How much somebody minds another, (..., 1).

    As in the released code, what one moves away from counts fully and what is ahead counts less:
    the sign is the opposite of Helbing's.

    Args:
        heading: direction of movement, (..., 2).
        away: direction from the other to oneself, (..., 2).
        body: its ``behind`` is the weight of the other end.
    """
    cosine = (heading * away).sum(axis=-1, keepdims=True)
    return np.asarray(body.behind + (1 - body.behind) * (1 + cosine) / 2)


def drive(velocity: np.ndarray, wanted: np.ndarray, body: Body) -> np.ndarray:
    """The force that brings somebody back to the wanted velocity."""
    return np.asarray(body.mass / body.relaxation * (wanted - velocity))


def walk(
    scenarios: Scenarios,
    steps: int,
    force: Force,
    body: Body,
    jitter: np.ndarray | None = None,
) -> np.ndarray:
    """Let people walk: all at once, from where they were (semi-implicit Euler).

    Args:
        scenarios: what was observed.
        steps: future positions.
        force: on each person, without the drive.
        body: of everybody.
        jitter: what moves people besides, at each step, (S, N, steps, 2), metres.

    Returns:
        (S, N, steps, 2), metres.
    """
    position = scenarios.observed[:, :, -1]
    wanted = filtered(scenarios.observed, scenarios.dt)
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
