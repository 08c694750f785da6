"""Reverse scheduled sampling of PredRNNv2 (Wang et al. 2021, arXiv 2103.09504, section 3.4).

Within the context, inputs are true frames with a probability that increases during training; after
the context, with a probability that decreases, as in scheduled sampling. All other inputs are the
network's own outputs.
"""

import math
from dataclasses import dataclass

import torch
from pydantic import NonNegativeInt, PositiveFloat
from torch import Tensor

from stp.core.options import require, whole


@dataclass(frozen=True)
class ReverseScheduledSampling:
    """Two probabilities of true frames as inputs, one within the context and one after it.

    Both depend on the training iteration. They are 1/2 until `start`; from then on, the first rises
    to 1, and the second falls linearly to 0 at `stop`.

    Attributes:
        start: iteration at which the probabilities begin to change, from 0.
        stop: iteration from which inputs within the context are always true frames, and inputs
            after it never.
        decay: constant of the rise, in iterations: one minus the probability within the context
            falls by a factor of e in this number of iterations.
    """

    start: NonNegativeInt = 25_000
    stop: int = 50_000
    decay: PositiveFloat = 5_000.0

    def __post_init__(self) -> None:
        where = "options.scheduled_sampling"
        ok = whole(self.stop, self.start)
        require(ok, f"{where}.stop", self.stop, "a whole number, at least start")

    def probabilities(self, step: int) -> tuple[float, float]:
        """Compute the two probabilities that an input is the true frame.

        Args:
            step: training iteration, from 0.

        Returns:
            the probability within the context, and that after it.
        """
        if step < self.start:
            return 0.5, 0.5
        if step >= self.stop:
            return 1.0, 0.0
        since = step - self.start
        return 1 - 0.5 * math.exp(-since / self.decay), 0.5 - 0.5 * since / (self.stop - self.start)

    def draw(self, step: int, batch: int, context: int, later: int) -> Tensor:
        """Draw which inputs are true frames, with torch's global generator.

        Args:
            step: training iteration, from 0.
            batch: number of clips.
            context: number of inputs within the context.
            later: number of inputs after the context.

        Returns:
            whether each input is the true frame, bool (batch, context + later).
        """
        of_context, of_later = self.probabilities(step)
        limits = torch.tensor([of_context] * context + [of_later] * later)
        return torch.rand(batch, context + later) < limits
