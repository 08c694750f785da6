"""SV2P: CDNA with a latent variable for an uncertain future (Babaeizadeh et al. 2018).

"Stochastic Variational Video Prediction", https://arxiv.org/abs/1710.11252. The implementation
follows Tensor2Tensor's ``next_frame_sv2p`` (models/video/sv2p.py, base_vae.py), which Unterthiner
et al. 2018 used, with one latent variable for the whole clip, concatenated to the narrowest layer.
Training has three stages. In the first, the latent variable is noise. In the second, an inference
network estimates it from the whole clip. In the third, its divergence from noise is added to the
loss with an increasing weight.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stp.core.options import number, require, whole
from stp.models import cdna
from stp.models.cdna import SHRINK, Conv, Tower, layer_norm
from stp.models.draws import generator_of, white_noise
from stp.models.padding import pad
from stp.models.recurrent import roll

ANNEALING = ("linear", "constant")
LEAST_LOG_VARIANCE = -5.0


class Inference(nn.Module):
    """Maps a whole clip to the mean and log-variance of a latent variable.

    Args:
        channels: number of channels of all frames of a clip together.
        latent: number of channels of the latent variable.
        widths: numbers of channels of the three layers before the last.
    """

    def __init__(self, channels: int, latent: int, widths: Sequence[int]) -> None:
        super().__init__()
        before = [channels, *widths[:-1]]
        strides = (2, 2, 1)
        self.layers = nn.Sequential(
            *(
                nn.Sequential(Conv(a, b, 3, stride), nn.ReLU(), layer_norm(b))
                for a, b, stride in zip(before, widths, strides, strict=True)
            )
        )
        self.mean = Conv(widths[-1], latent, 3, 2)
        self.log_variance = Conv(widths[-1], latent, 3, 2)

    def forward(self, clip: Tensor) -> tuple[Tensor, Tensor]:
        """Clip (B, T, C, H, W) -> mean and log-variance, (B, latent, H / 8, W / 8) each."""
        x = self.layers(pad(clip, SHRINK).flatten(1, 2))
        return self.mean(x).float(), F.relu(self.log_variance(x)).float() + LEAST_LOG_VARIANCE


def annealed_weight(step: int, start: int, end: int, most: float, how: str) -> float:
    """Compute the weight of a divergence in the loss, which grows during training.

    Args:
        step: training iteration, from 0.
        start: iteration before which the weight is 0.
        end: iteration from which the weight is `most`.
        most: the final weight.
        how: growth from `start` to `end`: ``linear``, from 0 to `most`; ``constant``, the weight is
            `most` from `start` on.
    """
    if step < start:
        return 0.0
    if step >= end or how == "constant":
        return most
    return most * (step - start) / (end - start)


def divergence(mean: Tensor, log_variance: Tensor) -> Tensor:
    """Compute the divergence (Kullback-Leibler) of normal distributions from the standard one.

    This is KL(N(mean, variance) || N(0, 1)).

    Args:
        mean: mean of each value, (B, ...).
        log_variance: log-variance of each value, (B, ...).

    Returns:
        scalar: sum over the values of a clip, averaged over clips.
    """
    terms = mean.square() + log_variance.exp() - 1 - log_variance
    return terms.sum() / 2 / len(mean)


def check_annealing(stages: object, kl_weight: object, annealing: object, seed: object) -> None:
    """Refuse options of the latent variable's training that are out of range.

    Args:
        stages: iterations at which stages of the training begin; must be three whole numbers from
            0 that ascend.
        kl_weight: final weight of the divergence in the loss; must be a number from 0.
        annealing: growth of the weight; must be ``linear`` or ``constant`` (see `annealed_weight`).
        seed: seed of the latent variables of forecasts; must be a whole number from 0.

    Raises:
        StpError: an option is out of range.
    """
    ok = isinstance(stages, (list, tuple)) and len(stages) == 3 and all(whole(n, 0) for n in stages)
    ok = ok and list(stages) == sorted(stages)  # type: ignore[call-overload]
    require(ok, "options.stages", stages, "three iterations that ascend")
    ok = number(kl_weight) and kl_weight >= 0  # type: ignore[operator]
    require(ok, "options.kl_weight", kl_weight, "a number from 0")
    require(annealing in ANNEALING, "options.annealing", annealing, " or ".join(ANNEALING))
    require(whole(seed, 0), "options.seed", seed, "a whole number from 0")


class Model(cdna.Model):
    """CDNA with a latent variable as an additional input, drawn once for each forecast.

    In training, the latent variable is drawn with torch's global generator. In forecasts, it
    depends only on the clip, the seed and the member.

    Args:
        shape: (C, H, W) of a frame in 0..1; padded where H or W are not multiples of 8.
        context: number of context frames.
        horizon: number of lead times in training; forecasts can have any number.
        widths: channels of the seven LSTMs.
        masks: number of kernels, named after Tensor2Tensor's ``num_masks``. The next frame is an
            average of the last frame, a newly generated one, and the last frame convolved with each
            kernel. Their weights at each pixel are called masks.
        kernel: side of a kernel, pixels; odd.
        all_kernels: whether the last kernel is used. True: the average is of ``masks + 2`` frames.
            False, as in the released code: it is of ``masks + 1`` frames; the last kernel is
            computed, but has no influence.
        sampling_k: constant k of `stp.models.cdna.draw_true_inputs`, which sets how fast the share
            of true frames among the inputs falls in training: below a half after k ln k iterations.
        latent_channels: number of channels of the latent variable; 0 for none, as in CDNA.
        latent_widths: numbers of channels of the three layers of the inference network, which
            estimates the latent variable from the whole clip.
        stages: three iterations that ascend. From the first on, training uses the inference
            network; before, the latent variable is white noise. From the second on, the divergence
            of the latent variable from white noise has a weight in the loss; from the third on, its
            full weight.
        kl_weight: full weight of the divergence.
        annealing: growth of the weight between the second and the third iteration of `stages`:
            ``linear`` (as in the paper), or ``constant`` for the full weight from the second on.
        seed: seed of the latent variables of forecasts.

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
        latent_channels: int = 1,
        latent_widths: Sequence[int] = (32, 64, 64),
        stages: Sequence[int] = (25_000, 50_000, 100_000),
        kl_weight: float = 1e-3,
        annealing: str = "linear",
        seed: int = 0,
    ) -> None:
        where = "options.latent_channels"
        require(whole(latent_channels, 0), where, latent_channels, "a whole number from 0")
        ok = isinstance(latent_widths, (list, tuple)) and len(latent_widths) == 3
        ok = ok and all(whole(n, 1) for n in latent_widths)
        require(ok, "options.latent_widths", latent_widths, "three whole numbers from 1")
        check_annealing(stages, kl_weight, annealing, seed)
        self.latent_channels = latent_channels
        super().__init__(
            shape,
            context,
            horizon,
            widths=widths,
            masks=masks,
            kernel=kernel,
            all_kernels=all_kernels,
            sampling_k=sampling_k,
        )
        self.stages, self.kl_weight, self.annealing = tuple(stages), kl_weight, annealing
        self.seed = seed
        frames = (context + horizon) * shape[0]
        self.inference = (
            Inference(frames, latent_channels, latent_widths) if latent_channels else None
        )

    def _tower(
        self,
        shape: tuple[int, int, int],
        widths: Sequence[int],
        masks: int,
        kernel: int,
        all_kernels: bool,
    ) -> Tower:
        latent = self.latent_channels
        return Tower(shape, widths, masks, kernel, all_kernels=all_kernels, latent=latent)

    def forward(self, frames: Tensor, horizon: int, member: int = 0) -> Tensor:
        """Draw forecast number ``member`` of B clips from T_in context frames.

        (B, T_in, C, H, W) -> (B, horizon, C, H, W).
        """
        context = frames.shape[1]
        following = self.following(self._noise(frames, member))
        return roll(following, frames, context, context + horizon - 1)[:, -horizon:]

    def loss(self, clip: Tensor, step: int) -> Tensor:
        """Mean squared error after the context, plus weighted divergence from white noise.

        The divergence is that of the latent variable; its weight grows as `stages` says.

        Args:
            clip: context and later frames, (B, T_in + T_out, C, H, W).
            step: training iteration, from 0.
        """
        if self.inference is None:
            return self._error(clip, step, None)
        first, start, end = self.stages
        # Also before it counts: a network without gradients would be an error on several GPUs.
        mean, log_variance = self.inference(clip)
        noise = torch.randn_like(mean)
        if step < first:
            return self._error(clip, step, noise) + 0 * (mean.sum() + log_variance.sum())
        latent = mean + torch.exp(log_variance / 2) * noise
        weight = annealed_weight(step, start, end, self.kl_weight, self.annealing)
        return self._error(clip, step, latent) + weight * divergence(mean, log_variance)

    def _noise(self, frames: Tensor, member: int) -> Tensor | None:
        """Draw white noise for each clip, (B, latent, H / 8, W / 8)."""
        if not self.latent_channels:
            return None
        shape = (self.latent_channels, *self.tower.sides)
        if self.training or frames.is_meta:  # without memory, frames are only counted
            return torch.randn(len(frames), *shape, device=frames.device)
        return white_noise(shape, [generator_of(clip, self.seed, member) for clip in frames])
