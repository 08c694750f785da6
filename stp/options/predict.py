"""How frames are predicted: the options ``predict`` of a recipe."""

from dataclasses import dataclass

from pydantic import PositiveInt

from stp.core.options import Options, require
from stp.options.precisions import Precision


@dataclass(frozen=True)
class PredictOptions(Options):
    """How forecasts of frames are computed.

    Attributes:
        batch_size: number of samples that are predicted at once.
        threads: CPU threads.
        precision: bf16 (mixed, where the device supports it) or float32.
        samples: number of forecasts (members) of each clip; 1 for deterministic models.
        trainings: number of members, if each is computed by a model of a separate training run
            instead of drawn by one model. The first run has the seed of the cell, the others have
            the following seeds.
    """

    PART = "predict"

    batch_size: PositiveInt = 16
    threads: PositiveInt = 1
    precision: Precision = "float32"
    samples: PositiveInt = 1
    trainings: PositiveInt = 1

    def __post_init__(self) -> None:
        ok = self.samples == 1 or self.trainings == 1
        require(ok, "predict.trainings", self.trainings, "1, or no predict.samples beside it")

    @property
    def members(self) -> int:
        """Number of forecasts of each clip, from one model or from several trainings."""
        return max(self.samples, self.trainings)
