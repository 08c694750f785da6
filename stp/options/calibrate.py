"""Options of calibrations and trainings of predictors of people: ``train`` of a recipe."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from stp.core.options import build


@dataclass(frozen=True)
class CalibrationOptions:
    """How a predictor is calibrated.

    Attributes:
        trials: number of sets of parameters, of which the default ones are the first.
        search: optuna (a tree-structured Parzen estimator), or smac (random forests, as in Atlas;
            needs the extra ``smac``).
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
    """How a predictor is trained by gradient descent.

    Attributes:
        steps: number of steps of the optimiser (Adam with a cosine schedule).
        batch_size: number of people of a step.
        lr: initial learning rate.
        validate_every: steps between validations.
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
