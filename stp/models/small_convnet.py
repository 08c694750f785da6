"""Small convolutional network: a baseline that large models have to beat.

A few 3x3 convolutions at full resolution map the context frames, stacked as channels, to all frames
of a block, as differences from the last context frame. It has about 100,000 weights.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stp.core.options import require, whole
from stp.models.model import ForecastModel


class Model(ForecastModel):
    """Forecasts blocks of T_out frames as differences from the last context frame.

    Args:
        shape: (C, H, W) of a frame.
        context: number of context frames T_in.
        horizon: number T_out of lead times of one block; longer forecasts are made in blocks.
        width: channels of the hidden layers.
        layers: number of hidden layers, with dilations 1, 2, 4, 8, 1, ...

    Raises:
        StpError: an option is out of range.
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        context: int,
        horizon: int,
        *,
        width: int = 48,
        layers: int = 4,
    ) -> None:
        super().__init__(context)
        require(whole(width, 1), "options.width", width, "a whole number from 1")
        require(whole(layers, 1), "options.layers", layers, "a whole number from 1")
        self.horizon = horizon
        self.enter = nn.Conv2d(context * shape[0], width, 3, padding=1)
        # Dilations of 1, 2, 4, 8, 1, ... give the few layers a large field of view.
        self.inner = nn.ModuleList(
            nn.Conv2d(width, width, 3, padding=2 ** (i % 4), dilation=2 ** (i % 4))
            for i in range(layers)
        )
        self.leave = nn.Conv2d(width, horizon * shape[0], 3, padding=1)

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        """Forecast ``horizon`` frames of B clips from T_in context frames.

        (B, T_in, C, H, W) -> (B, horizon, C, H, W).
        """
        frames_so_far = frames
        while frames_so_far.shape[1] < self.context + horizon:
            frames_so_far = torch.cat(
                [frames_so_far, self._block(frames_so_far[:, -self.context :])], dim=1
            )
        return frames_so_far[:, self.context : self.context + horizon]

    def _block(self, frames: Tensor) -> Tensor:
        """Context (B, T_in, C, H, W) -> next T_out frames (B, T_out, C, H, W)."""
        x = F.gelu(self.enter(frames.flatten(1, 2)))
        for layer in self.inner:
            x = x + F.gelu(layer(x))
        change = self.leave(x).unflatten(1, (self.horizon, -1))
        return frames[:, -1:] + change.to(frames.dtype)
