"""One scenario as it is looked at: where people went, and where models thought they would go."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from stp.tracks.errors import displacement
from stp.tracks.obstacles import Obstacles
from stp.tracks.scenarios import Scenarios
from stp.tracks.tracks import labels

AROUND = 1.0
"""Metres that are shown around everything that moves."""
SMALLEST = 5.0
"""Metres that a map has at least, so that people who stand still are not drawn as giants."""

Extent = tuple[float, float, float, float]
"""Left, right, bottom and top, metres."""


@dataclass(frozen=True)
class Mixture:
    """Positions as mixtures of M Gaussians.

    Attributes:
        weights: (N, T, M), a share each.
        means: (N, T, M, 2), metres.
        covariances: (N, T, M, 2, 2), square metres.
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray


@dataclass(frozen=True)
class Predicted:
    """What one model predicts.

    Attributes:
        label: what people call it.
        samples: float64 (K, N, T, 2), metres.
        mixture: besides samples, or None.
    """

    label: str
    samples: np.ndarray
    mixture: Mixture | None = None

    @property
    def path(self) -> np.ndarray:
        """The mean of the samples, (N, T, 2)."""
        return np.asarray(self.samples.mean(axis=0))

    def errors(self, future: np.ndarray) -> np.ndarray:
        """Distances from the truth, mean over samples, (N, T), metres."""
        return displacement(self.samples[:, None], future[None])[:, 0].mean(axis=0)


@dataclass(frozen=True)
class Scene:
    """A scenario with its place, and what models predict.

    Attributes:
        title: what it is.
        person: identifiers of people in the raw data, N.
        observed: (N, O, 2), metres: what predictors are given.
        future: (N, T, 2), metres: what happened; NaN where nobody knows yet.
        dt: seconds between two positions.
        predicted: by model.
        obstacles: of the place, or None.
        goals: (G, 2), metres, or None.
        notes: sentences that a reader must know, such as whose bytes they are.
        neighbours: (M, O, 2), metres: who is observed as well, but not followed.
    """

    title: str
    person: list[str]
    observed: np.ndarray
    future: np.ndarray
    dt: float
    predicted: Sequence[Predicted] = ()
    obstacles: Obstacles | None = None
    goals: np.ndarray | None = None
    notes: Sequence[str] = field(default_factory=tuple)
    neighbours: np.ndarray = field(default_factory=lambda: np.empty((0, 0, 2)))

    @property
    def is_future_known(self) -> bool:
        """Whether somebody saw what happened."""
        return bool(np.isfinite(self.future).all())

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top of what moves, with some room around it, metres."""
        moving = [self.observed, self.future, *(one.samples for one in self.predicted)]
        return extent_of(np.concatenate([points.reshape(-1, 2) for points in moving]))


def extent_of(points: np.ndarray) -> Extent:
    """Left, right, bottom and top of points (..., 2) with some room around, metres."""
    low, high = np.nanmin(points, axis=0) - AROUND, np.nanmax(points, axis=0) + AROUND
    short = np.maximum(SMALLEST - (high - low), 0) / 2
    (left, bottom), (right, top) = low - short, high + short
    return float(left), float(right), float(bottom), float(top)


def scene_of(
    scenarios: Scenarios,
    number: int,
    title: str,
    predicted: Sequence[tuple[str, np.ndarray]] = (),
    obstacles: Obstacles | None = None,
    goals: np.ndarray | None = None,
    notes: Sequence[str] = (),
) -> Scene:
    """Look at one of several scenarios.

    Args:
        scenarios: all of them.
        number: of the one, from 0.
        title: what it is.
        predicted: by label what a model predicts for all: (S, N, T, 2), or (K, S, N, T, 2) for K
            samples, metres.
        obstacles, goals: of the place.
        notes: sentences that a reader must know.
    """
    there = scenarios.followed[number]
    others = scenarios.present[number] & ~there
    shown = []
    for label, paths in predicted:
        samples = paths if paths.ndim == 5 else paths[None]
        shown.append(Predicted(label, samples[:, number][:, there]))
    return Scene(
        title,
        labels(scenarios.person[number][there], scenarios.names),
        scenarios.observed[number][there],
        scenarios.future[number][there],
        scenarios.dt,
        shown,
        obstacles,
        goals,
        notes,
        scenarios.observed[number][others],
    )
