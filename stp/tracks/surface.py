"""Semantic grid: the class of the ground, such as road or grass, in each cell of a scene."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Surface:
    """The class of the ground in each of M cells of a scene.

    Attributes:
        position: centre of each cell, float64 (M, 2), metres.
        kind: class of each cell, int64 (M,).
        size: side of a cell, metres.
        names: names of the classes, by number, if known.
    """

    position: np.ndarray
    kind: np.ndarray
    size: float
    names: dict[int, str]
