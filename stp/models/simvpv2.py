"""SimVPv2: convolutions over space, gated large-kernel attention over time (gSTA).

Tan et al. 2022, "SimVP: Towards Simple yet Powerful Spatiotemporal Predictive Learning",
https://arxiv.org/abs/2211.12509. Layers, widths and initial weights as in OpenSTL and PredBench,
but without their stochastic depth: it falls from 1 % in the first block to the configured 0.
"""

import math
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stp.models.padding import pad
from stp.options import require, whole


class ConvBlock(nn.Module):
    """3x3 convolution, group norm, SiLU; may halve or double the resolution."""

    def __init__(self, inputs: int, outputs: int, *, down: bool = False, up: bool = False) -> None:
        super().__init__()
        conv = nn.Conv2d(inputs, outputs * (4 if up else 1), 3, 2 if down else 1, padding=1)
        nn.init.trunc_normal_(conv.weight, std=0.02)
        assert conv.bias is not None
        nn.init.zeros_(conv.bias)
        self.conv = nn.Sequential(conv, nn.PixelShuffle(2)) if up else conv
        self.norm = nn.GroupNorm(2, outputs)

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(self.norm(self.conv(x)))


class Attention(nn.Module):
    """Gated attention over a 21 x 21 neighbourhood, made of small depth-wise convolutions.

    A 5x5 and a dilated 7x7 kernel reach as far as one of 21x21; half of the channels gates the
    other half (Tan et al. 2022, section 3.3).
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.enter = nn.Conv2d(width, width, 1)
        self.near = nn.Conv2d(width, width, 5, padding=2, groups=width)
        self.far = nn.Conv2d(width, width, 7, padding=9, dilation=3, groups=width)
        self.gate = nn.Conv2d(width, 2 * width, 1)
        self.leave = nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        values, gates = self.gate(self.far(self.near(F.gelu(self.enter(x))))).chunk(2, dim=1)
        return x + self.leave(torch.sigmoid(gates) * values)


class Mixer(nn.Module):
    """Two 1x1 convolutions around a depth-wise 3x3 one, `ratio` times as wide inside."""

    def __init__(self, width: int, ratio: float) -> None:
        super().__init__()
        inner = int(width * ratio)
        self.widen = nn.Conv2d(width, inner, 1)
        self.mix = nn.Conv2d(inner, inner, 3, padding=1, groups=inner)
        self.narrow = nn.Conv2d(inner, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.narrow(F.gelu(self.mix(self.widen(x))))


class Block(nn.Module):
    """Attention and mixer, each on batch-normalised input, scaled by 0.01 at first and added.

    Where the widths differ, a 1x1 convolution follows.
    """

    def __init__(self, inputs: int, outputs: int, ratio: float) -> None:
        super().__init__()
        self.attention_norm = nn.BatchNorm2d(inputs)
        self.attention = Attention(inputs)
        self.attention_scale = nn.Parameter(torch.full((inputs, 1, 1), 0.01))
        self.mixer_norm = nn.BatchNorm2d(inputs)
        self.mixer = Mixer(inputs, ratio)
        self.mixer_scale = nn.Parameter(torch.full((inputs, 1, 1), 0.01))
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                fan_out = math.prod(layer.kernel_size) * layer.out_channels // layer.groups
                nn.init.normal_(layer.weight, std=math.sqrt(2 / fan_out))
                assert layer.bias is not None
                nn.init.zeros_(layer.bias)
        self.resize = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention_scale * self.attention(self.attention_norm(x))
        x = x + self.mixer_scale * self.mixer(self.mixer_norm(x))
        return self.resize(x)


class Model(nn.Module):
    """Encodes each context frame, mixes all of them in time, decodes as many frames.

    Args:
        shape: (C, H, W) of a frame; padded where H or W are not multiples of 2^(n_s / 2).
        context: number of context frames T_in, also the number of frames of one pass.
        horizon: number of lead times T_out of one block. With T_out < T_in the first frames of a
            pass are kept; with T_out > T_in the last T_in frames are read again, in training too.
            More than T_out lead times are made block by block.
        hid_s: channels of encoder and decoder; even.
        hid_t: channels between the blocks in time.
        n_s: layers of encoder and of decoder; every second one changes the resolution; even.
        n_t: blocks in time, >= 2.
        mlp_ratio: how much wider the mixers are inside.

    Raises:
        StpError: an option is out of range.
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        context: int,
        horizon: int,
        *,
        hid_s: int = 64,
        hid_t: int = 512,
        n_s: int = 4,
        n_t: int = 8,
        mlp_ratio: float = 8.0,
    ) -> None:
        super().__init__()
        for option, value in (("hid_s", hid_s), ("n_s", n_s)):
            ok = whole(value, 2) and value % 2 == 0
            require(ok, f"options.{option}", value, "an even whole number from 2")
        require(whole(hid_t, 1), "options.hid_t", hid_t, "a whole number from 1")
        require(whole(n_t, 2), "options.n_t", n_t, "a whole number from 2")
        ok = isinstance(mlp_ratio, (int, float)) and mlp_ratio >= 1
        require(ok, "options.mlp_ratio", mlp_ratio, "a number from 1")
        self.context = context
        self.horizon = horizon
        self.multiple = 2 ** (n_s // 2)
        self.encoder = nn.ModuleList(
            ConvBlock(shape[0] if layer == 0 else hid_s, hid_s, down=layer % 2 == 1)
            for layer in range(n_s)
        )
        widths = [context * hid_s, *[hid_t] * (n_t - 1), context * hid_s]
        self.translator = nn.Sequential(*[Block(a, b, mlp_ratio) for a, b in pairwise(widths)])
        self.decoder = nn.ModuleList(
            ConvBlock(hid_s, hid_s, up=layer % 2 == 0) for layer in range(n_s)
        )
        self.readout = nn.Conv2d(hid_s, shape[0], 1)

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        """Context (B, T_in, C, H, W) -> forecast (B, horizon, C, H, W)."""
        known = frames
        while known.shape[1] < self.context + horizon:
            known = torch.cat([known, self._block(known[:, -self.context :])], dim=1)
        return known[:, self.context : self.context + horizon]

    def loss(self, clip: Tensor, step: int) -> Tensor:
        """Mean squared error of the forecast.

        Args:
            clip: (B, T_in + T_out, C, H, W).
            step: training iteration; without influence.
        """
        context, future = clip[:, : self.context], clip[:, self.context :]
        return F.mse_loss(self(context, future.shape[1]).float(), future)

    def _block(self, frames: Tensor) -> Tensor:
        """T_in frames -> the T_out frames after them."""
        known = frames
        while known.shape[1] < self.context + self.horizon:
            known = torch.cat([known, self._pass(known[:, -self.context :])], dim=1)
        return known[:, self.context : self.context + self.horizon]

    def _pass(self, frames: Tensor) -> Tensor:
        """T_in frames -> the T_in frames after them, (B, T_in, C, H, W)."""
        batch, time, _, height, width = frames.shape
        x = pad(frames, self.multiple).flatten(0, 1)
        x = detail = self.encoder[0](x)
        for layer in self.encoder[1:]:
            x = layer(x)
        # All frames of a clip side by side as channels: (B, T_in * hid_s, H', W').
        x = self.translator(x.unflatten(0, (batch, time)).flatten(1, 2))
        x = x.unflatten(1, (time, -1)).flatten(0, 1)
        for layer in self.decoder[:-1]:
            x = layer(x)
        x = self.readout(self.decoder[-1](x + detail))
        return x.unflatten(0, (batch, time))[..., :height, :width]
