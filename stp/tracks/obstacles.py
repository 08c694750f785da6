"""Obstacles of a scene: cells of a map, or discs."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.spatial import cKDTree


@dataclass(frozen=True)
class Obstacles:
    """Obstacles of a scene.

    Attributes:
        kind: ``grid`` for cells of a map, which are treated as points; or ``discs``.
        position: centres of the M obstacles, float64 (M, 2), metres.
        radius: radii of the M obstacles, float64 (M,), metres; 0 for cells of a map.
    """

    kind: Literal["grid", "discs"]
    position: np.ndarray
    radius: np.ndarray

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.position)

    @cached_property
    def spacing(self) -> float:
        """Median distance from an obstacle's centre to the nearest other centre, metres.

        0 if there are fewer than two obstacles.
        """
        if len(self.position) < 2:
            return 0.0
        return float(np.median(self._tree.query(self.position, k=2)[0][:, 1]))

    def nearest(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find the obstacle whose centre is nearest to each person, whatever its radius.

        Args:
            position: positions of people, (..., 2), metres; NaN for absent people.

        Returns:
            centre, (..., 2), and radius, (...), of the obstacle, metres; NaN for absent people.
        """
        flat = position.reshape(-1, 2)
        present = np.isfinite(flat).all(axis=1)
        centre = np.full(flat.shape, np.nan)
        radius = np.full(len(flat), np.nan)
        if present.any():
            _, number = self._tree.query(flat[present])
            centre[present], radius[present] = self.position[number], self.radius[number]
        return centre.reshape(position.shape), radius.reshape(position.shape[:-1])


def cells(position: np.ndarray) -> Obstacles:
    """Make obstacles from cells of a map, which are treated as points.

    The width of a cell is therefore not needed; all radii are 0.

    Args:
        position: centres of the M cells, (M, 2), metres.
    """
    return Obstacles("grid", position, np.zeros(len(position)))


def discs(position: np.ndarray, radius: np.ndarray) -> Obstacles:
    """Make obstacles from M discs.

    Args:
        position: centres, (M, 2), metres.
        radius: radii, (M,), metres.
    """
    return Obstacles("discs", position, radius)
