"""What the ground of a place is: walked on, a wall, or whatever else a map tells apart."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Surface:
    """A semantic grid of a place.

    Attributes:
        position: float64 (M, 2), metres, of each cell.
        kind: int64 (M,): number of its class.
        size: metres of a cell.
        names: of classes, as far as a file tells.
    """

    position: np.ndarray
    kind: np.ndarray
    size: float
    names: dict[int, str]
