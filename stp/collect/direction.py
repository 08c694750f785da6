"""Which values are better: higher, lower, or close to one value; and when a test says so."""

from dataclasses import dataclass

import numpy as np

from stp.plan.column import Part
from stp.plan.manifest import Manifest

LEVEL = 0.05
"""A corrected p value below it is significant."""
NO_DIRECTION = "neither value is better than the other"


@dataclass(frozen=True)
class Direction:
    """The direction of a convention; neither is known where both are None.

    Attributes:
        higher: whether higher is better.
        best_at: the value that is best; the smaller the difference to it, the better.
    """

    higher: bool | None = None
    best_at: float | None = None

    @classmethod
    def of(cls, manifest: Manifest, convention: str, part: Part | None = None) -> "Direction":
        """What the manifest says of a convention.

        Args:
            manifest: of the cells.
            convention: its name.
            part: what a column shows of it; of standard deviations none is better.
        """
        if part is not None and part.statistic == "sd":
            return cls()
        about = manifest.conventions[convention]
        return cls(about.higher_is_better, about.best_at)

    @property
    def known(self) -> bool:
        """Is anything better than anything else?"""
        return self.higher is not None or self.best_at is not None

    @property
    def sign(self) -> str:
        """An arrow that points to better; empty if there is none."""
        if self.best_at is not None:
            return f"→ {self.best_at:g}"
        return {True: "↑", False: "↓", None: ""}[self.higher]

    def loss(self, value: float) -> float:
        """How bad a value is: the smaller the better."""
        return float(self.losses(np.float64(value)))

    def losses(self, values: np.ndarray | np.float64) -> np.ndarray:
        """How bad each of many values is."""
        if self.best_at is not None:
            return np.asarray(np.abs(values - self.best_at))
        return np.asarray(-values if self.higher else values)
