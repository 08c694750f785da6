"""Base class of SimVPv1, SimVPv2 and TAU: spatial encoder, temporal translator, decoder.

From Gao et al. 2022, https://arxiv.org/abs/2206.05099, and Tan et al. 2022, arXiv 2211.12509.
Layers, widths and initial weights are those of OpenSTL and PredBench, but without their stochastic
depth, whose probability falls from 1 % in the first block to the configured 0.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stp.core.options import require, whole
from stp.models.model import ForecastModel
from stp.models.padding import pad
from stp.models.recompute import run_block


class ConvBlock(nn.Module):
    """3x3 convolution, group norm and SiLU; optionally halves or doubles the resolution.

    Args:
        inputs: number of channels of the input.
        outputs: number of channels of the output; even.
        down: whether to halve height and width.
        up: whether to double height and width.
    """

    def __init__(self, inputs: int, outputs: int, *, down: bool = False, up: bool = False) -> None:
        super().__init__()
        conv = nn.Conv2d(inputs, outputs * (4 if up else 1), 3, 2 if down else 1, padding=1)
        nn.init.trunc_normal_(conv.weight, std=0.02)
        assert conv.bias is not None
        nn.init.zeros_(conv.bias)
        self.conv = nn.Sequential(conv, nn.PixelShuffle(2)) if up else conv
        self.norm = nn.GroupNorm(2, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Map features (B, inputs, H, W) to (B, outputs, H', W').

        H' and W' are H and W, halved or doubled if the block changes the resolution.
        """
        return F.silu(self.norm(self.conv(x)))


class Mixer(nn.Module):
    """1x1, depth-wise 3x3 and 1x1 convolutions with a wider layer between them.

    Args:
        width: number of channels of input and output.
        ratio: number of hidden channels divided by `width`.
    """

    def __init__(self, width: int, ratio: float) -> None:
        super().__init__()
        inner = int(width * ratio)
        self.widen = nn.Conv2d(width, inner, 1)
        self.mix = nn.Conv2d(inner, inner, 3, padding=1, groups=inner)
        self.narrow = nn.Conv2d(inner, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Mix features (B, width, H, W); the shape stays the same."""
        mixed: Tensor = self.narrow(F.gelu(self.mix(self.widen(x))))
        return mixed


def draw(module: nn.Module) -> None:
    """Draw new weights of all convolutions of a module, with variance 2 / fan-out.

    The weights are drawn from a normal distribution with mean 0. Biases are set to zero.
    """
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            fan_out = math.prod(layer.kernel_size) * layer.out_channels // layer.groups
            nn.init.normal_(layer.weight, std=math.sqrt(2 / fan_out))
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)


class Block(nn.Module):
    """Residual attention and mixer, with batch norms and layer scales that start at 0.01.

    If input and output widths differ, a 1x1 convolution follows. The initial weights of the mixer
    are drawn by `draw`; all other layers keep those with which they were made.

    Args:
        inputs: number of channels of the input.
        outputs: number of channels of the output.
        ratio: hidden width of the mixer divided by its input width.
        attention: attention module for `inputs` channels, with its initial weights.
    """

    def __init__(self, inputs: int, outputs: int, ratio: float, attention: nn.Module) -> None:
        super().__init__()
        self.attention_norm = nn.BatchNorm2d(inputs)
        self.attention = attention
        self.attention_scale = nn.Parameter(torch.full((inputs, 1, 1), 0.01))
        self.mixer_norm = nn.BatchNorm2d(inputs)
        self.mixer = Mixer(inputs, ratio)
        self.mixer_scale = nn.Parameter(torch.full((inputs, 1, 1), 0.01))
        draw(self.mixer)
        self.resize = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the block to features: (B, inputs, H, W) -> (B, outputs, H, W)."""
        x = x + self.attention_scale * self.attention(self.attention_norm(x))
        x = x + self.mixer_scale * self.mixer(self.mixer_norm(x))
        resized: Tensor = self.resize(x)
        return resized


class SimVP(ForecastModel):
    """Encodes each context frame, mixes all frames in time, and decodes as many frames.

    Args:
        translator: module that mixes the encoded context frames, stacked as channels, (B, T_in *
            hid_s, rows, columns), without changing the shape.
        shape: (C, H, W) of a frame; padded where H or W are not multiples of 2^(n_s / 2).
        context: number T_in of context frames, which is also the number of frames of one pass.
        horizon: number T_out of lead times of one block. If T_out < T_in, the first frames of a
            pass are used; if T_out > T_in, several passes are made, each from the latest T_in
            frames, also in training. Forecasts with more than T_out lead times are made in blocks.
        hid_s: number of channels of encoder and decoder; even.
        n_s: number of layers of the encoder, and of the decoder; every second layer halves, or
            doubles, height and width.
    """

    def __init__(
        self,
        translator: nn.Module,
        shape: tuple[int, int, int],
        context: int,
        horizon: int,
        hid_s: int,
        n_s: int,
    ) -> None:
        super().__init__(context)
        self.horizon = horizon
        self.multiple = 2 ** (n_s // 2)
        self.encoder = nn.ModuleList(
            ConvBlock(shape[0] if layer == 0 else hid_s, hid_s, down=layer % 2 == 1)
            for layer in range(n_s)
        )
        self.translator = translator
        self.decoder = nn.ModuleList(
            ConvBlock(hid_s, hid_s, up=layer % 2 == 0) for layer in range(n_s)
        )
        self.readout = nn.Conv2d(hid_s, shape[0], 1)

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        """Forecast ``horizon`` frames of B clips from T_in context frames.

        (B, T_in, C, H, W) -> (B, horizon, C, H, W).
        """
        return torch.cat(list(self.parts(frames, horizon)), dim=1)

    def parts(self, frames: Tensor, horizon: int) -> Iterator[Tensor]:
        """Yield the forecast in parts of consecutive lead times.

        Args:
            frames: context (B, T_in, C, H, W).
            horizon: number of lead times of all parts together.

        Yields:
            a part of t lead times, (B, t, C, H, W); t is at most the argument ``horizon`` of the
            class.
        """
        context, count = frames, 0
        while count < horizon:
            block = self._block(context[:, -self.context :])
            yield block[:, : horizon - count]
            context = torch.cat([context, block], dim=1)[:, -self.context :]
            count += block.shape[1]

    def translate(self, x: Tensor) -> Tensor:
        """Mix encoded frames in time with a sequence of blocks.

        The frames are stacked as channels, (B, T_in * hid_s, rows, columns); the shape stays the
        same.
        """
        for block in self.translator.children():
            x = run_block(block, x, again=self.recompute)
        return x

    def _block(self, frames: Tensor) -> Tensor:
        """Context (B, T_in, C, H, W) -> next T_out frames (B, T_out, C, H, W)."""
        frames_so_far = frames
        while frames_so_far.shape[1] < self.context + self.horizon:
            frames_so_far = torch.cat(
                [frames_so_far, self._pass(frames_so_far[:, -self.context :])], dim=1
            )
        return frames_so_far[:, self.context : self.context + self.horizon]

    def _pass(self, frames: Tensor) -> Tensor:
        """Context (B, T_in, C, H, W) -> next T_in frames, with the same shape."""
        batch, time, _, height, width = frames.shape
        x = pad(frames, self.multiple).flatten(0, 1)
        x = detail = run_block(self.encoder[0], x, again=self.recompute)
        for layer in self.encoder[1:]:
            x = run_block(layer, x, again=self.recompute)
        # All frames of a clip side by side as channels: (B, T_in * hid_s, H', W').
        x = self.translate(x.unflatten(0, (batch, time)).flatten(1, 2))
        x = x.unflatten(1, (time, -1)).flatten(0, 1)
        for layer in self.decoder[:-1]:
            x = run_block(layer, x, again=self.recompute)
        x = self.readout(run_block(self.decoder[-1], x + detail, again=self.recompute))
        frames_after: Tensor = x.unflatten(0, (batch, time))[..., :height, :width]
        return frames_after


def check_widths(hid_s: Any, hid_t: Any, n_s: Any, n_t: Any, mlp_ratio: Any) -> None:
    """Refuse widths and numbers of layers of a `SimVP` model that are out of range.

    Args:
        hid_s: number of channels of encoder and decoder; must be even, from 2.
        hid_t: number of hidden channels of the blocks that mix frames; must be whole, from 1.
        n_s: number of layers of the encoder, and of the decoder; must be even, from 2.
        n_t: number of blocks that mix frames; must be whole, from 2.
        mlp_ratio: hidden width of a mixer divided by its input width; must be a number from 1.

    Raises:
        StpError: an option is out of range.
    """
    for option, value in (("hid_s", hid_s), ("n_s", n_s)):
        ok = whole(value, 2) and value % 2 == 0
        require(ok, f"options.{option}", value, "an even whole number from 2")
    require(whole(hid_t, 1), "options.hid_t", hid_t, "a whole number from 1")
    require(whole(n_t, 2), "options.n_t", n_t, "a whole number from 2")
    ok = isinstance(mlp_ratio, (int, float)) and mlp_ratio >= 1
    require(ok, "options.mlp_ratio", mlp_ratio, "a number from 1")
