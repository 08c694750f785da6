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

    In iteration i, counted from 0, it is ``max(0, 1 - rate * (i + 1))`` before ``stop``, and then
    0. With the default rate, it falls from 0.99998 in the first iteration to 0 in about the
    50,000th.

    Attributes:
        stop: iteration from which the probability is 0.
        rate: decrease of the probability per iteration before `stop`, 0 to 1.
    """

    stop: NonNegativeInt = 50_000
    rate: Annotated[float, Field(ge=0, le=1)] = 2e-5

    def probability(self, step: int) -> float:
        """Compute the probability that the network gets a true frame, not its own last output.

        It depends only on the iteration, so that a training run can be resumed.

        Args:
            step: training iteration, from 0.
        """
        return max(0.0, 1.0 - self.rate * (step + 1)) if step < self.stop else 0.0

    def draw(self, step: int, batch: int, inputs: int) -> Tensor:
        """Draw which inputs are true frames, with torch's global generator.

        Args:
            step: training iteration, from 0.
            batch: number of clips.
            inputs: number of inputs after the context of each clip.

        Returns:
            whether the input is the true frame, bool (batch, inputs).
        """
        return torch.rand(batch, inputs) < self.probability(step)
