"""Data of one scenario for drawing: observed, true and predicted paths."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from stp.tracks.errors import displacement
from stp.tracks.obstacles import Obstacles
from stp.tracks.scenarios import Scenarios
from stp.tracks.tracks import labels

AROUND = 1.0
"""Margin around all paths, metres."""
SMALLEST = 5.0
"""Minimum side of a map in metres, so that people who stand still do not appear as giants."""

Extent = tuple[float, float, float, float]
"""Left, right, bottom and top, metres."""


@dataclass(frozen=True)
class Mixture:
    """Predicted positions of N people at T steps as mixtures of M Gaussians.

    Attributes:
        weights: weights of the Gaussians, (N, T, M), with sum 1.
        means: means of the Gaussians, (N, T, M, 2), in metres.
        covariances: covariances of the Gaussians, (N, T, M, 2, 2), in square metres.
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray


@dataclass(frozen=True)
class Predicted:
    """The predicted paths of one model for the people of a scene.

    Attributes:
        label: title of the model.
        samples: K samples of predicted positions, float64 (K, N, T, 2), in metres.
        mixture: predicted mixture; None for other predictions.
    """

    label: str
    samples: np.ndarray
    mixture: Mixture | None = None

    @property
    def path(self) -> np.ndarray:
        """Mean path over samples, (N, T, 2), for N people at T steps, in metres."""
        return np.asarray(self.samples.mean(axis=0))

    def errors(self, future: np.ndarray) -> np.ndarray:
        """Distances from the true positions, averaged over samples, (N, T), in metres.

        Args:
            future: true positions of N people at T steps, (N, T, 2), in metres.
        """
        return displacement(self.samples[:, None], future[None])[:, 0].mean(axis=0)


@dataclass(frozen=True)
class Scene:
    """A scenario (observed and future paths of people), with its map and predictions, to draw.

    Attributes:
        title: title of the picture.
        person: identifiers of the N predicted people in the raw data.
        observed: positions at O observed steps, (N, O, 2), in metres.
        future: true positions at T later steps, (N, T, 2), in metres; NaN where they are unknown.
        dt: seconds between two positions.
        predicted: predictions of the models.
        obstacles: obstacles of the map; None without a map.
        goals: places to which people of the map walk, (G, 2), in metres; None if unknown.
        notes: sentences to print below the picture, such as the origin of the data.
        neighbours: positions of M people who are observed but not predicted, (M, O, 2), in metres.
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
        """Whether the true positions are known."""
        return bool(np.isfinite(self.future).all())

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top of all paths with a margin, in metres."""
        moving = [self.observed, self.future, *(predicted.samples for predicted in self.predicted)]
        return extent_of(np.concatenate([points.reshape(-1, 2) for points in moving]))


def extent_of(points: np.ndarray) -> Extent:
    """Left, right, bottom and top of points, (..., 2), with a margin, in metres."""
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
    """Make the scene of one scenario: its paths, map and predictions, to draw.

    Args:
        scenarios: all scenarios of a test.
        number: index of the scenario, from 0.
        title: title of the picture.
        predicted: pairs of the label of a model and its predictions of N people at T steps in all S
            scenarios, (S, N, T, 2), or (K, S, N, T, 2) for K samples, in metres.
        obstacles: obstacles of the map; None without a map.
        goals: places to which people of the map walk, (G, 2), in metres; None if unknown.
        notes: sentences to print below the picture, such as the origin of the data.
    """
    followed = scenarios.has_future[number]
    others = scenarios.present[number] & ~followed
    predictions = []
    for label, paths in predicted:
        samples = paths if paths.ndim == 5 else paths[None]
        predictions.append(Predicted(label, samples[:, number][:, followed]))
    return Scene(
        title,
        labels(scenarios.person[number][followed], scenarios.names),
        scenarios.observed[number][followed],
        scenarios.future[number][followed],
        scenarios.dt,
        predictions,
        obstacles,
        goals,
        notes,
        scenarios.observed[number][others],
    )
