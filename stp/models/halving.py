"""Blocks of convolutional encoder-decoders, which halve and double height and width.

Max pooling is implemented with slices, because these have deterministic gradients on a GPU.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stp.core.options import require, whole

Activation = Callable[[], nn.Module]
"""Function that makes an activation layer, such as `nn.GELU`."""


def check_channels(channels: Any) -> None:
    """Refuse an option ``channels`` that is not a list with a number of channels for each level.

    Args:
        channels: value of the option ``channels``.

    Raises:
        StpError: `channels` is not a list of at least two whole numbers >= 1.
    """
    ok = isinstance(channels, (list, tuple)) and len(channels) > 1
    ok = ok and all(whole(n, 1) for n in channels)
    require(ok, "options.channels", channels, "a list of two or more whole numbers from 1")


def with_norm(convolution: nn.Module, channels: int, activation: nn.Module) -> nn.Sequential:
    """Append a batch norm over its channels, and an activation, to a convolution."""
    parts = {"convolution": convolution, "norm": nn.BatchNorm2d(channels), "activation": activation}
    return nn.Sequential(OrderedDict(parts))


def double_convolution(before: int, after: int, activation: Activation) -> nn.Sequential:
    """Make two 3 x 3 convolutions, each with a batch norm and an activation.

    Args:
        before: number of channels of the input, (B, before, H, W).
        after: number of channels of the output, (B, after, H, W).
        activation: function that makes an activation layer.
    """
    return nn.Sequential(
        with_norm(nn.Conv2d(before, after, 3, padding=1), after, activation()),
        with_norm(nn.Conv2d(after, after, 3, padding=1), after, activation()),
    )


def doubling(before: int, after: int, activation: Activation) -> nn.Sequential:
    """Make a transposed 2 x 2 convolution with a batch norm and an activation.

    Args:
        before: number of channels of the input, (B, before, H, W).
        after: number of channels of the output, (B, after, 2 H, 2 W).
        activation: function that makes an activation layer.
    """
    return with_norm(nn.ConvTranspose2d(before, after, 2, stride=2), after, activation())


class Encoder(nn.Module):
    """Double convolution at each level; height and width are halved between levels.

    Args:
        channels: number of channels of the input, then of each level.
        activation: activation function of all layers.
    """

    def __init__(self, channels: Sequence[int], activation: Activation) -> None:
        super().__init__()
        self.levels = nn.ModuleList(
            double_convolution(before, after, activation) for before, after in pairwise(channels)
        )

    def forward(self, x: Tensor) -> list[Tensor]:
        """Map frames (B, C, H, W) to the outputs of all levels, from the finest.

        The first output has height and width of the frames, each later one half of the one before
        (rounded down).
        """
        levels: list[Tensor] = []
        for level in self.levels:
            levels.append(level(halve(levels[-1]) if levels else x))
        return levels


def halve(x: Tensor) -> Tensor:
    """2 x 2 max pooling, (..., H, W) -> (..., H // 2, W // 2)."""
    height, width = x.shape[-2] // 2, x.shape[-1] // 2
    squares = x[..., : 2 * height, : 2 * width]
    return squares.unflatten(-2, (height, 2)).unflatten(-1, (width, 2)).amax((-3, -1))


def halve_overlapping(x: Tensor) -> Tensor:
    """3 x 3 max pooling with stride 2.

    Args:
        x: input, (..., H, W).

    Returns:
        output, (..., (H + 1) // 2, (W + 1) // 2).
    """
    x = F.pad(x, (1, 1, 1, 1), value=-torch.inf)
    x = torch.maximum(x[..., :-2:2, :], x[..., 1:-1:2, :]).maximum(x[..., 2::2, :])
    return torch.maximum(x[..., :-2:2], x[..., 1:-1:2]).maximum(x[..., 2::2])


def resize(x: Tensor, like: Tensor) -> Tensor:
    """Interpolate `x` bilinearly, with aligned corners, to the height and width of `like`."""
    sides = like.shape[-2:]
    if x.shape[-2:] == sides:
        return x
    return F.interpolate(x, size=tuple(sides), mode="bilinear", align_corners=True)


def at_least(frames: Tensor, side: int) -> Tensor:
    """Append zeros below and to the right until height and width are at least `side`."""
    height, width = frames.shape[-2:]
    return F.pad(frames, (0, max(0, side - width), 0, max(0, side - height)))
