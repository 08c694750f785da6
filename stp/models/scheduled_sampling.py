"""Scheduled sampling: which inputs of a recurrent network are observed while it trains.

Bengio et al. 2015, https://arxiv.org/abs/1506.03099, with the linear decay that OpenSTL and
PredBench use for ConvLSTM, PredRNN, PredRNN++, E3D-LSTM and MAU.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from pydantic import Field, NonNegativeInt
from torch import Tensor


@dataclass(frozen=True)
class ScheduledSampling:
    """The probability that the network is shown the truth instead of its own last output.

    Attributes:
        stop: first iteration at which the probability is 0.
        rate: decrease of the probability in each iteration before that.
    """

    stop: NonNegativeInt = 50_000
    rate: Annotated[float, Field(ge=0, le=1)] = 2e-5

    def probability(self, step: int) -> float:
        """Probability of the truth in iteration `step`, counted from 0.

        ``1 - rate * (step + 1)``, at least 0: it is below 1 even in the first iteration. It
        depends on the iteration alone, so that a training can be resumed.
        """
        return max(0.0, 1.0 - self.rate * (step + 1)) if step < self.stop else 0.0

    def draw(self, step: int, batch: int, inputs: int) -> Tensor:
        """Draw from torch's global generator where the truth is shown, bool (batch, inputs)."""
        return torch.rand(batch, inputs) < self.probability(step)
