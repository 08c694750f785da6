"""PredRNNv2 (Wang et al. 2021, https://arxiv.org/abs/2103.09504), as implemented by benchmarks.

This is PredRNN with a loss that decouples the two memories of each layer, and with reverse
scheduled sampling. As in OpenSTL and PredBench, patches become channels, and there is no layer
normalisation.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stp.core.options import build, require, whole
from stp.models.model import ForecastModel
from stp.models.recurrent import equal_widths, from_patches, odd, roll, to_patches, with_memory
from stp.models.reverse_scheduled_sampling import ReverseScheduledSampling
from stp.models.st_lstm import Memory, SpatioTemporalLSTM, no_memory


class Model(ForecastModel):
    """Predicts frame t + 1 from frame t and a memory of earlier frames.

    Args:
        shape: (C, H, W) of a frame; padded where H or W are not multiples of `patch_size`.
        context: number of context frames.
        horizon: number of lead times in training; forecasts can have any number.
        num_hidden: number of channels of each layer; all equal, because the layers share a memory.
        filter_size: side of the kernels, pixels; odd.
        patch_size: side of the square patches that become channels, pixels.
        decouple_beta: weight of the decoupling loss.
        scheduled_sampling: options of `ReverseScheduledSampling`, by name; others have their
            defaults.

    Raises:
        StpError: an option is out of range.
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        context: int,
        horizon: int,
        *,
        num_hidden: Sequence[int] = (128, 128, 128, 128),
        filter_size: int = 5,
        patch_size: int = 4,
        decouple_beta: float = 0.01,
        scheduled_sampling: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(context)
        equal_widths("options.num_hidden", num_hidden)
        odd("options.filter_size", filter_size)
        require(whole(patch_size, 1), "options.patch_size", patch_size, "a whole number from 1")
        ok = isinstance(decouple_beta, (int, float)) and decouple_beta >= 0
        require(ok, "options.decouple_beta", decouple_beta, "a number from 0")
        self.sampling = build(
            ReverseScheduledSampling, scheduled_sampling or {}, "options.scheduled_sampling"
        )
        self.patch, self.decouple_beta = patch_size, decouple_beta
        channels = shape[0] * patch_size**2
        self.cells = nn.ModuleList(
            SpatioTemporalLSTM(before, after, filter_size)
            for before, after in pairwise([channels, *num_hidden])
        )
        self.readout = nn.Conv2d(num_hidden[-1], channels, 1, bias=False)
        self.adapter = nn.Conv2d(num_hidden[0], num_hidden[0], 1, bias=False)

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        """Forecast ``horizon`` frames of B clips from T_in context frames.

        (B, T_in, C, H, W) -> (B, horizon, C, H, W).
        """
        context = frames.shape[1]
        return roll(self.following(), frames, context, context + horizon - 1)[:, -horizon:]

    def loss(self, clip: Tensor, step: int) -> Tensor:
        """Mean squared error of all predictions, plus the decoupling loss.

        Args:
            clip: context and later frames, (B, T_in + T_out, C, H, W).
            step: training iteration, from 0.
        """
        alike: list[Tensor] = []
        error = F.mse_loss(*self.outputs(clip, step, alike))
        return error + self.decouple_beta * torch.stack(alike).mean()

    def outputs(
        self, clip: Tensor, step: int, alike: list[Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Predict, in training mode, all frames except the first, and return them with the truth.

        Args:
            clip: context and later frames, (B, T_in + T_out, C, H, W).
            step: training iteration, from 0.
            alike: list to which similarities for the decoupling loss are appended, see
                `following`; None to not compute them.

        Returns:
            predicted and observed frames, (B, T_in + T_out - 1, C, H, W) each.
        """
        batch, length = clip.shape[:2]
        # The first frame is always shown, the last one never read.
        shown = self.sampling.draw(step, batch, self.context - 1, length - 1 - self.context)
        outputs = roll(self.following(alike), clip, 1, length - 1, shown.to(clip.device))
        return outputs.float(), clip[:, 1:]

    def following(self, alike: list[Tensor] | None = None) -> Callable[[Tensor], Tensor]:
        """Make a function that maps a frame to the next frame, (B, C, H, W) each.

        The function remembers the frames that it gets; at first its memory is empty.

        Args:
            alike: list to which the function appends, for each layer and step, the similarity of
                the updates of the two memories; None to not compute it.
        """
        step = partial(self._step, compare=alike is not None)
        following = with_memory(self, step, self.recompute)

        def next_frame(frame: Tensor) -> Tensor:
            output: Tensor
            output, similar = following(frame)
            if alike is not None:
                alike.extend(similar)
            return output

        return next_frame

    def _step(
        self, frame: Tensor, memory: Memory | None, *, compare: bool
    ) -> tuple[tuple[Tensor, list[Tensor]], Memory]:
        """Frame and memory -> next frame and memory, with similarities if `compare`."""
        x = to_patches(frame, self.patch)
        before, m = memory or no_memory(x, self.readout.in_channels, len(self.cells))
        states, similar = [], []
        for cell, (h, c) in zip(self.cells, before, strict=True):
            x, c, m, new_c, new_m = cell(x, h, c, m)
            states.append((x, c))
            if compare:
                similar.append(self._similarity(new_c, new_m))
        return (from_patches(self.readout(x), self.patch, frame), similar), (states, m)

    def _similarity(self, new_c: Tensor, new_m: Tensor) -> Tensor:
        """Mean over channels of the absolute cosine of `new_c` and `new_m` (equation 7)."""
        c, m = (self.adapter(new).flatten(2).float() for new in (new_c, new_m))
        return F.cosine_similarity(c, m, dim=2).abs().mean()
