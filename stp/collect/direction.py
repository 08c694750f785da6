"""Direction of metrics: whether higher, lower, or values near a given one are better.

The direction belongs to a convention, one exact definition of a metric, such as ``ssim.range2``.
"""

from dataclasses import dataclass

import numpy as np

from stp.plan.column import Part
from stp.plan.manifest import Manifest

LEVEL = 0.05
"""Level of significance of corrected p values."""
NO_DIRECTION = "neither value is better than the other"


@dataclass(frozen=True)
class Direction:
    """Which values of a metric are better: higher, lower, or those near a given one.

    The direction is unknown if both attributes are None.

    Attributes:
        higher: True if higher values are better, False if lower ones are; None if neither is
            stated.
        best_at: the best value, such as 1 for a ratio; values closer to it are better. None if
            there is none.
    """

    higher: bool | None = None
    best_at: float | None = None

    @classmethod
    def of(cls, manifest: Manifest, convention: str, part: Part | None = None) -> "Direction":
        """Look up which values of a convention, such as ``ssim.range2``, are better.

        Args:
            manifest: list of the evaluated cells, with facts about their conventions.
            convention: name of the convention.
            part: which values a column shows (variable, lead times, mean or sd); the direction of
                ``sd`` is unknown.
        """
        if part is not None and part.statistic == "sd":
            return cls()
        about = manifest.conventions[convention]
        return cls(about.higher_is_better, about.best_at)

    @property
    def is_known(self) -> bool:
        """Whether it is known which of two values is better.

        It is unknown for standard deviations, and for conventions whose configuration states
        neither a direction (higher or lower) nor a best value.
        """
        return self.higher is not None or self.best_at is not None

    @property
    def sign(self) -> str:
        """An arrow towards the better values, such as ``↑`` or ``→ 1``; empty if unknown."""
        if self.best_at is not None:
            return f"→ {self.best_at:g}"
        return {True: "↑", False: "↓", None: ""}[self.higher]

    def loss(self, value: float) -> float:
        """Convert a value to a loss: a smaller loss is better.

        The loss is the distance from the best value if there is one, the value with its sign
        changed if higher values are better, and otherwise the value itself.
        """
        return float(self.losses(np.float64(value)))

    def losses(self, values: np.ndarray | np.float64) -> np.ndarray:
        """Convert values of any shape to losses of the same shape: a smaller loss is better.

        Losses are the distances from the best value if there is one, the values with their sign
        changed if higher values are better, and otherwise the values themselves.
        """
        if self.best_at is not None:
            return np.asarray(np.abs(values - self.best_at))
        return np.asarray(-values if self.higher else values)
