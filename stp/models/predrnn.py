"""PredRNN (Wang et al. 2017), as benchmarks train it.

As in OpenSTL and PredBench: frames are cut into patches that become channels, no layer
normalisation, scheduled sampling, and one 1x1 convolution as the readout.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from torch import Tensor, nn

from stp.models.recurrent import (
    equal_widths,
    from_patches,
    odd,
    roll,
    sampled_loss,
    to_patches,
)
from stp.models.scheduled_sampling import ScheduledSampling
from stp.models.st_lstm import SpatioTemporalLSTM
from stp.options import build, require, whole


class Model(nn.Module):
    """Predicts frame t + 1 from frame t and what it remembers.

    Args:
        shape: (C, H, W) of a frame; padded where H or W are not multiples of `patch_size`.
        context: number of context frames.
        horizon: number of lead times in training; any other may be asked for later.
        num_hidden: channels of the layers; all alike, as one memory visits them all.
        filter_size: side of the convolutions; odd.
        patch_size: side of the square patches that become channels.
        scheduled_sampling: keys of `ScheduledSampling` that are not left at their defaults.

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
        scheduled_sampling: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        equal_widths("options.num_hidden", num_hidden)
        odd("options.filter_size", filter_size)
        require(whole(patch_size, 1), "options.patch_size", patch_size, "a whole number from 1")
        self.sampling = build(
            ScheduledSampling, scheduled_sampling or {}, "options.scheduled_sampling"
        )
        self.context, self.patch = context, patch_size
        channels = shape[0] * patch_size**2
        self.cells = nn.ModuleList(
            SpatioTemporalLSTM(before, after, filter_size)
            for before, after in pairwise([channels, *num_hidden])
        )
        self.readout = nn.Conv2d(num_hidden[-1], channels, 1, bias=False)

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        """Context (B, T_in, C, H, W) -> forecast (B, horizon, C, H, W)."""
        context = frames.shape[1]
        return roll(self._following(), frames, context, context + horizon - 1)[:, -horizon:]

    def loss(self, clip: Tensor, step: int) -> Tensor:
        """Mean squared error of all predictions, of context frames too.

        Args:
            clip: (B, T_in + T_out, C, H, W).
            step: training iteration, from 0.
        """
        return sampled_loss(self._following(), clip, self.context, self.sampling, step)

    def _following(self) -> Callable[[Tensor], Tensor]:
        """Frame (B, C, H, W) -> the next one, starting without memory."""
        states: list[tuple[Tensor, Tensor]] = []
        memory: Tensor | None = None

        def following(frame: Tensor) -> Tensor:
            nonlocal memory
            x = to_patches(frame, self.patch)
            if memory is None:
                memory = x.new_zeros(x.shape[0], self.readout.in_channels, *x.shape[-2:])
                states.extend([(memory, memory)] * len(self.cells))
            for layer, cell in enumerate(self.cells):
                x, c, memory, _, _ = cell(x, *states[layer], memory)
                states[layer] = x, c
            return from_patches(self.readout(x), self.patch, frame)

        return following
