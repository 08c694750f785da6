"""Divide the forecast of a model into evaluations (forward passes) of its network.

A diffusion model evaluates its network hundreds of times for one forecast, most models once.
Measurements need both: the costs of an evaluation and of a whole forecast.
"""

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
    """How a forecast is made of evaluations (forward passes) of the model's network.

    The forecast has as many lead times as in training.

    Attributes:
        evaluations: number of evaluations of the network in a forecast: 1 for a recurrent network,
            which reads and predicts a clip at once; for SimVP, one for every T_in lead times; for
            MCVD, one for every step of its sampler.
        frames: number of forecast frames per evaluation.
        together: number of evaluations in one call of `evaluate`.
        context: function that computes, from the context (B, T_in, C, H, W), what all evaluations
            of a forecast share; None if they share nothing.
        evaluate: function that evaluates the network, given the context and the result of
            `context`. It returns forecast frames or, for a diffusion model, estimated noise.
        sampler: sampler of a diffusion model, whose number of steps can be reduced for a
            measurement; None for other models.
    """

    evaluations: int
    frames: float
    together: int
    context: Callable[[Tensor], Any] | None
    evaluate: Callable[[Tensor, Any], Tensor]
    sampler: "Sampled | None" = None


def parts(model: nn.Module, context: int, horizon: int) -> Parts:
    """Divide the forecast of a model into parts: the evaluations (forward passes) of its network.

    Args:
        model: a model of stp.models.create.
        context: number of context frames T_in.
        horizon: number of lead times T_out.

    Returns:
        number of evaluations, number of frames that each forecasts, and functions that compute
        them.
    """
    if isinstance(model, mcvd.Model):
        return _diffusion_parts(model, horizon)

    def evaluate(frames: Tensor, _: Any) -> Tensor:
        forecast: Tensor = model(frames, horizon)
        return forecast

    passes = -(-horizon // context) if isinstance(model, SimVP) else 1
    return Parts(passes, horizon / passes, passes, None, evaluate)


class Sampled:
    """Sampler of a diffusion model, whose number of steps can be reduced for a measurement.

    The steps are those of sampling, from noise to frames. Each evaluates the network once. All
    steps take the same time, so the duration of a long forecast can be derived from that of a short
    one.

    Args:
        model: the diffusion model; `shorten` and `restore` change its sampler.
    """

    def __init__(self, model: mcvd.Model) -> None:
        self.model, self._whole = model, model.sampler

    @property
    def network(self) -> nn.Module:
        """The network that each step evaluates."""
        return self.model.network

    @property
    def evaluations(self) -> int:
        """Number of evaluations of the network in a forecast, after any `shorten` or `restore`.

        The network is evaluated once in each sampling step, and once more if the sampler removes
        the remaining noise after the last step.
        """
        sampler = self.model.sampler
        return min(sampler.steps, len(self.model.signal_shares)) + sampler.denoise

    def shorten(self, steps: int) -> int:
        """Shorten forecasts of the model, so that they are measured in less time.

        Args:
            steps: maximum number of steps of the sampler.

        Returns:
            number of evaluations of the network in a forecast.
        """
        self.model.sampler = replace(self._whole, steps=min(steps, self._whole.steps))
        return self.evaluations

    def restore(self) -> int:
        """Undo `shorten`; return the number of evaluations in a full forecast."""
        self.model.sampler = self._whole
        return self.evaluations


def _diffusion_parts(model: mcvd.Model, horizon: int) -> Parts:
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
