"""How paths of people are predicted: the options ``predict`` of a recipe."""

from dataclasses import dataclass

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt

from stp.core.options import Options


@dataclass(frozen=True)
class MotionOptions(Options):
    """How the paths of people are predicted.

    Attributes:
        samples: number of predictions of each scenario. If there are several, they are jittered, or
            drawn by the predictor.
        jitter: standard deviation in m/s of the random velocities that are added in each direction;
            0.3 in Atlas' released code.
        seed: seed of jitter and observation noise.
        threads: CPU threads.
    """

    PART = "predict"

    samples: PositiveInt = 1
    jitter: NonNegativeFloat = 0.3
    seed: NonNegativeInt = 0
    threads: PositiveInt = 1
