"""How people are predicted; light, since the plan reads it."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt

from stp.core.options import build


@dataclass(frozen=True)
class MotionOptions:
    """How people are predicted.

    Attributes:
        samples: number of predictions of each scenario; more than one are jittered, or drawn by the
            predictor.
        jitter: standard deviation of velocities added in each direction, in m/s; 0.3 in Atlas'
            released code.
        seed: of jitter and observation noise.
        threads: CPU threads.
    """

    samples: PositiveInt = 1
    jitter: NonNegativeFloat = 0.3
    seed: NonNegativeInt = 0
    threads: PositiveInt = 1

    @classmethod
    def from_recipe(cls, given: Mapping[str, object]) -> "MotionOptions":
        """Build the options from the keys that were set.

        Raises:
            StpError: a key is unknown or its value out of range.
        """
        return build(cls, given, "predict")
