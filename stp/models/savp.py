"""SAVP: video prediction with latent vectors and video discriminators (Lee et al. 2018).

"Stochastic Adversarial Video Prediction", https://arxiv.org/abs/1804.01523. The implementation
follows Tensor2Tensor's ``next_frame_savp`` (models/video/savp.py), which Unterthiner et al. 2018
used. It has the recurrent network of CDNA (`stp.models.cdna.Tower`), a latent vector for each frame
that is concatenated to every layer, an encoder that infers the latent vector from two consecutive
frames, and two discriminators of whole videos with spectral norm: one for videos reconstructed from
inferred latent vectors, and one for videos drawn from noise.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from stp.core.options import number, require, whole
from stp.models.cdna import Memory, Tower, check_tower, draw_true_inputs, fill
from stp.models.draws import generator_of, white_noise
from stp.models.model import ForecastModel
from stp.models.sv2p import annealed_weight, check_annealing, divergence

LEAK = 0.2
LARGEST = 10.0
"""Upper bound of the logarithm of a variance."""
SMOOTHED = 0.75
"""Label of real videos for a discriminator: smoothed by a quarter (TF-GAN)."""
FEWEST = 4
"""Minimum number of frames for a discriminator; the last frame of shorter videos is repeated."""
LAYERS = (
    (1, 3, (1, 1, 1)),
    (2, 4, (1, 2, 2)),
    (2, 3, (1, 1, 1)),
    (4, 4, (1, 2, 2)),
    (4, 3, (1, 1, 1)),
    (8, 4, (2, 2, 2)),
    (8, 3, (1, 1, 1)),
)
"""Layers of a discriminator: multiple of the width, side of the kernel, strides (T, H, W)."""


class Encoder(nn.Module):
    """Maps two consecutive frames to the mean and log-variance of a latent vector.

    Args:
        channels: number of channels C of a frame.
        latent: length of the latent vector.
        width: number of channels of the first layer.
    """

    def __init__(self, channels: int, latent: int, width: int) -> None:
        super().__init__()
        widths = [2 * channels, width, 2 * width, 8 * width]
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            conv = nn.Conv2d(before, after, 4, 2, padding=1)
            fill(conv)
            norm = nn.InstanceNorm2d(after, eps=1e-6, affine=True)
            layers += [conv, norm, nn.LeakyReLU(LEAK)]
        self.layers = nn.Sequential(*layers)
        self.mean, self.log_variance = (nn.Linear(widths[-1], latent) for _ in range(2))
        fill(self.mean)
        fill(self.log_variance)

    def forward(self, pair: Tensor) -> tuple[Tensor, Tensor]:
        """Infer the latent vectors of N pairs of frames.

        Args:
            pair: two consecutive frames, stacked as channels, (N, 2 C, H, W).

        Returns:
            mean and log-variance, (N, latent) each.
        """
        x = self.layers(pair).mean(dim=(2, 3))
        return self.mean(x).float(), self.log_variance(x).float().clamp(-LARGEST, LARGEST)


class Cell(nn.Module):
    """LSTM cell for latent vectors with a forget bias of 1, as in TensorFlow.

    Args:
        size: length of a latent vector, and of the states.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.gates = nn.Linear(2 * size, 4 * size)
        fill(self.gates)

    def forward(self, z: Tensor, state: tuple[Tensor, Tensor] | None) -> tuple[Tensor, Tensor]:
        """Compute the next states.

        Args:
            z: latent vectors, (B, size).
            state: hidden state h and cell state c, (B, size) each; None before the first frame.

        Returns:
            next h and c, (B, size) each.
        """
        h, c = state if state is not None else (torch.zeros_like(z), torch.zeros_like(z))
        i, g, f, o = self.gates(torch.cat([z, h], dim=1)).chunk(4, dim=1)
        c = torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class Discriminator(nn.Module):
    """Maps a video to the logit that it is real, with convolutions over space and time.

    Args:
        shape: (C, H, W) of a frame.
        frames: number of frames in a video.
        width: channels of the first layer.
    """

    def __init__(self, shape: tuple[int, int, int], frames: int, width: int) -> None:
        super().__init__()
        sizes = [max(frames, FEWEST), *shape[1:]]
        before = shape[0]
        layers: list[nn.Module] = []
        for times, kernel, strides in LAYERS:
            conv = nn.Conv3d(before, times * width, kernel, strides, padding=1, bias=False)
            nn.init.trunc_normal_(conv.weight, std=0.02, a=-0.04, b=0.04)
            layers += [spectral_norm(conv), nn.LeakyReLU(LEAK)]
            before = times * width
            sizes = [
                (side + 2 - kernel) // stride + 1
                for side, stride in zip(sizes, strides, strict=True)
            ]
        self.layers = nn.Sequential(*layers)
        self.leave = nn.Linear(before * sizes[0] * sizes[1] * sizes[2], 1)
        fill(self.leave)

    def forward(self, video: Tensor) -> Tensor:
        """Compute the logits of B videos: (B, T, C, H, W) -> (B,); higher for real videos."""
        more = FEWEST - video.shape[1]
        if more > 0:
            video = torch.cat([video, video[:, -1:].expand(-1, more, -1, -1, -1)], dim=1)
        x: Tensor = self.layers(video.transpose(1, 2)).flatten(1)
        return self.leave(x)[:, 0].float()


@contextmanager
def freeze_weights(module: nn.Module) -> Iterator[None]:
    """Context manager: freeze the weights of a module, which get no gradients."""
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in module.parameters():
            parameter.requires_grad_(True)


def adversarial(discriminator: nn.Module, real: Tensor, generated: Tensor) -> Tensor:
    """Compute the sum of the cross-entropy losses of a discriminator and of the generator.

    The first loss has gradients for the discriminator only, the second for the generator only, so
    that one optimiser step updates both (``gan_optimization: joint``).

    Args:
        discriminator: discriminator of videos.
        real: observed videos, (B, T, C, H, W).
        generated: generated videos, (B, T, C, H, W).

    Returns:
        the sum, a scalar.
    """
    logits = discriminator(torch.cat([real, generated.detach()]))
    labels = torch.cat([logits.new_full((len(real),), SMOOTHED), logits.new_zeros(len(generated))])
    # Means over real and generated videos are added, not averaged.
    own = 2 * F.binary_cross_entropy_with_logits(logits, labels)
    with freeze_weights(discriminator):
        of_generated = discriminator(generated)
    return own + F.binary_cross_entropy_with_logits(of_generated, torch.ones_like(of_generated))


class Model(ForecastModel):
    """SAVP: predicts frame by frame, with a latent vector as an additional input at each frame.

    It is the recurrent network of CDNA (`stp.models.cdna.Tower`), trained with a latent vector and
    two discriminators of videos ("Stochastic Adversarial Video Prediction", Lee et al. 2018). In
    training, latent vectors are drawn with torch's global generator. In forecasts, they depend
    only on the clip, the seed and the member.

    Args:
        shape: (C, H, W) of a frame in 0..1; padded where H or W are not multiples of 8.
        context: number of context frames.
        horizon: number of lead times in training; forecasts can have any number.
        widths: channels of the seven LSTMs.
        masks: number of kernels, named after Tensor2Tensor's ``num_masks``. The next frame is an
            average of the last frame, a newly generated one, and the last frame convolved with each
            kernel, with masks as weights.
        kernel: side of a kernel, pixels; odd.
        all_kernels: whether all kernels have a mask. If not, as in the released code, the last
            kernel has none, and no influence.
        sampling_k: constant k of `stp.models.cdna.draw_true_inputs`, which sets how fast the share
            of true frames among the inputs falls in training: below a half after k ln k iterations.
        latent: length of a latent vector; there is one for each frame.
        encoder_width: channels of the encoder's first layer.
        discriminator_width: channels of a discriminator's first layer.
        smooth: whether to double resolutions by interpolation, in place of transposed convolutions.
        gan_weight: weight of the discriminator of videos drawn from noise; 0 for no such
            discriminator.
        gan_vae_weight: weight of the discriminator of reconstructed videos; 0 for no such
            discriminator.
        stages: three iterations that ascend, as in SV2P. The first is ignored. From the second on,
            the divergence of the latent vectors from white noise has a weight in the loss; from the
            third on, its full weight.
        kl_weight: full weight of the divergence.
        annealing: growth of the weight between the second and the third iteration of `stages`:
            ``linear``, or ``constant`` for the full weight from the second on.
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
        widths: Sequence[int] = (32, 32, 64, 64, 128, 64, 32),
        masks: int = 10,
        kernel: int = 5,
        all_kernels: bool = False,
        sampling_k: float = 900.0,
        latent: int = 8,
        encoder_width: int = 64,
        discriminator_width: int = 32,
        smooth: bool = True,
        gan_weight: float = 0.01,
        gan_vae_weight: float = 0.01,
        stages: Sequence[int] = (25_000, 50_000, 100_000),
        kl_weight: float = 1e-3,
        annealing: str = "linear",
        seed: int = 0,
    ) -> None:
        super().__init__(context)
        check_tower(widths, masks, kernel, all_kernels, sampling_k)
        check_annealing(stages, kl_weight, annealing, seed)
        for name, value in (
            ("latent", latent),
            ("encoder_width", encoder_width),
            ("discriminator_width", discriminator_width),
        ):
            require(whole(value, 1), f"options.{name}", value, "a whole number from 1")
        require(isinstance(smooth, bool), "options.smooth", smooth, "true or false")
        for name, weight in (("gan_weight", gan_weight), ("gan_vae_weight", gan_vae_weight)):
            ok = number(weight) and weight >= 0
            require(ok, f"options.{name}", weight, "a number from 0")
        self.sampling_k, self.latent, self.seed = sampling_k, latent, seed
        self.gan_weight, self.gan_vae_weight = gan_weight, gan_vae_weight
        self.stages, self.kl_weight, self.annealing = tuple(stages), kl_weight, annealing
        self.tower = Tower(
            shape, widths, masks, kernel, all_kernels=all_kernels, striped=True, smooth=smooth
        )
        self.encoder = Encoder(shape[0], latent, encoder_width)
        self.encoded, self.drawn = Cell(latent), Cell(latent)
        self.of_drawn, self.of_encoded = (
            Discriminator(shape, horizon, discriminator_width) if weight else None
            for weight in (gan_weight, gan_vae_weight)
        )

    def forward(self, frames: Tensor, horizon: int, member: int = 0) -> Tensor:
        """Draw forecast number ``member`` of B clips from T_in context frames.

        (B, T_in, C, H, W) -> (B, horizon, C, H, W).
        """
        noise = self._noise(frames, member)
        state: tuple[Tensor, Tensor] | None = None
        memory: Memory | None = None
        outputs: list[Tensor] = []
        for t in range(frames.shape[1] + horizon - 1):
            frame = frames[:, t] if t < frames.shape[1] else outputs[-1].to(frames.dtype)
            state = self.drawn(noise(frames.new_empty(len(frames), self.latent)), state)
            predicted, memory = self.tower(frame, memory, state[0])
            outputs.append(predicted)
        return torch.stack(outputs[-horizon:], dim=1)

    def loss(self, clip: Tensor, step: int) -> Tensor:
        """Mean absolute error after the context, plus weighted divergence and adversarial losses.

        The divergence is that of the latent vectors from white noise (`kl_weight`). Each of the two
        discriminators has an adversarial loss (`gan_weight` and `gan_vae_weight`).

        Args:
            clip: context and later frames, (B, T_in + T_out, C, H, W).
            step: training iteration, from 0.
        """
        mean, log_variance = self.posterior(clip)
        encoded, drawn = self._both(clip, step, mean, log_variance)
        after = self.context
        encoded, drawn = encoded[:, after - 1 :].float(), drawn[:, after - 1 :].float()
        truth = clip[:, after:]
        _, start, end = self.stages
        weight = annealed_weight(step, start, end, self.kl_weight, self.annealing)
        total = F.l1_loss(encoded, truth) + weight * divergence(mean, log_variance)
        if self.of_encoded is not None:
            total = total + self.gan_vae_weight * adversarial(self.of_encoded, truth, encoded)
        if self.of_drawn is not None:
            total = total + self.gan_weight * adversarial(self.of_drawn, truth, drawn)
        return total

    def posterior(self, clip: Tensor) -> tuple[Tensor, Tensor]:
        """Infer mean and log-variance of the latent vectors of a clip, (B, T - 1, latent) each."""
        pairs = torch.cat([clip[:, :-1], clip[:, 1:]], dim=2)
        mean, log_variance = self.encoder(pairs.flatten(0, 1))
        return mean.unflatten(0, pairs.shape[:2]), log_variance.unflatten(0, pairs.shape[:2])

    def _both(
        self, clip: Tensor, step: int, mean: Tensor, log_variance: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Predict all frames except the first, with inferred latent vectors, and with noise.

        As in the released code, both continue from frames predicted with inferred latent vectors.

        Returns:
            both predictions, (B, T - 1, C, H, W) each.
        """
        batch, steps = mean.shape[:2]
        inputs = steps - self.context
        shown = draw_true_inputs(step, batch, inputs, self.sampling_k, self.whole_batch).to(
            clip.device
        )
        states: list[tuple[Tensor, Tensor] | None] = [None, None]
        memory: Memory | None = None
        outputs: list[Tensor] = []
        for t in range(steps):
            frame = clip[:, t]
            if t >= self.context:
                observed = shown[:, t - self.context, None, None, None]
                frame = torch.where(observed, frame, outputs[-1][:batch].to(frame.dtype))
            noise = torch.randn_like(mean[:, t])
            z = mean[:, t] + torch.exp(log_variance[:, t] / 2) * noise
            states[0] = self.encoded(z, states[0])
            states[1] = self.drawn(torch.randn_like(z), states[1])
            latents = torch.cat([state[0] for state in states if state is not None])
            predicted, memory = self.tower(torch.cat([frame, frame]), memory, latents)
            outputs.append(predicted)
        videos = torch.stack(outputs, dim=1)
        return videos[:batch], videos[batch:]

    def _noise(self, frames: Tensor, member: int) -> Callable[[Tensor], Tensor]:
        if self.training or frames.is_meta:  # without memory, frames are only counted
            return torch.randn_like
        generators = [generator_of(clip, self.seed, member) for clip in frames]
        return lambda like: white_noise(like.shape[1:], generators)
