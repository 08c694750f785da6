"""What a prediction recipe may set under ``predict``."""

from collections.abc import Mapping
from dataclasses import dataclass

from stp.core.options import build, require, whole
from stp.options.precisions import PRECISIONS


@dataclass(frozen=True)
class PredictOptions:
    """How forecasts are computed.

    Attributes:
        batch_size: samples at a time.
        threads: CPU threads.
        precision: bf16 (mixed, where the device computes it) or float32.
        samples: forecasts of each clip, its members; several of models that draw them only.
        trainings: so many members instead, each by a training with a seed of its own: that of the
            cell and the following ones.
    """

    batch_size: int = 16
    threads: int = 1
    precision: str = "float32"
    samples: int = 1
    trainings: int = 1

    def __post_init__(self) -> None:
        for key in ("batch_size", "threads", "samples", "trainings"):
            value = getattr(self, key)
            require(whole(value, 1), f"predict.{key}", value, "a whole number from 1")
        ok = self.samples == 1 or self.trainings == 1
        require(ok, "predict.trainings", self.trainings, "1, or no predict.samples beside it")
        ok = self.precision in PRECISIONS
        require(ok, "predict.precision", self.precision, " or ".join(PRECISIONS))

    @property
    def members(self) -> int:
        """Forecasts of each clip."""
        return max(self.samples, self.trainings)

    @classmethod
    def from_recipe(cls, given: Mapping[str, object]) -> "PredictOptions":
        """Build the options from the keys that were set.

        Raises:
            StpError: a key is unknown or its value out of range.
        """
        return build(cls, given, "predict")
