"""How a forecast is made of evaluations of a network."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from stp.models import mcvd
from stp.models.padding import pad
from stp.models.simvp import SimVP


@dataclass(frozen=True)
class Parts:
    """One forecast of as many lead times as in training, in parts.

    Attributes:
        evaluations: of the network in a forecast. A recurrent network that reads and predicts a
            clip once is evaluated once, a SimVP once for every T_in lead times, MCVD once for every
            step of its sampler.
        frames: forecast frames that one evaluation is about.
        together: evaluations in one call of `evaluate`.
        context: what is computed once for each forecast, from the context (B, T_in, C, H, W);
            None: nothing is.
        evaluate: called with the context and with what `context` gave.
        sampler: None: the network is not evaluated step by step.
    """

    evaluations: int
    frames: float
    together: int
    context: Callable[[Tensor], Any] | None
    evaluate: Callable[[Tensor, Any], Tensor]
    sampler: "Sampled | None" = None


def parts(model: nn.Module, context: int, horizon: int) -> Parts:
    """Take the forecasts of a model apart.

    Args:
        model: made by stp.models.create.
        context: number of context frames T_in.
        horizon: number of lead times T_out.
    """
    if isinstance(model, mcvd.Model):
        return _sampled(model, horizon)

    def evaluate(frames: Tensor, _: Any) -> Tensor:
        forecast: Tensor = model(frames, horizon)
        return forecast

    passes = -(-horizon // context) if isinstance(model, SimVP) else 1
    return Parts(passes, horizon / passes, passes, None, evaluate)


class Sampled:
    """Steps of a sampler: each evaluates the network once, and all take the same.

    Args:
        model: whose forecasts are sampled.
    """

    def __init__(self, model: mcvd.Model) -> None:
        self.model, self._whole = model, model.sampler

    @property
    def network(self) -> nn.Module:
        """What a step evaluates."""
        return self.model.network

    @property
    def evaluations(self) -> int:
        """Of the network, in a forecast of the model as it is now."""
        sampler = self.model.sampler
        return min(sampler.steps, len(self.model.signal_shares)) + sampler.denoise

    def shorten(self, steps: int) -> int:
        """Make forecasts of the model take a few steps; returns how many evaluations."""
        self.model.sampler = replace(self._whole, steps=min(steps, self._whole.steps))
        return self.evaluations

    def restore(self) -> int:
        """Undo `shorten`; returns how many evaluations."""
        self.model.sampler = self._whole
        return self.evaluations


def _sampled(model: mcvd.Model, horizon: int) -> Parts:
    def context(frames: Tensor) -> Any:
        return list(model.network.modulations(pad(frames, model.multiple).flatten(1, 2)))

    def evaluate(frames: Tensor, modulations: Any) -> Tensor:
        batch, _, channels, *sides = pad(frames, model.multiple).shape
        noisy = frames.new_zeros(batch, horizon * channels, *sides)
        index = torch.zeros(batch, dtype=torch.long, device=frames.device)
        noise: Tensor = model.network(noisy, index, modulations)
        return noise

    sampler = Sampled(model)
    return Parts(sampler.evaluations, horizon, 1, context, evaluate, sampler)
