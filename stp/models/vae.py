"""Variational autoencoder of ChaosBench (https://arxiv.org/abs/2402.00712).

This is the lagged autoencoder with a code of 64 numbers at its narrowest level, drawn from a normal
distribution (Kingma and Welling 2013, https://arxiv.org/abs/1312.6114). As in the released code
(leap-stc/ChaosBench, chaosbench/models/ae.py), means are bounded by tanh and log-variances by ReLU,
so that the noise of a code is never weaker than its signal; `bounded: false` removes both bounds.
The released training fails because it compares the three outputs of the network with the truth; the
loss is our interpretation of its definition.
"""

from collections.abc import Callable, Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stp.core.options import number, require, whole
from stp.models.draws import generator_of, white_noise
from stp.models.halving import Encoder, at_least, check_channels, resize
from stp.models.lagged_ae import Decoder
from stp.models.one_step import OneStep

Noise = Callable[[Tensor], Tensor]
"""Function that returns white noise with the shape of a tensor."""


class Model(OneStep):
    """Encodes the context frames to a distribution of codes, draws a code, and decodes it.

    A code is drawn at each lead time. In training, this uses torch's global generator; in
    forecasts, the code depends only on the clip, the seed and the member.

    Args:
        shape: (C, H, W) of a frame; padded where a side is too short for all levels.
        context: number of context frames, stacked as channels.
        horizon: number of lead times in training; forecasts can have any number.
        channels: number of channels of each level; H and W are halved from level to level.
        latent: length of a code.
        bounded: whether means are within -1..1 and variances at least 1, as in the released code.
        kl_weight: weight of the divergence term, which the loss adds to the mean squared error (see
            `drawn_forecast`). The term grows as the distribution of codes departs from a standard
            normal one. With the weight 1, to minimise the loss is to maximise the evidence lower
            bound (ELBO), if errors of frames are normal with variance 1.
        predicts: output of the network: ``state``, the next frame, or ``change``, its difference
            from the latest frame.
        seed: seed of the codes of forecasts.

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
        channels: Sequence[int] = (64, 128, 256, 512, 1024),
        latent: int = 64,
        bounded: bool = True,
        kl_weight: float = 1.0,
        predicts: str = "state",
        seed: int = 0,
    ) -> None:
        super().__init__(context, predicts)
        check_channels(channels)
        require(whole(latent, 1), "options.latent", latent, "a whole number from 1")
        require(isinstance(bounded, bool), "options.bounded", bounded, "true or false")
        ok = number(kl_weight) and kl_weight >= 0
        require(ok, "options.kl_weight", kl_weight, "a number from 0")
        require(whole(seed, 0), "options.seed", seed, "a whole number from 0")
        self.bounded, self.kl_weight, self.seed = bounded, kl_weight, seed
        self.least = 2 ** (len(channels) - 1)
        self.encoder = Encoder([context * shape[0], *channels], nn.ReLU)
        self.decoder = Decoder(channels, shape[0])
        sides = [max(side, self.least) // self.least for side in shape[1:]]
        self.narrowest = (channels[-1], *sides)
        size = channels[-1] * sides[0] * sides[1]
        self.mean = nn.Linear(size, latent)
        self.log_variance = nn.Linear(size, latent)
        self.enter = nn.Linear(latent, size)

    def forward(self, frames: Tensor, horizon: int, member: int = 0) -> Tensor:
        """Draw forecast number ``member`` of B clips from T_in context frames.

        (B, T_in, C, H, W) -> (B, horizon, C, H, W).
        """
        return torch.cat(list(self.parts(frames, horizon, member)), dim=1)

    def parts(self, frames: Tensor, horizon: int, member: int = 0) -> Iterator[Tensor]:
        """Yield the forecast one lead time at a time, (B, 1, C, H, W) each."""
        noise = self._noise(frames, member)
        return self._roll_out(lambda x: self._draw_next_frame(x, noise)[0], frames, horizon)

    def loss(self, clip: Tensor, step: int) -> Tensor:
        """Mean squared error plus the divergence term of `drawn_forecast`.

        Args:
            clip: context and later frames, (B, T_in + T_out, C, H, W).
            step: training iteration; ignored.
        """
        context, future = clip[:, : self.context], clip[:, self.context :]
        forecast, divergence = self.drawn_forecast(context, future.shape[1], future[0, 0].numel())
        return F.mse_loss(forecast.float(), future) + divergence

    def drawn_forecast(self, frames: Tensor, horizon: int, values: int) -> tuple[Tensor, Tensor]:
        """Draw a forecast with torch's generator, and compute the divergence term of the loss.

        The term is ``2 * kl_weight * D / values``. D is the Kullback-Leibler divergence of a code's
        distribution from the standard normal one, summed over the code, and averaged over clips and
        lead times.

        Args:
            frames: context (B, T_in, C, H, W).
            horizon: number of lead times.
            values: number of compared values in a frame.

        Returns:
            the forecast, (B, horizon, C, H, W), and the term, a scalar >= 0.
        """
        divergences: list[Tensor] = []

        def following(x: Tensor) -> Tensor:
            predicted, divergence = self._draw_next_frame(x, torch.randn_like)
            divergences.append(divergence.float())
            return predicted

        forecast = torch.cat(list(self._roll_out(following, frames, horizon)), dim=1)
        # The evidence lower bound has half the sum of squares, which is the mean squared error, to
        # which the term is added, times values / 2.
        return forecast, 2 * self.kl_weight * torch.stack(divergences).mean() / values

    def _noise(self, frames: Tensor, member: int) -> Noise:
        """Make the source of noise for a forecast."""
        if self.training or frames.is_meta:  # meta tensors have no values to seed a generator
            return torch.randn_like
        generators = [generator_of(clip, self.seed, member) for clip in frames]
        return lambda like: white_noise(like.shape[1:], generators)

    def _draw_next_frame(self, frames: Tensor, noise: Noise) -> tuple[Tensor, Tensor]:
        """(B, T_in * C, H, W) -> next frame (B, C, H, W) and divergence of each code (B,)."""
        height, width = frames.shape[-2:]
        x = at_least(frames, self.least)
        narrow = self.encoder(x)[-1].flatten(1)
        mean, log_variance = self.mean(narrow).float(), self.log_variance(narrow).float()
        if self.bounded:
            mean, log_variance = torch.tanh(mean), F.relu(log_variance)
        code = mean + torch.exp(0.5 * log_variance) * noise(mean)
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(dim=1)
        decoded = self.decoder(self.enter(code).unflatten(1, self.narrowest))
        return resize(decoded, x)[..., :height, :width], divergence
