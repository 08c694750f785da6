"""What a calibration, or a training, of predictors of people may set; light: the plan reads it."""

from collections.abc import Mapping
from dataclasses import dataclass

from stp.core.options import build, number, require, whole

SEARCHES = ("optuna", "smac")


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

    trials: int = 300
    search: str = "optuna"
    seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        require(whole(self.trials, 1), "trials", self.trials, "a whole number from 1")
        require(self.search in SEARCHES, "search", self.search, " or ".join(SEARCHES))
        require(whole(self.seed, 0), "seed", self.seed, "a whole number from 0")
        require(whole(self.threads, 1), "threads", self.threads, "a whole number from 1")

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

    steps: int = 300
    batch_size: int = 64
    lr: float = 1e-3
    validate_every: int = 20
    threads: int = 1

    def __post_init__(self) -> None:
        for key in ("steps", "batch_size", "validate_every", "threads"):
            value = getattr(self, key)
            require(whole(value, 1), f"train.{key}", value, "a whole number from 1")
        require(number(self.lr) and self.lr > 0, "train.lr", self.lr, "a number above 0")

    @classmethod
    def from_recipe(cls, given: Mapping[str, object]) -> "FittingOptions":
        """Build the options from the keys that were set.

        Raises:
            StpError: a key is unknown or its value out of range.
        """
        return build(cls, given, "train")
