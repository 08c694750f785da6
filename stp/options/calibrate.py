"""What a calibration, or a training, of predictors of people may set; light: the plan reads it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from stp.core.options import build


@dataclass(frozen=True)
class CalibrationOptions:
    """How a predictor is calibrated.

    Attributes:
        trials: parameters that are tried, the default ones first.
        search: optuna (a tree-structured Parzen estimator), or smac (random forests, as Atlas has
            it; needs the extra ``smac``).
        seed: of the search.
        threads: CPU threads.
    """

    trials: PositiveInt = 300
    search: Literal["optuna", "smac"] = "optuna"
    seed: NonNegativeInt = 0
    threads: PositiveInt = 1

    @classmethod
    def from_recipe(cls, given: Mapping[str, object]) -> "CalibrationOptions":
        """Build the options from the keys that were set.

        Raises:
            StpError: a key is unknown or its value out of range.
        """
        return build(cls, given, "train")


@dataclass(frozen=True)
class FittingOptions:
    """How a predictor that learns by gradient descent does so.

    Attributes:
        steps: of the optimiser (Adam, with a rate that falls along a cosine).
        batch_size: people of a step.
        lr: learning rate at first.
        validate_every: steps.
        threads: CPU threads.
    """

    steps: PositiveInt = 300
    batch_size: PositiveInt = 64
    lr: PositiveFloat = 1e-3
    validate_every: PositiveInt = 20
    threads: PositiveInt = 1

    @classmethod
    def from_recipe(cls, given: Mapping[str, object]) -> "FittingOptions":
        """Build the options from the keys that were set.

        Raises:
            StpError: a key is unknown or its value out of range.
        """
        return build(cls, given, "train")
