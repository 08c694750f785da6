"""Lagged autoencoder of ChaosBench (Nathaniel et al. 2024, https://arxiv.org/abs/2402.00712, E.1).

The encoder has five levels, and there are no skip connections. Each block of the decoder passes on
its features and three additional channels, coarse maps in 0..1 that it predicts from its input; the
next block reads both. The paper states five decoder blocks. The release has four and a convolution
(leap-stc/ChaosBench, chaosbench/models/ae.py), and so has this implementation. Despite its name,
the network maps a day to the next day, like ChaosBench's other networks.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from stp.models.halving import Encoder, at_least, check_channels, doubling, resize
from stp.models.one_step import OneStep

MAPS = 3
"""Number of maps in 0..1 that a block of the decoder passes on."""


class DecoderBlock(nn.Module):
    """Doubles height and width of features, and appends three further channels, called maps.

    The maps have values in 0..1. Like the features, they are computed from the block's input, but
    by layers of their own. They have no prescribed meaning: no loss compares them with
    anything. The next block reads features and maps.

    Args:
        before: number of channels of the input, including the maps of the previous block.
        after: number of channels of the output, without the three maps.
    """

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.features = doubling(before, after, nn.ReLU)
        self.predict = nn.Conv2d(before, MAPS, 1)
        self.maps = doubling(MAPS, MAPS, nn.Sigmoid)

    def forward(self, x: Tensor) -> Tensor:
        """Double the resolution of features, and append three maps (channels in 0..1).

        Args:
            x: output of the previous block, or of the encoder, (B, before, H, W).

        Returns:
            ``after`` channels of features, then the three maps, (B, after + 3, 2 H, 2 W).
        """
        return torch.cat([self.features(x), self.maps(self.predict(x))], dim=1)


class Decoder(nn.Sequential):
    """Maps features of the encoder's coarsest level to a frame: several blocks and a convolution.

    Args:
        channels: number of channels of each level of the encoder, from the finest.
        out: number of channels C of a frame.
    """

    def __init__(self, channels: Sequence[int], out: int) -> None:
        upwards = list(pairwise(reversed(channels)))
        blocks = [
            DecoderBlock(before + (MAPS if i else 0), after)
            for i, (before, after) in enumerate(upwards)
        ]
        super().__init__(*blocks, nn.Conv2d(channels[0] + MAPS, out, 1))


class Model(OneStep):
    """Encodes the context frames, and decodes the next frame.

    Args:
        shape: (C, H, W) of a frame; padded where a side is too short for all levels.
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
        self.encoder = Encoder([context * shape[0], *channels], nn.ReLU)
        self.decoder = Decoder(channels, shape[0])

    def following(self, frames: Tensor) -> Tensor:
        """Compute the network's output from the context frames, stacked as channels.

        (B, T_in * C, H, W) -> (B, C, H, W). With ``predicts: change`` the output is the difference
        of the next frame from the latest one, else the next frame.
        """
        height, width = frames.shape[-2:]
        x = at_least(frames, self.least)
        return resize(self.decoder(self.encoder(x)[-1]), x)[..., :height, :width]
