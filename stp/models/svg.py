"""SVG: an LSTM predicts the next frame's code from the last code and a latent vector.

Denton and Fergus 2018, "Stochastic Video Generation with a Learned Prior",
https://arxiv.org/abs/1802.07687; layers, widths and loss are those of the authors' release
(https://github.com/edenton/svg: train_svg_fp.py, train_svg_lp.py, models/). With a fixed prior,
this is the model that Unterthiner et al. 2018 call SVP-FP.

Paper, releases and Tensor2Tensor (next_frame_emily) differ in these options of `Model`, where "-"
stands for the default::

    option        paper  release, SVG-FP  release, SVG-LP  Tensor2Tensor
    batch_norm    -      true             true             false (one layer has one)
    last_skip     true   false            false            true
    seen          drawn  mean             drawn            prior
    log_variance  -      true             true             false
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stp.core.options import number, require, whole
from stp.models.draws import generator_of, white_noise
from stp.models.model import ForecastModel
from stp.models.padding import pad

PRIORS = ("fixed", "learned")
SEEN = ("drawn", "mean", "prior")
"""Latent vectors for observed frames in a forecast: drawn from the posterior, its mean, or drawn
from the prior."""
DEPTHS = (2, 2, 3, 3, 3, 3)
"""Numbers of convolutions at each resolution; there are as many resolutions as widths."""
LEAK = 0.2

State = list[tuple[Tensor, Tensor]] | None
"""States of the cells of an LSTM; None before the first code."""


def layer(inputs: int, outputs: int, batch_norm: bool) -> nn.Sequential:
    """Make a 3 x 3 convolution, an optional batch norm, and a leaky ReLU."""
    norm = nn.BatchNorm2d(outputs) if batch_norm else nn.Identity()
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1), norm, nn.LeakyReLU(LEAK, inplace=True)
    )


class Encoder(nn.Module):
    """Maps a frame to a code, and to features of each resolution for the decoder.

    Args:
        channels: number of channels of a frame.
        widths: number of channels of each resolution, from the finest; H and W are halved after
            each resolution.
        sides: height and width after the last halving.
        code: length of the code.
        batch_norm: whether layers have a batch norm.
    """

    def __init__(
        self,
        channels: int,
        widths: Sequence[int],
        sides: tuple[int, int],
        code: int,
        batch_norm: bool,
    ) -> None:
        super().__init__()
        self.stages = nn.ModuleList()
        before = channels
        for width, depth in zip(widths, DEPTHS, strict=False):
            layers = [layer(before, width, batch_norm)]
            layers += [layer(width, width, batch_norm) for _ in range(depth - 1)]
            self.stages.append(nn.Sequential(*layers))
            before = width
        norm = nn.BatchNorm2d(code) if batch_norm else nn.Identity()
        self.leave = nn.Sequential(nn.Conv2d(before, code, sides), norm, nn.Tanh())

    def forward(self, frame: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Frame (B, C, H, W) -> code (B, code), and features of each resolution, finest first."""
        kept = []
        for stage in self.stages:
            kept.append(stage(frame))
            frame = F.max_pool2d(kept[-1], 2)
        return self.leave(frame).flatten(1), kept


class Decoder(nn.Module):
    """Maps a code, and the encoder's features of an earlier frame, to a frame in 0..1.

    The first layer always has a batch norm.

    Args:
        channels: number of channels of a frame.
        widths: number of channels of each resolution, from the finest, as in `Encoder`.
        sides: height and width before the first doubling.
        code: length of the code.
        batch_norm: whether the other layers have a batch norm.
    """

    def __init__(
        self,
        channels: int,
        widths: Sequence[int],
        sides: tuple[int, int],
        code: int,
        batch_norm: bool,
    ) -> None:
        super().__init__()
        self.enter = nn.Sequential(
            nn.ConvTranspose2d(code, widths[-1], sides),
            nn.BatchNorm2d(widths[-1]),
            nn.LeakyReLU(LEAK, inplace=True),
        )
        self.stages = nn.ModuleList()
        for i in reversed(range(len(widths))):
            width, after = widths[i], widths[max(i - 1, 0)]
            between = [width] * (DEPTHS[i] - 1 if i else 1)
            steps = [2 * width, *between, after] if i else [2 * width, width]
            self.stages.append(
                nn.Sequential(*(layer(a, b, batch_norm) for a, b in pairwise(steps)))
            )
        self.leave = nn.ConvTranspose2d(widths[0], channels, 3, padding=1)

    def forward(self, code: Tensor, kept: Sequence[Tensor]) -> Tensor:
        """Map a code and the features of an earlier frame to a frame.

        Args:
            code: code of the frame, (B, code).
            kept: features of an earlier frame at each resolution, from `Encoder`, finest first.

        Returns:
            frame, (B, C, H, W), in 0..1.
        """
        x = self.enter(code[:, :, None, None])
        for stage, skip in zip(self.stages, reversed(kept), strict=True):
            x = stage(torch.cat([F.interpolate(x, scale_factor=2.0), skip], dim=1))
        return torch.sigmoid(self.leave(x))


class LSTM(nn.Module):
    """Linear layer, stack of LSTM cells, and a linear layer for each output.

    Args:
        inputs: length of the input.
        outputs: lengths of the outputs.
        hidden: width of the cells.
        depth: number of cells.
    """

    def __init__(self, inputs: int, outputs: Sequence[int], hidden: int, depth: int) -> None:
        super().__init__()
        self.enter = nn.Linear(inputs, hidden)
        self.cells = nn.ModuleList(nn.LSTMCell(hidden, hidden) for _ in range(depth))
        self.leave = nn.ModuleList(nn.Linear(hidden, n) for n in outputs)

    def forward(self, x: Tensor, state: State) -> tuple[list[Tensor], State]:
        """Compute one time step.

        Args:
            x: input, (B, inputs).
            state: states h and c of each cell; None at first.

        Returns:
            the outputs, (B, n) for each n of the argument ``outputs`` of the class, and next state.
        """
        x = self.enter(x)
        new = []
        for i, cell in enumerate(self.cells):
            new.append(cell(x, state[i] if state else None))
            x = new[-1][0]
        return [last(x) for last in self.leave], new


def divergence(
    mean: Tensor, log_variance: Tensor, other_mean: Tensor, other_log_variance: Tensor
) -> Tensor:
    """Compute the Kullback-Leibler divergence of one normal distribution from another.

    This is KL(first || second), the mean of log(first / second) under the first distribution.

    Args:
        mean: mean of the first distribution, (B, n).
        log_variance: log-variance of the first distribution, (B, n).
        other_mean: mean of the second distribution, (B, n).
        other_log_variance: log-variance of the second distribution, (B, n).

    Returns:
        scalar: sum over the n values, averaged over the batch.
    """
    ratio = (log_variance - other_log_variance).exp()
    apart = (mean - other_mean).square() / other_log_variance.exp()
    return (other_log_variance - log_variance + ratio + apart - 1).sum() / 2 / len(mean)


class Model(ForecastModel):
    """Predicts the code of the next frame, and decodes it with features of the last context frame.

    A code is a vector that represents a frame. The next code depends on the last one and on a
    random latent vector. The latent vector is drawn from the posterior, a distribution that knows
    the next frame, or from the prior, which does not.

    In forecasts, latent vectors of forecast frames are drawn from the prior, and those of context
    frames from the posterior (see `seen`). They depend only on the clip, the seed and the member.
    The docstring of the module lists which code base has which options.

    Args:
        shape: (C, H, W) of a frame in 0..1; padded where H or W cannot be halved often enough.
        context: number of context frames.
        horizon: number of lead times in training; forecasts can have any number.
        prior: ``fixed``: white noise (SVG-FP, called SVP-FP in the FVD paper); ``learned``: an LSTM
            that reads the earlier frames (SVG-LP).
        widths: number of channels of each resolution, from the finest: four resolutions for 64 x 64
            pixels, five for 128 x 128.
        code: length of the code of a frame.
        latent: length of a latent vector.
        hidden: width of the LSTMs.
        depth: number of cells of the LSTM that predicts codes.
        posterior_depth: number of cells of the posterior, and of a learned prior.
        batch_norm: whether all layers have batch norms; if not, only the decoder's first layer has.
        kl_weight: weight of the divergence of the posterior from the prior in the loss.
        last_skip: whether the decoder uses features of the last context frame; if not, it uses
            those of the frame before.
        seen: latent vectors of context frames in forecasts: ``drawn`` from the posterior, ``mean``
            of the posterior, or drawn from the ``prior``.
        log_variance: whether draws interpret the second output of the posterior as the logarithm of
            the variance, as the divergence always does; if not, as that of the standard deviation.
        seed: seed of the latent vectors of forecasts.

    Raises:
        StpError: an option is out of range.
    """

    is_sampled = True

    def __init__(
        self,
        shape: tuple[int, int, int],
        context: int,
        horizon: int,
        *,
        prior: str = "fixed",
        widths: Sequence[int] = (64, 128, 256, 512),
        code: int = 128,
        latent: int = 10,
        hidden: int = 256,
        depth: int = 2,
        posterior_depth: int = 1,
        batch_norm: bool = True,
        kl_weight: float = 1e-4,
        last_skip: bool = True,
        seen: str = "drawn",
        log_variance: bool = True,
        seed: int = 0,
    ) -> None:
        super().__init__(context)
        require(prior in PRIORS, "options.prior", prior, " or ".join(PRIORS))
        ok = isinstance(widths, (list, tuple)) and 1 <= len(widths) <= len(DEPTHS)
        ok = ok and all(whole(n, 1) for n in widths)
        require(ok, "options.widths", widths, f"1 to {len(DEPTHS)} whole numbers from 1")
        for name, value in (
            ("code", code),
            ("latent", latent),
            ("hidden", hidden),
            ("depth", depth),
            ("posterior_depth", posterior_depth),
        ):
            require(whole(value, 1), f"options.{name}", value, "a whole number from 1")
        require(isinstance(batch_norm, bool), "options.batch_norm", batch_norm, "true or false")
        ok = number(kl_weight) and kl_weight >= 0
        require(ok, "options.kl_weight", kl_weight, "a number from 0")
        for name, value in (("last_skip", last_skip), ("log_variance", log_variance)):
            require(isinstance(value, bool), f"options.{name}", value, "true or false")
        require(seen in SEEN, "options.seen", seen, " or ".join(SEEN))
        require(whole(seed, 0), "options.seed", seed, "a whole number from 0")
        self.latent, self.kl_weight, self.seed = latent, kl_weight, seed
        self.last_skip, self.seen = last_skip, seen
        self.power = 0.5 if log_variance else 1.0
        self.multiple = 2 ** len(widths)
        sides = -(-shape[1] // self.multiple), -(-shape[2] // self.multiple)
        self.encoder = Encoder(shape[0], widths, sides, code, batch_norm)
        self.decoder = Decoder(shape[0], widths, sides, code, batch_norm)
        self.predictor = LSTM(code + latent, [code], hidden, depth)
        self.posterior = LSTM(code, [latent, latent], hidden, posterior_depth)
        self.prior = (
            LSTM(code, [latent, latent], hidden, posterior_depth) if prior == "learned" else None
        )
        self.apply(_initialise)

    def forward(self, frames: Tensor, horizon: int, member: int = 0) -> Tensor:
        """Draw forecast number ``member`` of B clips from T_in context frames.

        (B, T_in, C, H, W) -> (B, horizon, C, H, W).
        """
        noise = self._noise(frames, member)
        padded = pad(frames, self.multiple)
        states: list[State] = [None, None, None]
        kept: list[Tensor] = []
        frame, outputs = padded[:, 0], []
        for t in range(1, padded.shape[1] + horizon):
            code, skips = self.encoder(frame)
            if t <= self._skips(padded.shape[1]):
                kept = skips
            prior = self._prior(code, states)
            is_seen = t < padded.shape[1]
            if is_seen and self.seen != "prior":
                mean, log_variance = self._posterior(self.encoder(padded[:, t])[0], states)
                drawn = self._draw_latent(mean, log_variance, noise(mean))
                z = drawn if self.seen == "drawn" else mean
            else:
                z = prior[0] + torch.exp(prior[1] / 2) * noise(prior[0])
            predicted = self._predict_code(code, z, states)
            frame = padded[:, t] if is_seen else self.decoder(predicted, kept)
            if not is_seen:
                outputs.append(frame)
        forecast = torch.stack(outputs, dim=1)
        return forecast[..., : frames.shape[-2], : frames.shape[-1]]

    def loss(self, clip: Tensor, step: int) -> Tensor:
        """Mean squared errors plus weighted divergences, summed over all frames except the first.

        The divergence is that of the posterior from the prior. All inputs are true frames; the
        posterior also sees the frame to predict.

        Args:
            clip: context and later frames, (B, T_in + T_out, C, H, W).
            step: training iteration; ignored.
        """
        height, width = clip.shape[-2:]
        padded = pad(clip, self.multiple)
        states: list[State] = [None, None, None]
        # Each frame by itself: a batch norm sees the clips of a batch at one time.
        encoded = [self.encoder(frame) for frame in padded.unbind(1)]
        total = clip.new_zeros((), dtype=torch.float32)
        for t in range(1, clip.shape[1]):
            code, kept = encoded[t - 1][0], encoded[min(t, self._skips(self.context)) - 1][1]
            mean, log_variance = self._posterior(encoded[t][0], states)
            prior = self._prior(code, states)
            z = self._draw_latent(mean, log_variance, torch.randn_like(mean))
            predicted = self.decoder(self._predict_code(code, z, states), kept)
            total = total + F.mse_loss(predicted[..., :height, :width].float(), clip[:, t])
            total = total + self.kl_weight * divergence(mean, log_variance, *prior)
        return total

    def _draw_latent(self, mean: Tensor, log_variance: Tensor, noise: Tensor) -> Tensor:
        """Draw latent vectors from normal distributions by scaling white noise, (B, n)."""
        return mean + torch.exp(log_variance * self.power) * noise

    def _skips(self, context: int) -> int:
        """Number of context frames whose features the decoder may use."""
        return max(context if self.last_skip else context - 1, 1)

    def _posterior(self, code: Tensor, states: list[State]) -> tuple[Tensor, Tensor]:
        (mean, log_variance), states[0] = self.posterior(code, states[0])
        return mean.float(), log_variance.float()

    def _prior(self, code: Tensor, states: list[State]) -> tuple[Tensor, Tensor]:
        if self.prior is None:
            zeros = code.new_zeros(len(code), self.latent, dtype=torch.float32)
            return zeros, zeros
        (mean, log_variance), states[1] = self.prior(code, states[1])
        return mean.float(), log_variance.float()

    def _predict_code(self, code: Tensor, z: Tensor, states: list[State]) -> Tensor:
        (predicted,), states[2] = self.predictor(
            torch.cat([code, z.to(code.dtype)], dim=1), states[2]
        )
        return torch.tanh(predicted)

    def _noise(self, frames: Tensor, member: int) -> Callable[[Tensor], Tensor]:
        if self.training or frames.is_meta:  # without memory, frames are only counted
            return torch.randn_like
        generators = [generator_of(clip, self.seed, member) for clip in frames]
        return lambda like: white_noise(like.shape[1:], generators)


def _initialise(module: nn.Module) -> None:
    """Set initial weights as in the release; LSTM cells keep PyTorch's defaults."""
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)):
        nn.init.normal_(module.weight, 0, 0.02)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1, 0.02)
        nn.init.zeros_(module.bias)
