"""How people are predicted; light, since the plan reads it."""

from collections.abc import Mapping
from dataclasses import dataclass

from stp.core.options import build, require, whole


@dataclass(frozen=True)
class MotionOptions:
    """How people are predicted.

    Attributes:
        samples: predictions of each scenario; more than one are jittered, or drawn by the predictor
            itself.
        jitter: metres per second that people are moved by besides, in each direction (standard
            deviation); 0.3 in Atlas' released code.
        seed: of jitter and observation noise.
        threads: CPU threads.
    """

    samples: int = 1
    jitter: float = 0.3
    seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        for key in ("samples", "threads"):
            require(whole(getattr(self, key), 1), f"predict.{key}", getattr(self, key), "from 1")
        require(whole(self.seed, 0), "predict.seed", self.seed, "a whole number from 0")
        require(self.jitter >= 0, "predict.jitter", self.jitter, "metres per second, from 0")

    @classmethod
    def from_recipe(cls, given: Mapping[str, object]) -> "MotionOptions":
        """Build the options from the keys that were set.

        Raises:
            StpError: a key is unknown or its value out of range.
        """
        return build(cls, given, "predict")
