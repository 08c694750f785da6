"""Network of MCVD: a U-Net that estimates the noise in frames, modulated by the context.

Layers and widths are those of the authors' release (https://arxiv.org/abs/2205.09853), so the
numbers of parameters agree exactly.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Modulation = tuple[Tensor, Tensor]
"""Modulation of normalised channels by the context: factor and offset, each (B, C, H, W)."""

SILENT = 1e-10
"""Value of `scale` for convolutions with an initial output near zero."""


def conv(inputs: int, outputs: int, size: int = 3, *, scale: float = 1.0) -> nn.Conv2d:
    """Make a convolution that keeps height and width.

    Initial weights are uniform with the variance `scale` (`init_scale` of the release) divided by
    the mean of fan-in and fan-out; biases are zero.
    """
    layer = nn.Conv2d(inputs, outputs, size, padding=size // 2)
    nn.init.xavier_uniform_(layer.weight, gain=math.sqrt(scale))
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer


def dense(inputs: int, outputs: int) -> nn.Linear:
    """Make a linear layer with Glorot-uniform initial weights and biases of zero."""
    layer = nn.Linear(inputs, outputs)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def groups(channels: int) -> int:
    """Number of groups of a group norm: at most 32, with at least four channels each."""
    number = max(1, min(channels // 4, 32))
    while channels % number:
        number -= 1
    return number


class Spade(nn.Module):
    """Group norm with scale and offset at each position computed from the context frames.

    From Park et al. 2019, https://arxiv.org/abs/1903.07291. The noise level adds a further scale
    and offset for each channel.

    Args:
        channels: channels of the input.
        context: channels of all context frames together.
        hidden: hidden channels between the two convolutions of the context.
        level: length of the embedding of the noise level; 0 for no embedding.
    """

    def __init__(self, channels: int, context: int, hidden: int, level: int = 0) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(groups(channels), channels, eps=1e-6, affine=False)
        self.enter = conv(context, hidden)
        self.factor = conv(hidden, channels)
        self.offset = conv(hidden, channels)
        self.level = dense(level, 2 * channels) if level else None

    def modulation(self, context: Tensor) -> Modulation:
        """Context (B, T_in * C, H, W) at this resolution -> scale and offset, (B, channels, H, W).

        Both are computed once for all sampling steps of a forecast.
        """
        hidden = F.silu(self.enter(context))
        return self.factor(hidden), self.offset(hidden)

    def forward(self, x: Tensor, modulation: Modulation, level: Tensor | None = None) -> Tensor:
        """Normalise features, scale and shift them, and apply SiLU.

        Args:
            x: features, (B, channels, H, W).
            modulation: scale and offset from the context (see the method `modulation`).
            level: embedding of the noise level; None for norms without it.

        Returns:
            features, (B, channels, H, W).
        """
        factor, offset = modulation
        x = self.norm(x) * (1 + factor) + offset
        if self.level is not None and level is not None:
            factor, offset = self.level(F.silu(level))[:, :, None, None].chunk(2, dim=1)
            x = x * (1 + factor) + offset
        return F.silu(x)


class Resample(nn.Module):
    """Halves or doubles the resolution with the binomial filter 1, 3, 3, 1 and zero padding.

    Args:
        direction: ``down`` to halve, ``up`` to double.
    """

    kernel: Tensor

    def __init__(self, direction: str) -> None:
        super().__init__()
        self.up = direction == "up"
        line = torch.tensor([1.0, 3.0, 3.0, 1.0]) / (4 if self.up else 8)
        self.register_buffer("kernel", torch.outer(line, line)[None, None], persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Resample features: (B, C, H, W) -> (B, C, H / 2, W / 2) or (B, C, 2 H, 2 W)."""
        channels = x.shape[1]
        apply = F.conv_transpose2d if self.up else F.conv2d
        kernel = self.kernel.expand(channels, -1, -1, -1)
        return apply(x, kernel, stride=2, padding=1, groups=channels)


class ResBlock(nn.Module):
    """Residual block of two convolutions, modulated by the context (`Spade`).

    The layers are those of BigGAN (Brock et al. 2019).

    Args:
        inputs: number of channels of the input.
        outputs: number of channels of the output.
        resample: ``up`` or ``down``; None to keep the resolution.
        dropout: dropout probability before the second convolution.
        spade: further arguments of `Spade`: context, hidden and level.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        resample: str | None,
        dropout: float,
        spade: tuple[int, int, int],
    ) -> None:
        super().__init__()
        self.enter_norm, self.leave_norm = Spade(inputs, *spade), Spade(outputs, *spade)
        self.resample = Resample(resample) if resample else nn.Identity()
        self.enter = conv(inputs, outputs)
        self.dropout = nn.Dropout(dropout)
        self.leave = conv(outputs, outputs, scale=SILENT)
        same = inputs == outputs and not resample
        self.shortcut = nn.Identity() if same else conv(inputs, outputs, 1)

    def forward(self, x: Tensor, modulations: Sequence[Modulation], level: Tensor) -> Tensor:
        """Map features (B, inputs, H, W) to (B, outputs, H', W').

        H' and W' are H and W, halved or doubled if the block changes the resolution.

        Args:
            x: features, (B, inputs, H, W).
            modulations: scale and offset from the context, for each of the two norms (`Spade`).
            level: embedding of the noise level.
        """
        first, second = modulations
        h = self.enter(self.resample(self.enter_norm(x, first, level)))
        h = self.leave(self.dropout(self.leave_norm(h, second, level)))
        out: Tensor = (self.shortcut(self.resample(x)) + h) / math.sqrt(2)
        return out


class Attention(nn.Module):
    """Residual self-attention over all positions."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(groups(channels), channels, eps=1e-6)
        self.query, self.key, self.value = (
            conv(channels, channels, 1, scale=0.1) for _ in range(3)
        )
        self.leave = conv(channels, channels, 1, scale=SILENT)

    def forward(self, x: Tensor) -> Tensor:
        """Apply attention to all positions of (B, channels, H, W); the shape stays the same."""
        normal = self.norm(x)
        q, k, v = (
            layer(normal).flatten(2).unflatten(1, (self.heads, -1)).transpose(-1, -2)
            for layer in (self.query, self.key, self.value)
        )  # (B, heads, H * W, C / heads)
        weights = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
        h = (weights.softmax(dim=-1) @ v).transpose(-1, -2).reshape(x.shape)
        out: Tensor = (x + self.leave(h)) / math.sqrt(2)
        return out


class Stage(nn.Module):
    """A residual block of the U-Net with optional attention.

    Args:
        block: the residual block.
        before: number of halvings of the input's resolution.
        after: number of halvings of the output's resolution.
        attention: attention applied to the output; None for a stage without attention.
    """

    def __init__(
        self, block: ResBlock, before: int, after: int, attention: Attention | None = None
    ) -> None:
        super().__init__()
        self.block, self.attention = block, attention
        self.levels = before, after

    def norms(self) -> list[tuple[Spade, int]]:
        """The two normalisations of the stage, in order, each with its resolution.

        The resolution is given as the number of times that H and W of a frame are halved.
        """
        before, after = self.levels
        return [(self.block.enter_norm, before), (self.block.leave_norm, after)]

    def forward(self, x: Tensor, modulations: Sequence[Modulation], level: Tensor) -> Tensor:
        """Map features (B, inputs, H, W) to (B, outputs, H', W').

        H' and W' are H and W, halved or doubled if the block changes the resolution.

        Args:
            x: features, (B, inputs, H, W).
            modulations: scale and offset from the context, for each of the two norms (`Spade`).
            level: embedding of the noise level.
        """
        x = self.block(x, modulations, level)
        return x if self.attention is None else self.attention(x)


class UNet(nn.Module):
    """Estimates the noise in frames from the frames, their noise level and the context.

    Args:
        frames: channels of all noisy frames together.
        context: channels of all context frames together.
        columns: width W of a frame, which determines the resolutions with attention.
        width: channels at the full resolution.
        multipliers: channels of each resolution divided by `width`; H and W are halved from one
            resolution to the next.
        blocks: number of residual blocks per resolution in the encoder; the decoder has one more.
        attention_widths: widths W of the resolutions with attention, besides the lowest, which
            always has it.
        spade_width: hidden channels of the normalisations.
        dropout: dropout probability.
    """

    def __init__(
        self,
        frames: int,
        context: int,
        columns: int,
        *,
        width: int,
        multipliers: Sequence[int],
        blocks: int,
        attention_widths: Sequence[int],
        spade_width: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.width = width
        self.levels = len(multipliers)
        widths = [width * multiplier for multiplier in multipliers]
        attentive = [columns // 2**level in attention_widths for level in range(self.levels)]

        def stage(
            inputs: int, level: int, *, after: int | None = None, attention: bool = False
        ) -> Stage:
            after = level if after is None else after
            outputs = inputs if after != level else widths[level]
            resample = {-1: "up", 0: None, 1: "down"}[after - level]
            block = ResBlock(inputs, outputs, resample, dropout, (context, spade_width, 4 * width))
            attend = Attention(outputs, max(1, outputs // width)) if attention else None
            return Stage(block, level, after, attend)

        self.level = nn.Sequential(dense(width, 4 * width), nn.SiLU(), dense(4 * width, 4 * width))
        self.enter = conv(frames, width)
        self.down, self.middle, self.up = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        kept, now = [width], width
        for level in range(self.levels):
            for _ in range(blocks):
                self.down.append(stage(now, level, attention=attentive[level]))
                now = widths[level]
                kept.append(now)
            if level + 1 < self.levels:
                self.down.append(stage(now, level, after=level + 1))
                kept.append(now)
        lowest = self.levels - 1
        self.middle.append(stage(now, lowest, attention=True))
        self.middle.append(stage(now, lowest))
        for level in reversed(range(self.levels)):
            for block in range(blocks + 1):
                attention = attentive[level] and block == blocks
                self.up.append(stage(now + kept.pop(), level, attention=attention))
                now = widths[level]
            if level:
                self.up.append(stage(now, level, after=level - 1))
        self.norm = Spade(now, context, spade_width)
        self.leave = conv(now, frames, scale=SILENT)

    def modulations(self, context: Tensor) -> Iterator[tuple[Modulation, ...]]:
        """Yield the modulations of each stage, in the order in which `forward` uses them.

        They are computed once for all sampling steps of a forecast.

        Args:
            context: context frames, stacked as channels, (B, T_in * C, H, W).
        """
        # Every 2^level-th pixel: nearest-neighbour interpolation of sides that divide.
        pyramid = [context[..., :: 2**level, :: 2**level] for level in range(self.levels)]
        for stage in self._stages():
            yield tuple(norm.modulation(pyramid[level]) for norm, level in stage.norms())
        yield (self.norm.modulation(context),)

    def modulation_bytes(self, height: int, width: int) -> int:
        """Memory of all modulations (scales and offsets, float32) of one clip, in bytes.

        Args:
            height: height H of the padded frames, pixels.
            width: width W of the padded frames, pixels.
        """
        norms = [(self.norm, 0)]
        for stage in self._stages():
            norms += stage.norms()
        return sum(8 * norm.norm.num_channels * height * width // 4**level for norm, level in norms)

    def forward(
        self, noisy: Tensor, index: Tensor, modulations: Iterable[tuple[Modulation, ...]]
    ) -> Tensor:
        """Estimate the noise that was added to frames.

        Args:
            noisy: noisy frames, (B, frames, H, W); H and W divisible by 2^(resolutions - 1).
            index: index of the noise level, (B,).
            modulations: modulations of all stages, from the method `modulations`.

        Returns:
            estimated noise, (B, frames, H, W).
        """
        pairs = iter(modulations)
        level = self.level(waves(index, self.width))
        x = self.enter(noisy)
        kept = [x]
        for stage in self.down:
            x = stage(x, next(pairs), level)
            kept.append(x)
        for stage in self.middle:
            x = stage(x, next(pairs), level)
        for stage in self.up:
            before, after = stage.levels  # type: ignore[misc]
            if before == after:
                x = torch.cat([x, kept.pop()], dim=1)
            x = stage(x, next(pairs), level)
        (last,) = next(pairs)
        out: Tensor = self.leave(self.norm(x, last))
        return out

    def _stages(self) -> Iterator[Stage]:
        for stages in (self.down, self.middle, self.up):
            yield from stages  # type: ignore[misc]


def waves(index: Tensor, length: int) -> Tensor:
    """Sinusoidal embedding of an index (B,), with wavelengths from 2 pi to 20,000 pi: (B, length).

    From Vaswani et al. 2017, as in denoising diffusion (Ho et al. 2020).
    """
    half = length // 2
    rates = torch.exp(torch.arange(half, device=index.device) * -math.log(1e4) / max(1, half - 1))
    angles = index[:, None] * rates
    return F.pad(torch.cat([angles.sin(), angles.cos()], dim=1), (0, length % 2))
