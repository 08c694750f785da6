"""How predictors of people are calibrated or trained: the options ``train`` of a recipe."""

from dataclasses import dataclass
from typing import Literal

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from stp.core.options import Options


@dataclass(frozen=True)
class CalibrationOptions(Options):
    """How the parameters of a predictor of people are searched (calibration).

    Attributes:
        trials: number of sets of parameters to try; the first set has the default values.
        search: algorithm of the search: optuna (a tree-structured Parzen estimator), or smac
            (random forests, as in Atlas; needs the extra ``smac``).
        seed: seed of the search.
        threads: CPU threads.
    """

    PART = "train"

    trials: PositiveInt = 300
    search: Literal["optuna", "smac"] = "optuna"
    seed: NonNegativeInt = 0
    threads: PositiveInt = 1


@dataclass(frozen=True)
class FittingOptions(Options):
    """How a predictor of people is trained by gradient descent.

    Attributes:
        steps: number of steps of the optimiser (Adam with a cosine schedule).
        batch_size: number of people in each step.
        lr: initial learning rate.
        validate_every: number of steps between validations.
        threads: CPU threads.
    """

    PART = "train"

    steps: PositiveInt = 300
    batch_size: PositiveInt = 64
    lr: PositiveFloat = 1e-3
    validate_every: PositiveInt = 20
    threads: PositiveInt = 1
