"""Reverse scheduled sampling of PredRNNv2 (Wang et al. 2021, arXiv 2103.09504, section 3.4).

While it reads the context, the network is shown its own output at first and the truth ever more
often; afterwards the truth ever less often, as in scheduled sampling.
"""

import math
from dataclasses import dataclass

import torch
from pydantic import NonNegativeInt, PositiveFloat
from torch import Tensor

from stp.core.options import require, whole


@dataclass(frozen=True)
class ReverseScheduledSampling:
    """Probabilities that an input is the true frame, which depend on the iteration alone.

    Attributes:
        start: first iteration at which the probabilities change; both are 1/2 before.
        stop: first iteration from which context frames are always true and later ones never.
        decay: number of iterations in which the distance between 1 and the probability of context
            frames falls to 1/e of it.
    """

    start: NonNegativeInt = 25_000
    stop: int = 50_000
    decay: PositiveFloat = 5_000.0

    def __post_init__(self) -> None:
        where = "options.scheduled_sampling"
        ok = whole(self.stop, self.start)
        require(ok, f"{where}.stop", self.stop, "a whole number, at least start")

    def probabilities(self, step: int) -> tuple[float, float]:
        """Probability of the truth for context frames and for later ones, at `step` from 0."""
        if step < self.start:
            return 0.5, 0.5
        if step >= self.stop:
            return 1.0, 0.0
        since = step - self.start
        return 1 - 0.5 * math.exp(-since / self.decay), 0.5 - 0.5 * since / (self.stop - self.start)

    def draw(self, step: int, batch: int, context: int, later: int) -> Tensor:
        """Draw from torch's global generator where the truth is shown.

        Args:
            step: training iteration, from 0.
            batch: number of clips.
            context: number of inputs that are context frames.
            later: number of inputs after the context.

        Returns:
            bool (batch, context + later).
        """
        of_context, of_later = self.probabilities(step)
        limits = torch.tensor([of_context] * context + [of_later] * later)
        return torch.rand(batch, context + later) < limits
