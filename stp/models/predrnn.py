"""PredRNN (Wang et al. 2017), as implemented by benchmarks.

As in OpenSTL and PredBench, frames are cut into patches that become channels, there is no layer
normalisation, training uses scheduled sampling, and the readout is a 1x1 convolution.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from torch import Tensor, nn

from stp.models.recurrent import Recurrent, equal_widths, from_patches, odd, to_patches
from stp.models.st_lstm import Memory, SpatioTemporalLSTM, no_memory


class Model(Recurrent):
    """Predicts frame t + 1 from frame t and a memory of earlier frames.

    Args:
        shape: (C, H, W) of a frame; padded where H or W are not multiples of `patch_size`.
        context: number of context frames.
        horizon: number of lead times in training; forecasts can have any number.
        num_hidden: number of channels of each layer; all equal, because the layers share a memory.
        filter_size: side of the kernels, pixels; odd.
        patch_size: side of the square patches that become channels, pixels.
        scheduled_sampling: options of `ScheduledSampling`, by name; others have their defaults.

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
        super().__init__(context, patch_size, scheduled_sampling)
        equal_widths("options.num_hidden", num_hidden)
        odd("options.filter_size", filter_size)
        channels = shape[0] * patch_size**2
        self.cells = nn.ModuleList(
            SpatioTemporalLSTM(before, after, filter_size)
            for before, after in pairwise([channels, *num_hidden])
        )
        self.readout = nn.Conv2d(num_hidden[-1], channels, 1, bias=False)

    def step(self, frame: Tensor, memory: Memory | None) -> tuple[Tensor, Memory]:
        """Predict the next frame.

        Args:
            frame: latest frame, (B, C, H, W).
            memory: hidden state and own memory of each layer, and the memory that they share; None
                at first.

        Returns:
            next frame, (B, C, H, W), and next memory.
        """
        x = to_patches(frame, self.patch)
        before, m = memory or no_memory(x, self.readout.in_channels, len(self.cells))
        states = []
        for cell, (h, c) in zip(self.cells, before, strict=True):
            x, c, m, _, _ = cell(x, h, c, m)
            states.append((x, c))
        return from_patches(self.readout(x), self.patch, frame), (states, m)
