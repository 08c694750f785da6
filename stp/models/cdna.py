"""CDNA: predict the next frame as a masked mixture of shifted last frames (Finn et al. 2016).

Finn, Goodfellow and Levine, "Unsupervised Learning for Physical Interaction through Video
Prediction", https://arxiv.org/abs/1605.07157, without a robot's actions as inputs. It follows
Tensor2Tensor's ``next_frame_sv2p`` with ``model_options: CDNA``, which Unterthiner et al. 2018 used
(https://github.com/tensorflow/tensor2tensor, models/video/sv2p.py, layers/common_video.py). SV2P
and SAVP use the same tower of seven convolutional LSTMs (sv2p.py, savp.py).
"""

import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stp.core.options import number, require, whole
from stp.models.model import ForecastModel, WholeBatch
from stp.models.padding import pad
from stp.models.recurrent import roll, with_memory

SHRINK = 8
"""Ratio of the sides of a frame to those of the narrowest layer."""
LEAST = 1e-12
"""Lower bound of the values of a kernel before they are divided by their sum."""

Memory = list[tuple[Tensor, Tensor]]
"""For each of the seven LSTMs, hidden state h and cell state c, with one shape (B, channels, rows,
columns)."""


class Conv(nn.Conv2d):
    """Convolution with TensorFlow's padding SAME, for sides that are multiples of the stride.

    Padding is with zeros; an odd number of rows or columns has the larger half at the end. Initial
    weights are uniform with variance 2 / (fan-in + fan-out), biases are zero.

    Args:
        inputs: number of channels of the input.
        outputs: number of channels of the output.
        size: side of the kernel, pixels.
        stride: step of the kernel, pixels.
    """

    def __init__(self, inputs: int, outputs: int, size: int, stride: int = 1) -> None:
        super().__init__(inputs, outputs, size, stride)
        fill(self)
        total = max(size - stride, 0)
        self.before, self.behind = total // 2, total - total // 2

    def forward(self, x: Tensor) -> Tensor:
        """Convolve features: (B, inputs, H, W) -> (B, outputs, H / stride, W / stride)."""
        return super().forward(F.pad(x, (self.before, self.behind) * 2))


def fill(layer: nn.Conv2d | nn.ConvTranspose2d | nn.Linear) -> None:
    """Draw the initial weights of a layer as TensorFlow does: Glorot-uniform, biases of zero."""
    nn.init.xavier_uniform_(layer.weight)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)


def layer_norm(channels: int) -> nn.GroupNorm:
    """Make a norm over positions and channels, with a learned scale and offset for each channel."""
    return nn.GroupNorm(1, channels, eps=1e-12)


class LSTM(nn.Module):
    """Convolutional LSTM cell with 5 x 5 kernels and a forget bias of 1, as in TensorFlow.

    Args:
        inputs: number of channels of the input.
        hidden: number of channels of the states.
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.gates = Conv(inputs + hidden, 4 * hidden, 5)

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Compute the next states.

        Args:
            x: input, (B, inputs, H, W).
            state: hidden state h and cell state c, (B, hidden, H, W) each.

        Returns:
            next h and c, with the same shapes.
        """
        h, c = state
        i, g, f, o = self.gates(torch.cat([x, h], dim=1)).chunk(4, dim=1)
        c = torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class Up(nn.Module):
    """Layer that doubles the resolution, with a 3 x 3 kernel and ReLU.

    Args:
        channels: number of channels of input and output.
        smooth: whether to use linear interpolation, followed by a convolution with mirrored
            borders, in place of a transposed convolution.
    """

    def __init__(self, channels: int, smooth: bool) -> None:
        super().__init__()
        self.smooth = smooth
        self.layer: nn.Conv2d | nn.ConvTranspose2d = (
            nn.Conv2d(channels, channels, 3)
            if smooth
            else nn.ConvTranspose2d(channels, channels, 3, 2, padding=1, output_padding=1)
        )
        fill(self.layer)

    def forward(self, x: Tensor) -> Tensor:
        """Double the resolution: (B, channels, H, W) -> (B, channels, 2 H, 2 W)."""
        if self.smooth:
            x = F.pad(_double_axis(_double_axis(x, 2), 3), (1, 1, 1, 1), mode="reflect")
        return F.relu(self.layer(x))


def _double_axis(x: Tensor, axis: int) -> Tensor:
    """Double an axis by linear interpolation as in TensorFlow 1, repeating the last line."""
    n = x.shape[axis]
    following = torch.cat([x.narrow(axis, 1, n - 1), x.narrow(axis, n - 1, 1)], dim=axis)
    return torch.stack([x, (x + following) / 2], dim=axis + 1).flatten(axis, axis + 1)


def apply_kernels(frame: Tensor, kernels: Tensor) -> Tensor:
    """Convolve every channel of each frame, padded with zeros, with N kernels.

    Args:
        frame: frames, (B, C, H, W).
        kernels: kernels for each frame, (B, N, k, k), k odd.

    Returns:
        convolved frames, (B, N, C, H, W).
    """
    batch, channels = frame.shape[:2]
    n, size = kernels.shape[1:3]
    weights = kernels[:, None].expand(-1, channels, -1, -1, -1).reshape(-1, 1, size, size)
    flat = frame.reshape(1, batch * channels, *frame.shape[2:])
    out = F.conv2d(flat, weights.to(flat.dtype), padding=size // 2, groups=batch * channels)
    return out.reshape(batch, channels, n, *frame.shape[2:]).transpose(1, 2)


class Tower(nn.Module):
    """Recurrent network that predicts the next frame from the last frame and its own memory.

    It has seven convolutional LSTMs, whose states are the memory. CDNA, SV2P and SAVP share it; the
    latter two add a latent variable as an input. It is named after Tensor2Tensor's
    ``construct_predictive_tower``.

    Args:
        shape: (C, H, W) of a frame; padded where sides are not multiples of 8.
        widths: channels of the seven LSTMs; the first number is also that of the convolution before
            them.
        masks: number of kernels, named after Tensor2Tensor's ``num_masks``. The next frame is an
            average of the last frame, a newly generated one, and the last frame convolved with each
            kernel. Their weights at each pixel are called masks.
        kernel: side of a kernel, pixels; odd.
        all_kernels: whether the last kernel is used. True: the average is of ``masks + 2`` frames.
            False, as in the released code: it is of ``masks + 1`` frames; the last kernel is
            computed, but has no influence.
        latent: number of channels of a latent variable that is concatenated to the narrowest layer,
            as in SV2P; 0 for none.
        striped: whether a latent vector is concatenated to every layer as one further channel, as
            in SAVP. Row r of that channel has the value with index r modulo n in the vector, whose
            length is n.
        smooth: whether to double resolutions by linear interpolation and a convolution, in place of
            a transposed convolution (`Up`).
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        widths: Sequence[int],
        masks: int,
        kernel: int,
        *,
        all_kernels: bool = False,
        latent: int = 0,
        striped: bool = False,
        smooth: bool = False,
    ) -> None:
        super().__init__()
        channels, height, width = shape
        self.masks, self.kernel = masks, kernel
        self.mixed = masks if all_kernels else masks - 1
        self.stripe = s = int(striped)
        self.widths = w = list(widths)
        self.sides = -(-height // SHRINK), -(-width // SHRINK)
        self.enter = Conv(channels + s, w[0], 5, 2)
        inputs = [w[0], w[0] + s, w[1] + s, w[2] + s, w[3] + s, w[4] + 2 * s]
        skip = w[5] + s + w[1] + s
        self.lstms = nn.ModuleList(
            LSTM(before, after) for before, after in zip([*inputs, skip + s], w, strict=True)
        )
        self.norms = nn.ModuleList(
            layer_norm(n)
            for n in (w[0], w[0] + s, w[1], w[2] + s, w[3] + s, w[4], w[5] + s, w[6], w[6] + w[0])
        )
        self.halve = nn.ModuleList(
            [Conv(w[1], w[1], 3, 2), Conv(w[3] + s, w[3] + s, 3, 2)],
        )
        self.join = Conv(w[3] + s + latent, w[3] + s, 1)
        self.up = nn.ModuleList(Up(n, smooth) for n in (w[4] + s, skip, w[6] + w[0]))
        self.scratch = Conv(w[6] + w[0] + s, channels, 1)
        self.mask = Conv(w[6] + w[0] + s, 2 + self.mixed, 1)
        size = (w[4] + s) * self.sides[0] * self.sides[1]
        self.kernels = nn.Linear(size, kernel**2 * masks)
        fill(self.kernels)

    def empty(self, frame: Tensor) -> Memory:
        """Make the memory before the first frame: states h and c of zero for each LSTM.

        Args:
            frame: any frame (B, C, H, W); it determines batch size, device and data type.
        """
        height, width = self.sides
        scales = (4, 4, 2, 2, 1, 2, 4)
        zeros = [
            frame.new_zeros(len(frame), n, height * by, width * by)
            for n, by in zip(self.widths, scales, strict=True)
        ]
        return [(z, z) for z in zeros]

    def forward(
        self, frame: Tensor, memory: Memory | None, latent: Tensor | None = None
    ) -> tuple[Tensor, Memory]:
        """Predict the next frame, and update the memory.

        Args:
            frame: latest frame, (B, C, H, W), in 0..1.
            memory: states of the LSTMs; None before the first frame.
            latent: latent variable, (B, latent, H / 8, W / 8), or, if the network was made with
                ``striped``, a latent vector, (B, n); None for networks without either.

        Returns:
            next frame, (B, C, H, W), in 0..1, and next memory.
        """
        parts, masks, states = self.mixture(frame, memory, latent)
        out = (parts * masks[:, :, None]).sum(dim=1)
        return out[..., : frame.shape[-2], : frame.shape[-1]], states

    def mixture(
        self, frame: Tensor, memory: Memory | None, latent: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Memory]:
        """Compute N frames, whose average with masks as weights is the next frame.

        The first is the frame itself, the second a newly generated one, and the others are the
        frame convolved with kernels. The arguments are those of `forward`.

        Returns:
            frames (B, N, C, H', W'), masks (B, N, H', W') and the next memory. H' and W' are H and
            W padded to multiples of 8.
        """
        padded = pad(frame, SHRINK)
        old = memory or self.empty(padded)
        new: Memory = []

        def remember(x: Tensor) -> Tensor:
            new.append(self.lstms[len(new)](x, old[len(new)]))
            return new[-1][0]

        def joined(x: Tensor) -> Tensor:
            return self._append_stripe(x, latent) if self.stripe and latent is not None else x

        norm = self.norms
        first = norm[0](F.relu(self.enter(joined(padded))))
        x = norm[1](joined(remember(first)))
        second = joined(F.relu(self.halve[0](norm[2](remember(x)))))
        x = norm[3](joined(remember(second)))
        x = norm[4](joined(remember(x)))
        x = F.relu(self.halve[1](x))
        if latent is not None and not self.stripe:
            x = torch.cat([x, latent.to(x.dtype)], dim=1)
        narrow = joined(norm[5](remember(F.relu(self.join(x)))))
        x = norm[6](joined(remember(joined(self.up[0](narrow)))))
        x = self.up[1](torch.cat([x, second], dim=1))
        x = norm[7](remember(joined(x)))
        x = self.up[2](torch.cat([x, first], dim=1))
        x = joined(norm[8](x))
        masks = self.mask(x).softmax(dim=1)
        fresh = torch.sigmoid(self.scratch(x))
        kernels = self.normal_kernels(narrow)[:, : self.mixed]
        parts = [padded[:, None], fresh[:, None], apply_kernels(padded, kernels)]
        return torch.cat(parts, dim=1), masks, new

    def normal_kernels(self, narrow: Tensor) -> Tensor:
        """Compute positive kernels with sum 1 from the output of the narrowest layer.

        Args:
            narrow: the output, (B, channels, H / 8, W / 8).

        Returns:
            kernels, (B, masks, k, k) with k the side of a kernel.
        """
        kernels = self.kernels(narrow.flatten(1)).float()
        kernels = F.relu(kernels - LEAST) + LEAST
        kernels = kernels.unflatten(1, (self.masks, self.kernel, self.kernel))
        return kernels / kernels.sum(dim=(2, 3), keepdim=True)

    def _append_stripe(self, x: Tensor, latent: Tensor) -> Tensor:
        rows = torch.arange(x.shape[2], device=x.device) % latent.shape[1]
        stripe = latent[:, rows, None].to(x.dtype).expand(-1, -1, x.shape[3])
        return torch.cat([x, stripe[:, None]], dim=1)


def draw_true_inputs(
    step: int, clips: int, inputs: int, k: float, whole_batch: WholeBatch | None = None
) -> Tensor:
    """Draw which inputs after the context are true frames in training.

    For each input, clips are drawn that get the true frame; all others get the last output of the
    network. The share of the drawn clips is ``k / (k + exp(step / k))``, rounded to whole clips
    (scheduled sampling with inverse sigmoid decay, Bengio et al. 2015; Tensor2Tensor's mode
    "count"). With k = 0 no input is a true frame.

    Args:
        step: training iteration, from 0.
        clips: number of clips that are computed at once.
        inputs: number of inputs after the context.
        k: constant of the decay, in iterations.
        whole_batch: batch to which the clips belong. None: the clips are a whole batch, and torch's
            global generator is used.

    Returns:
        whether the input is the true frame, bool (clips, inputs).
    """
    share = 1 / (1 + math.exp(min(step / k, 700)) / k) if k else 0.0
    if whole_batch is None:
        order = torch.rand(clips, inputs).argsort(dim=0)
        return order < round(clips * share)
    # If each part was rounded separately, small parts would be included entirely or not at all.
    batch, first, seed = whole_batch
    order = torch.rand(batch, inputs, generator=torch.Generator().manual_seed(seed)).argsort(dim=0)
    return order[first : first + clips] < round(batch * share)


class Model(ForecastModel):
    """CDNA: predicts frame by frame, moving the pixels of the last frame by kernels.

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
        sampling_k: constant k of `draw_true_inputs`, which sets how fast the share of true frames
            among the inputs falls in training: below a half after k ln k iterations.

    Raises:
        StpError: an option is out of range.
    """

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
    ) -> None:
        super().__init__(context)
        check_tower(widths, masks, kernel, all_kernels, sampling_k)
        self.sampling_k = sampling_k
        self.tower = self._tower(shape, widths, masks, kernel, all_kernels)

    def _tower(
        self,
        shape: tuple[int, int, int],
        widths: Sequence[int],
        masks: int,
        kernel: int,
        all_kernels: bool,
    ) -> Tower:
        return Tower(shape, widths, masks, kernel, all_kernels=all_kernels)

    def following(self, latent: Tensor | None = None) -> Callable[[Tensor], Tensor]:
        """Make a function that maps a frame to the next frame, (B, C, H, W) each.

        The function remembers the frames that it gets; at first its memory is empty.

        Args:
            latent: latent variable of SV2P, a subclass, which is an input at every frame, (B,
                latent_channels, H / 8, W / 8); None for CDNA, which has none.
        """

        def step(frame: Tensor, memory: Memory | None) -> tuple[Tensor, Memory]:
            outputs: tuple[Tensor, Memory] = self.tower(frame, memory, latent)
            return outputs

        return with_memory(self, step, self.recompute)

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        """Forecast ``horizon`` frames of B clips from T_in context frames.

        (B, T_in, C, H, W) -> (B, horizon, C, H, W).
        """
        context = frames.shape[1]
        return roll(self.following(), frames, context, context + horizon - 1)[:, -horizon:]

    def loss(self, clip: Tensor, step: int) -> Tensor:
        """Mean squared error of the frames after the context.

        Args:
            clip: context and later frames, (B, T_in + T_out, C, H, W).
            step: training iteration, from 0.
        """
        return self._error(clip, step, None)

    def _error(self, clip: Tensor, step: int, latent: Tensor | None) -> Tensor:
        inputs = clip.shape[1] - self.context - 1
        shown = draw_true_inputs(step, len(clip), inputs, self.sampling_k, self.whole_batch)
        shown = shown.to(clip.device)
        outputs = roll(self.following(latent), clip, self.context, clip.shape[1] - 1, shown)
        after = self.context
        return F.mse_loss(outputs[:, after - 1 :].float(), clip[:, after:])


def check_tower(
    widths: object, masks: object, kernel: object, all_kernels: object, sampling_k: object
) -> None:
    """Check the options that CDNA, SV2P and SAVP share: those of the `Tower` and its training.

    Args:
        widths: must be seven whole numbers from 1.
        masks: must be a whole number from 1.
        kernel: must be an odd whole number from 1.
        all_kernels: must be true or false.
        sampling_k: must be a number from 0.

    Raises:
        StpError: an option is out of range.
    """
    ok = isinstance(widths, (list, tuple)) and len(widths) == 7 and all(whole(n, 1) for n in widths)
    require(ok, "options.widths", widths, "seven whole numbers from 1")
    require(whole(masks, 1), "options.masks", masks, "a whole number from 1")
    ok = whole(kernel, 1) and kernel % 2 == 1  # type: ignore[operator]
    require(ok, "options.kernel", kernel, "an odd whole number")
    require(isinstance(all_kernels, bool), "options.all_kernels", all_kernels, "true or false")
    ok = number(sampling_k) and sampling_k >= 0  # type: ignore[operator]
    require(ok, "options.sampling_k", sampling_k, "a number from 0")
