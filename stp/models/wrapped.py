"""Use any `torch.nn.Module` (``class: package.module:Class``) as a model of frames."""

import inspect
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from stp.models.model import ForecastModel, require_shape

ABOUT_DATA = ("shape", "context", "horizon")
"""Arguments of a constructor that depend on the dataset; all others are options."""


class Wrapped(ForecastModel):
    """Wraps a `torch.nn.Module` written independently of stp, and trains it on mean squared error.

    The network is called with frames (B, T_in, C, H, W) and, if it has a second required argument,
    the number T of lead times; it returns (B, T, C, H, W). Without a second argument, it may return
    any number of lead times; for longer forecasts, it is called again with its own forecasts as
    context.

    Args:
        network: network with randomly initialised weights.
        context: number of context frames T_in.
    """

    def __init__(self, network: nn.Module, context: int) -> None:
        super().__init__(context)
        self.network = network
        arguments = inspect.signature(network.forward).parameters.values()
        self.needs_horizon = sum(argument.default is argument.empty for argument in arguments) > 1

    @property
    def implementation(self) -> type[nn.Module]:
        """Class of the wrapped network."""
        return type(self.network)

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        """Forecast ``horizon`` frames of B clips from T_in context frames.

        (B, T_in, C, H, W) -> (B, horizon, C, H, W).
        """
        if self.needs_horizon:
            forecast: Tensor = self.network(frames, horizon)
            return forecast
        blocks: list[Tensor] = []
        frames_so_far, steps = frames, 0
        while steps < horizon:
            blocks.append(self._block(frames_so_far[:, -self.context :]))
            steps += blocks[-1].shape[1]
            frames_so_far = torch.cat([frames_so_far, blocks[-1]], dim=1)
        return torch.cat(blocks, dim=1)[:, :horizon]

    def from_published(self, tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Prefix the names of weights with ``network.`` unless they already have this prefix."""
        if tensors.keys() == self.state_dict().keys():
            return tensors
        return {f"network.{name}": tensor for name, tensor in tensors.items()}

    def _block(self, frames: Tensor) -> Tensor:
        """Call the network, and check that it returns at least one frame with the input's shape."""
        block: Tensor = self.network(frames)
        steps = block.shape[1] if isinstance(block, Tensor) and block.ndim == frames.ndim else 1
        require_shape(self, block, (len(frames), max(1, steps), *frames.shape[2:]), "forward")
        return block.to(frames.dtype)
