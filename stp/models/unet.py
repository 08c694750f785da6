"""UNet of ChaosBench (Nathaniel et al. 2024, https://arxiv.org/abs/2402.00712, E.3).

After Ronneberger et al. 2015, https://arxiv.org/abs/1505.04597, with batch norms, leaky ReLU and
padded convolutions, as in the released code (leap-stc/ChaosBench, chaosbench/models/cnn.py).
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor, nn

from stp.models.halving import (
    Encoder,
    at_least,
    check_channels,
    double_convolution,
    doubling,
    resize,
)
from stp.models.one_step import OneStep

LEAKY = partial(nn.LeakyReLU, 0.15)


class Model(OneStep):
    """U-Net: an encoder, and a decoder with skip connections at each resolution.

    Args:
        shape: (C, H, W) of a frame; padded where a side is too short for all levels. Features are
            interpolated if halving left out a row or column.
        context: number of context frames, stacked as channels.
        horizon: number of lead times in training; forecasts can have any number.
        channels: number of channels of each level; H and W are halved from level to level.
        predicts: output of the network: ``state``, the next frame, or ``change``, its difference
            from the latest frame.

    Raises:
        StpError: an option is out of range.
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        context: int,
        horizon: int,
        *,
        channels: Sequence[int] = (64, 128, 256, 512, 1024),
        predicts: str = "state",
    ) -> None:
        super().__init__(context, predicts)
        check_channels(channels)
        self.least = 2 ** (len(channels) - 1)
        self.encoder = Encoder([context * shape[0], *channels], LEAKY)
        upwards = list(pairwise(reversed(channels)))
        self.up = nn.ModuleList(doubling(before, after, LEAKY) for before, after in upwards)
        self.decoder = nn.ModuleList(
            double_convolution(2 * after, after, LEAKY) for _, after in upwards
        )
        self.leave = nn.Conv2d(channels[0], shape[0], 1)

    def following(self, frames: Tensor) -> Tensor:
        """Context frames (B, T_in * C, H, W) -> next frame (B, C, H, W)."""
        height, width = frames.shape[-2:]
        *features, x = self.encoder(at_least(frames, self.least))
        for up, block, beside in zip(self.up, self.decoder, reversed(features), strict=True):
            x = block(torch.cat([resize(up(x), beside), beside], dim=1))
        outputs: Tensor = self.leave(x)
        return outputs[..., :height, :width]
