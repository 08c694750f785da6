"""MCVD: a diffusion model of future frames, conditioned on the context frames.

Voleti et al. 2022, "MCVD: Masked Conditional Video Diffusion for Prediction, Generation, and
Interpolation", https://arxiv.org/abs/2205.09853, in the variant that PredBench trains: a U-Net on
all T_out frames side by side as channels tells the noise in them, and reads the context through
its normalisations (SPADE). Layers and widths as in the authors' release, so that sizes agree to
the parameter.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import PositiveFloat, PositiveInt
from torch import Tensor, nn

from stp.core.options import build, require, whole
from stp.models.draws import generator_of, white_noise
from stp.models.model import ForecastModel
from stp.models.padding import pad

Modulation = tuple[Tensor, Tensor]
"""Modulation of normalised channels by the context: factor and offset, each (B, C, H, W)."""

KEPT_BYTES = 2**32
"""Modulations kept from one sampling step to the next; clips beyond go one after the other."""


SILENT = 1e-10
"""`scale` of convolutions whose output is almost zero at first."""


def conv(inputs: int, outputs: int, size: int = 3, *, scale: float = 1.0) -> nn.Conv2d:
    """A convolution of the same resolution.

    Initial weights are uniform with variance `scale` over the mean of fan-in and fan-out, biases
    zero: `init_scale` of the release.
    """
    layer = nn.Conv2d(inputs, outputs, size, padding=size // 2)
    nn.init.xavier_uniform_(layer.weight, gain=math.sqrt(scale))
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer


def dense(inputs: int, outputs: int) -> nn.Linear:
    """A linear layer."""
    layer = nn.Linear(inputs, outputs)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def groups(channels: int) -> int:
    """Groups of a group norm: of at least four channels, at most 32, equally large."""
    number = max(1, min(channels // 4, 32))
    while channels % number:
        number -= 1
    return number


class Spade(nn.Module):
    """Group norm whose factor and offset depend on the place: made from the context frames.

    Park et al. 2019, https://arxiv.org/abs/1903.07291; and on the noise level, through one more
    factor and offset for each channel.

    Args:
        channels: channels of the input.
        context: channels of all context frames.
        hidden: channels between the two convolutions of the context.
        level: length of the embedding of the noise level; 0: there is none.
    """

    def __init__(self, channels: int, context: int, hidden: int, level: int = 0) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(groups(channels), channels, eps=1e-6, affine=False)
        self.enter = conv(context, hidden)
        self.factor = conv(hidden, channels)
        self.offset = conv(hidden, channels)
        self.level = dense(level, 2 * channels) if level else None

    def modulation(self, context: Tensor) -> Modulation:
        """Context (B, T_in * C, H, W) at this resolution -> factor and offset."""
        hidden = F.silu(self.enter(context))
        return self.factor(hidden), self.offset(hidden)

    def forward(self, x: Tensor, modulation: Modulation, level: Tensor | None = None) -> Tensor:
        """(B, channels, H, W) -> the same, normalised, modulated and through SiLU."""
        factor, offset = modulation
        x = self.norm(x) * (1 + factor) + offset
        if self.level is not None and level is not None:
            factor, offset = self.level(F.silu(level))[:, :, None, None].chunk(2, dim=1)
            x = x * (1 + factor) + offset
        return F.silu(x)


class Resample(nn.Module):
    """Halves or doubles the resolution with the binomial filter 1, 3, 3, 1 and zeros outside."""

    kernel: Tensor

    def __init__(self, direction: str) -> None:
        super().__init__()
        self.up = direction == "up"
        line = torch.tensor([1.0, 3.0, 3.0, 1.0]) / (4 if self.up else 8)
        self.register_buffer("kernel", torch.outer(line, line)[None, None], persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        channels = x.shape[1]
        apply = F.conv_transpose2d if self.up else F.conv2d
        kernel = self.kernel.expand(channels, -1, -1, -1)
        return apply(x, kernel, stride=2, padding=1, groups=channels)


class ResBlock(nn.Module):
    """Two convolutions beside a shortcut, as in BigGAN (Brock et al. 2019).

    Args:
        inputs: channels.
        outputs: channels.
        resample: ``up`` or ``down``; None: same resolution.
        dropout: probability, before the second convolution.
        spade: the other arguments of `Spade`.
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
        first, second = modulations
        h = self.enter(self.resample(self.enter_norm(x, first, level)))
        h = self.leave(self.dropout(self.leave_norm(h, second, level)))
        out: Tensor = (self.shortcut(self.resample(x)) + h) / math.sqrt(2)
        return out


class Attention(nn.Module):
    """Every position attends to every position; adds to its input."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(groups(channels), channels, eps=1e-6)
        self.query, self.key, self.value = (
            conv(channels, channels, 1, scale=0.1) for _ in range(3)
        )
        self.leave = conv(channels, channels, 1, scale=SILENT)

    def forward(self, x: Tensor) -> Tensor:
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
    """A residual block, with attention behind it or not.

    Args:
        block: the residual block.
        before: how often the resolution was halved before it.
        after: and after it.
        attention: None: none.
    """

    def __init__(
        self, block: ResBlock, before: int, after: int, attention: Attention | None = None
    ) -> None:
        super().__init__()
        self.block, self.attention = block, attention
        self.levels = before, after

    def norms(self) -> list[tuple[Spade, int]]:
        """Its normalisations, each with how often the resolution was halved there."""
        before, after = self.levels
        return [(self.block.enter_norm, before), (self.block.leave_norm, after)]

    def forward(self, x: Tensor, modulations: Sequence[Modulation], level: Tensor) -> Tensor:
        x = self.block(x, modulations, level)
        return x if self.attention is None else self.attention(x)


class UNet(nn.Module):
    """Tells the noise in frames, from the frames, their noise level and the context.

    Args:
        frames: channels of all frames that are noisy.
        context: channels of all context frames.
        columns: W, which decides where there is attention.
        width: channels at the full resolution.
        multipliers: how many times as wide each resolution is; it has half the sides of the one
            before.
        blocks: residual blocks of a resolution on the way down; one more on the way up.
        attention_widths: W of resolutions with attention; the lowest has it in any case.
        spade_width: hidden channels of the normalisations.
        dropout: its probability.
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
        """What the context (B, T_in * C, H, W) does to each stage, in the order of use."""
        # Every 2^level-th pixel: nearest-neighbour interpolation of sides that divide.
        pyramid = [context[..., :: 2**level, :: 2**level] for level in range(self.levels)]
        for stage in self._stages():
            yield tuple(norm.modulation(pyramid[level]) for norm, level in stage.norms())
        yield (self.norm.modulation(context),)

    def modulation_bytes(self, height: int, width: int) -> int:
        """Memory of all modulations of one clip, in float32."""
        norms = [(self.norm, 0)]
        for stage in self._stages():
            norms += stage.norms()
        return sum(8 * norm.norm.num_channels * height * width // 4**level for norm, level in norms)

    def forward(
        self, noisy: Tensor, index: Tensor, modulations: Iterable[tuple[Modulation, ...]]
    ) -> Tensor:
        """The noise in frames.

        Args:
            noisy: (B, frames, H, W); H and W divisible by 2^(resolutions - 1).
            index: index of the noise level, (B,).
            modulations: as `modulations` gives them.

        Returns:
            (B, frames, H, W).
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
    """Sines and cosines of an index (B,), with wavelengths from 2 pi to 20,000 pi: (B, length).

    Vaswani et al. 2017, as in denoising diffusion (Ho et al. 2020).
    """
    half = length // 2
    rates = torch.exp(torch.arange(half, device=index.device) * -math.log(1e4) / max(1, half - 1))
    angles = index[:, None] * rates
    return F.pad(torch.cat([angles.sin(), angles.cos()], dim=1), (0, length % 2))


@dataclass(frozen=True)
class Sampler:
    """How frames are drawn.

    Attributes:
        name: ``ddpm``: each step draws from the posterior of Ho et al. 2020; ``ddim``: steps are
            deterministic (Song et al. 2021), only the first noise is drawn. PredBench's class
            DDIMSampler calls ddpm.
        steps: evaluations of the network, evenly spaced in the noise levels. 250 in the paper
            (PredBench, appendix D); 100 in the released configurations.
        clip: largest absolute value of the frames that a step may believe in, in the range that
            the network works in; None: any.
        denoise: whether to take out, after the last step, the noise that the network still sees at
            the last level. The release asks for the noise of level `steps` - 1 there, and leaves
            out the division by the root of the share of signal.
        seed: whole number. Each forecast has noise of its own, made from the seed, the bytes of
            the context frames and the number of the forecast of these (its member): it does not
            depend on the other clips of the batch, their order or their number, nor on how many
            forecasts are drawn.
    """

    name: Literal["ddpm", "ddim"] = "ddpm"
    steps: PositiveInt = 250
    clip: PositiveFloat | None = 1.0
    denoise: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        where = "options.sampler"
        require(whole(self.seed, 0, 2**63), f"{where}.seed", self.seed, "a whole number from 0")

    def sample(
        self,
        noise_in: Callable[[Tensor, int], Tensor],
        signal: Sequence[float],
        draw: Callable[[], Tensor],
    ) -> Tensor:
        """Draw samples.

        Args:
            noise_in: (noisy samples, index of their noise level) -> noise in them, mean 0 and
                variance 1.
            signal: share of the variance that is signal at each noise level, from the noisiest.
            draw: white noise of the shape of the samples, another one each time.
        """
        steps = min(self.steps, len(signal))
        chosen = [i * len(signal) // steps for i in range(steps)]
        x = draw()
        for now, following in zip(chosen, [*chosen[1:], None], strict=True):
            share = signal[now]
            next_share = 1.0 if following is None else signal[following]
            noise = noise_in(x, now)
            clean = (x - math.sqrt(1 - share) * noise) / math.sqrt(share)
            if self.clip is not None:
                clean = clean.clamp(-self.clip, self.clip)
            if self.name == "ddim":
                x = math.sqrt(next_share) * clean + math.sqrt(1 - next_share) * noise
                continue
            beta = 1 - share / next_share
            x = (math.sqrt(next_share) * beta * clean) / (1 - share) + (
                math.sqrt(1 - beta) * (1 - next_share) / (1 - share)
            ) * x
            if following is not None:
                x = x + math.sqrt(beta * (1 - next_share) / (1 - share)) * draw()
        if self.denoise:
            share = signal[chosen[-1]]
            x = (x - math.sqrt(1 - share) * noise_in(x, chosen[-1])) / math.sqrt(share)
        return x


def signal_shares(levels: int, betas: Sequence[float]) -> list[float]:
    """Share of the variance that is still signal at each noise level, from the noisiest.

    A frame of level i is sqrt(share) times the clean one and sqrt(1 - share) times white noise.
    The share is the product of 1 - beta over this and all less noisy levels; beta is linear in
    the level, from the first to the second of `betas`.
    """
    shares: list[float] = np.cumprod(1 - np.linspace(betas[1], betas[0], levels))[::-1].tolist()
    return shares


class Model(ForecastModel):
    """Draws T_out frames at once, given T_in.

    Normalised frames are mapped linearly from `data_range` to [-1, 1], the range the network works
    in, and back; video normalised to [0, 1] so becomes value / 127.5 - 1, as published. They are
    padded with zeros, below and to the right, to a multiple of 2^(resolutions - 1); what is added
    is predicted like the rest and then cut off.

    Epochs are compared by how well the network finds noise, not by forecasts, which take hundreds
    of its evaluations. The published protocol validates and keeps a moving average of the weights:
    0.001 of the newest ones in each step (``train.ema``).

    Args:
        shape: (C, H, W) of a frame.
        context: number of context frames T_in.
        horizon: number of lead times T_out of one block. More are drawn block by block, each
            given the last T_in frames known; of fewer, the first of a block are kept.
        width: channels at the full resolution.
        multipliers: how many times as wide each resolution is; the next has half its sides.
        blocks: residual blocks of a resolution on the way down.
        attention_widths: W of the resolutions with attention.
        spade_width: hidden channels of the normalisations.
        dropout: its probability.
        noise_levels: number of noise levels.
        betas: variance of the noise that the noisiest and the least noisy level add.
        mask_context: probability that a clip is trained without its context (zeros).
        data_range: normalised values that become -1 and 1.
        sampler: keys of `Sampler` that are not left at their defaults.

    Raises:
        StpError: an option is out of range.
    """

    criterion = (
        "lowest mean squared error of the noise found in validation frames, at a noise level and "
        "with noise that each clip keeps; of equal epochs the earliest"
    )
    is_sampled = True
    signal: Tensor

    def __init__(
        self,
        shape: tuple[int, int, int],
        context: int,
        horizon: int,
        *,
        width: int = 64,
        multipliers: Sequence[int] = (1, 2, 3, 4),
        blocks: int = 2,
        attention_widths: Sequence[int] = (8, 16, 32),
        spade_width: int = 128,
        dropout: float = 0.1,
        noise_levels: int = 1000,
        betas: Sequence[float] = (0.02, 1e-4),
        mask_context: float = 0.0,
        data_range: Sequence[float] = (0.0, 1.0),
        sampler: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(context)
        for option, value in (
            ("width", width),
            ("blocks", blocks),
            ("spade_width", spade_width),
            ("noise_levels", noise_levels),
        ):
            require(whole(value, 1), f"options.{option}", value, "a whole number from 1")
        for option, numbers, least in (
            ("multipliers", multipliers, 1),
            ("attention_widths", attention_widths, 0),
        ):
            ok = isinstance(numbers, (list, tuple)) and all(whole(n, 1) for n in numbers)
            ok = ok and len(numbers) >= least
            require(ok, f"options.{option}", numbers, "a list of whole numbers from 1")
        for option, share in (("dropout", dropout), ("mask_context", mask_context)):
            ok = isinstance(share, (int, float)) and 0 <= share < 1
            require(ok, f"options.{option}", share, "a number from 0, below 1")
        ok = _pair(betas) and all(0 < beta < 1 for beta in betas)
        require(ok, "options.betas", betas, "two numbers between 0 and 1")
        ok = _pair(data_range) and data_range[0] < data_range[1]
        require(ok, "options.data_range", data_range, "two numbers, the lower one first")

        self.sampler = build(Sampler, sampler or {}, "options.sampler")
        self.horizon = horizon
        self.mask_context = mask_context
        self.low, self.high = data_range
        self.multiple = 2 ** (len(multipliers) - 1)
        self.signal_shares = signal_shares(noise_levels, betas)
        self.register_buffer("signal", torch.tensor(self.signal_shares), persistent=False)
        self.network = UNet(
            horizon * shape[0],
            context * shape[0],
            -(-shape[2] // self.multiple) * self.multiple,
            width=width,
            multipliers=multipliers,
            blocks=blocks,
            attention_widths=attention_widths,
            spade_width=spade_width,
            dropout=dropout,
        )

    def forward(self, frames: Tensor, horizon: int, member: int = 0) -> Tensor:
        """Context (B, T_in, C, H, W) -> forecast (B, horizon, C, H, W); another for each member."""
        height, width = frames.shape[-2:]
        context = self._scale(frames)
        together = max(1, KEPT_BYTES // self.network.modulation_bytes(*context.shape[-2:]))
        forecast = torch.cat(
            [
                self._forecast(
                    part, [generator_of(clip, self.sampler.seed, member) for clip in part], horizon
                )
                for part in context.split(together)
            ]
        )
        forecast = (forecast + 1) / 2 * (self.high - self.low) + self.low
        return forecast[..., :height, :width]

    def loss(self, clip: Tensor, step: int) -> Tensor:
        """Half the squared error of the noise, summed over pixels and frames, mean of the clips.

        Args:
            clip: (B, T_in + T_out, C, H, W).
            step: training iteration; without influence.
        """
        index = torch.randint(len(self.signal), (len(clip),), device=clip.device)
        is_shown = torch.rand(len(clip), device=clip.device) >= self.mask_context
        errors = self._errors(clip, index, torch.randn_like, is_shown)
        return errors.flatten(1).sum(dim=1).mean() / 2

    def validation_errors(self, clips: Tensor, **arguments: Any) -> Tensor:
        """Squared errors of the noise, which depends on each clip and the sampler's seed alone.

        Args:
            clips: (B, T_in + T_out, C, H, W).
            arguments: none.

        Returns:
            (B, T_out * C, H, W).
        """
        generators = [generator_of(clip, self.sampler.seed) for clip in clips]
        levels = [
            torch.randint(len(self.signal), (1,), generator=g, device=g.device) for g in generators
        ]
        return self._errors(
            clips, torch.cat(levels), lambda like: white_noise(like.shape[1:], generators), None
        )

    def _errors(
        self,
        clips: Tensor,
        index: Tensor,
        draw: Callable[[Tensor], Tensor],
        shown: Tensor | None,
    ) -> Tensor:
        """Squared errors of the noise.

        Args:
            clips: (B, T_in + T_out, C, H, W).
            index: index of each clip's noise level, (B,).
            draw: function that draws white noise like a tensor.
            shown: whether the context of each clip is shown, bool (B,); None: all are.

        Returns:
            (B, T_out * C, H, W).
        """
        clips = self._scale(clips)
        context = clips[:, : self.context].flatten(1, 2)
        clean = clips[:, self.context :].flatten(1, 2)
        if shown is not None:
            context = context * shown[:, None, None, None]
        noise = draw(clean)
        noisy = self.add_noise(clean, index, noise)
        predicted_noise = self.network(noisy, index, self.network.modulations(context))
        errors: Tensor = (noise - predicted_noise.float()).square()
        return errors

    def add_noise(self, clean: Tensor, index: Tensor, noise: Tensor) -> Tensor:
        """Bring clean frames (B, ...) to the noise levels `index` (B,) with white noise."""
        share = self.signal[index].reshape(-1, *[1] * (clean.dim() - 1))
        return share.sqrt() * clean + (1 - share).sqrt() * noise

    def _forecast(self, known: Tensor, generators: list[torch.Generator], horizon: int) -> Tensor:
        """T_in frames in [-1, 1] -> the frames after them, (B, horizon, C, H, W)."""
        while known.shape[1] < self.context + horizon:
            context = known[:, -self.context :].flatten(1, 2)
            known = torch.cat([known, self._block(context, generators)], dim=1)
        return known[:, self.context : self.context + horizon]

    def _block(self, context: Tensor, generators: list[torch.Generator]) -> Tensor:
        """Context (B, T_in * C, H, W) -> (B, T_out, C, H, W)."""
        channels = context.shape[1] // self.context
        shape = (self.horizon * channels, *context.shape[2:])
        # The same in all steps, and two thirds of the multiply-adds of one.
        modulations = list(self.network.modulations(context))

        def noise_in(noisy: Tensor, index: int) -> Tensor:
            where = torch.full((len(noisy),), index, device=noisy.device)
            noise: Tensor = self.network(noisy, where, modulations).float()
            return noise

        drawn = self.sampler.sample(
            noise_in, self.signal_shares, lambda: white_noise(shape, generators)
        )
        frames: Tensor = drawn.unflatten(1, (self.horizon, channels))
        return frames

    def _scale(self, frames: Tensor) -> Tensor:
        """Pad, and map `data_range` to [-1, 1]."""
        return (pad(frames, self.multiple) - self.low) / (self.high - self.low) * 2 - 1


def _pair(value: object) -> bool:
    numbers = isinstance(value, (list, tuple)) and all(isinstance(n, (int, float)) for n in value)
    return numbers and len(value) == 2  # type: ignore[arg-type]
