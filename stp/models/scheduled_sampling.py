"""Scheduled sampling: draw which inputs of a recurrent network are true frames in training.

From Bengio et al. 2015, https://arxiv.org/abs/1506.03099, with the linear decay that OpenSTL and
PredBench use for ConvLSTM, PredRNN, PredRNN++, E3D-LSTM and MAU.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from pydantic import Field, NonNegativeInt
from torch import Tensor


@dataclass(frozen=True)
class ScheduledSampling:
    """Probability that an input is the true frame, not the last output, by training iteration.

    Attributes:
        stop: iteration from which the probability is 0.
        rate: decrease of the probability per iteration before `stop`.
    """

    stop: NonNegativeInt = 50_000
    rate: Annotated[float, Field(ge=0, le=1)] = 2e-5

    def probability(self, step: int) -> float:
        """Probability of the true frame in iteration `step`, counted from 0.

        It is ``1 - rate * (step + 1)``, at least 0, so it is below 1 even in the first iteration.
        It depends only on the iteration, so that a training run can be resumed.
        """
        return max(0.0, 1.0 - self.rate * (step + 1)) if step < self.stop else 0.0

    def draw(self, step: int, batch: int, inputs: int) -> Tensor:
        """Draw which inputs are true frames, bool (batch, inputs), with torch's generator."""
        return torch.rand(batch, inputs) < self.probability(step)
