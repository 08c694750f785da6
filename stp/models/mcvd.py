"""MCVD: a diffusion model of future frames, conditioned on the context frames.

Voleti et al. 2022, "MCVD: Masked Conditional Video Diffusion for Prediction, Generation, and
Interpolation", https://arxiv.org/abs/2205.09853, in PredBench's variant: a U-Net
(`stp.models.mcvd_unet`) gets all T_out frames stacked as channels, estimates the noise in them, and
is conditioned on the context through its normalisations (SPADE).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from pydantic import PositiveFloat, PositiveInt
from torch import Tensor

from stp.core.options import build, require, whole
from stp.models.draws import generator_of, white_noise
from stp.models.mcvd_unet import UNet
from stp.models.model import ForecastModel
from stp.models.padding import pad

KEPT_BYTES = 2**32
"""Maximum size of modulations kept from one sampling step to the next; if clips need more, they are
computed one after the other."""


@dataclass(frozen=True)
class Sampler:
    """Options of the sampler, which draws frames from noise.

    Attributes:
        name: ``ddpm``: each step draws from the posterior of Ho et al. 2020; ``ddim``: steps are
            deterministic (Song et al. 2021), and only the initial noise is random.
        steps: number of evaluations of the network, evenly spaced in the noise levels: 250 in the
            paper (PredBench, appendix D), 100 in the released configurations.
        clip: maximum absolute value of the clean frames that a step estimates, on the network's
            scale [-1, 1]; None for no limit.
        denoise: whether to remove, after the last step, the noise that the network estimates at the
            last level.
        seed: seed, a whole number from 0. The noise of a forecast depends only on the seed, the
            context frames and the index of the forecast (its member).
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
        """Draw samples by removing noise step by step.

        Args:
            noise_in: function of noisy samples and the index of their noise level that estimates
                the noise, with mean 0 and variance 1.
            signal: share of signal in the variance at each noise level, from the noisiest.
            draw: function that returns new white noise with the shape of the samples.

        Returns:
            samples with the same shape.
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
            # The release estimates the noise of level `steps` - 1, and does not divide.
            share = signal[chosen[-1]]
            x = (x - math.sqrt(1 - share) * noise_in(x, chosen[-1])) / math.sqrt(share)
        return x


def signal_shares(levels: int, betas: Sequence[float]) -> list[float]:
    """Compute the share of signal in the variance at each noise level, from the noisiest.

    A frame at a noise level is sqrt(share) times the clean frame plus sqrt(1 - share) times white
    noise. The share is the product of 1 - beta over this level and all less noisy ones; beta is
    linear in the level, from ``betas[0]`` to ``betas[1]``.

    Args:
        levels: number of noise levels.
        betas: variance of the noise added at the noisiest and at the least noisy level.
    """
    shares: list[float] = np.cumprod(1 - np.linspace(betas[1], betas[0], levels))[::-1].tolist()
    return shares


class Model(ForecastModel):
    """Draws T_out frames at once, conditioned on T_in context frames.

    Normalised frames are mapped linearly from `data_range` to [-1, 1], the scale of the network,
    and back; video normalised to [0, 1] thus becomes value / 127.5 - 1, as published. Frames are
    padded with zeros, below and to the right, to a multiple of 2^(resolutions - 1); the padding is
    predicted too and then cut off.

    Epochs are compared by the error of the estimated noise, not of forecasts, which need hundreds
    of evaluations of the network. The published protocol validates and stores a moving average of
    the weights, with a weight of 0.001 for the newest (``train.ema``).

    Args:
        shape: (C, H, W) of a frame.
        context: number of context frames T_in.
        horizon: number of lead times T_out of one block. Longer forecasts are drawn in blocks, each
            conditioned on the latest T_in observed or predicted frames; shorter ones use the first
            lead times of a block.
        width: channels at the full resolution.
        multipliers: channels of each resolution divided by `width`; H and W are halved from one
            resolution to the next.
        blocks: number of residual blocks per resolution in the encoder.
        attention_widths: widths W of the resolutions with attention, in pixels, besides the lowest,
            which always has it.
        spade_width: hidden channels of the normalisations.
        dropout: dropout probability.
        noise_levels: number of noise levels.
        betas: variance of the noise added at the noisiest and at the least noisy level.
        mask_context: probability that the context of a training clip is replaced by zeros.
        data_range: the two normalised values that are mapped to -1 and 1.
        sampler: options of `Sampler`, by name; others have their defaults.

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
        """Draw forecast number ``member`` of B clips from T_in context frames.

        (B, T_in, C, H, W) -> (B, horizon, C, H, W).
        """
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
        """Half the squared error of the estimated noise.

        It is summed over all values of the forecast frames, and averaged over clips.

        Args:
            clip: context and later frames, (B, T_in + T_out, C, H, W).
            step: training iteration; ignored.
        """
        index = torch.randint(len(self.signal), (len(clip),), device=clip.device)
        is_shown = torch.rand(len(clip), device=clip.device) >= self.mask_context
        errors = self._errors(clip, index, torch.randn_like, is_shown)
        return errors.flatten(1).sum(dim=1).mean() / 2

    def validation_errors(self, clips: Tensor, **arguments: Any) -> Tensor:
        """Squared errors of the estimated noise, reproducible for each clip.

        Args:
            clips: context and later frames, (B, T_in + T_out, C, H, W).
            arguments: ignored.

        Returns:
            squared errors, (B, T_out * C, H, W). The added noise and the noise level depend only on
            the clip and the sampler's seed.
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
        """Squared errors of the estimated noise.

        Args:
            clips: context and later frames, (B, T_in + T_out, C, H, W).
            index: index of each clip's noise level, (B,).
            draw: function that draws white noise with the shape of a tensor.
            shown: whether each clip is conditioned on its context, bool (B,); None for all clips.

        Returns:
            squared errors, (B, T_out * C, H, W).
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
        """Mix clean frames with white noise.

        Args:
            clean: frames without noise, (B, ...).
            index: index of each clip's noise level, from the noisiest, (B,).
            noise: white noise with the shape of `clean`.

        Returns:
            noisy frames, with the same shape.
        """
        share = self.signal[index].reshape(-1, *[1] * (clean.dim() - 1))
        return share.sqrt() * clean + (1 - share).sqrt() * noise

    def _forecast(self, known: Tensor, generators: list[torch.Generator], horizon: int) -> Tensor:
        """T_in frames in [-1, 1] -> next frames, (B, horizon, C, H, W)."""
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
        """Pad frames, and map `data_range` to [-1, 1]."""
        return (pad(frames, self.multiple) - self.low) / (self.high - self.low) * 2 - 1


def _pair(value: object) -> bool:
    numbers = isinstance(value, (list, tuple)) and all(isinstance(n, (int, float)) for n in value)
    return numbers and len(value) == 2  # type: ignore[arg-type]
