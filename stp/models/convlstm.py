"""ConvLSTM (Shi et al. 2015, https://arxiv.org/abs/1506.04214), as implemented by benchmarks.

As in OpenSTL and PredBench, it differs from the paper: there are no peepholes and no biases; frames
are cut into patches that become channels; one stack predicts the next frame, and reads its own
output after the context, in place of an encoder and a forecaster; training uses scheduled sampling.
The hidden state is o * tanh(c), as in the paper; PredBench's release omits the cell state there.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from stp.core.options import require, whole
from stp.models.recurrent import Recurrent, from_patches, odd, to_patches
from stp.models.repeated_convolution import RepeatedConv2d

State = tuple[Tensor, Tensor]
"""Hidden and cell state of a layer, each (B, hidden, H, W)."""


class Cell(nn.Module):
    """One ConvLSTM layer, with a hidden state h and a cell state c.

    With an input x and learned convolutions Wx and Wh, the next states h' and c' are:
    ``i, f, g, o = Wx * x + Wh * h``; ``c' = sigmoid(f) c + sigmoid(i) tanh(g)``;
    ``h' = sigmoid(o) tanh(c')`` (Shi et al. 2015, equation 3 without peepholes and biases).
    """

    def __init__(self, channels: int, hidden: int, filter_size: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.from_input = RepeatedConv2d(channels, 4 * hidden, filter_size)
        self.from_hidden = RepeatedConv2d(hidden, 4 * hidden, filter_size)

    def forward(self, x: Tensor, state: State | None) -> State:
        """Compute one time step.

        Args:
            x: input (B, channels, H, W).
            state: states after the previous step; None for zeros.

        Returns:
            states after this step.
        """
        if state is None:
            zeros = x.new_zeros(x.shape[0], self.hidden, *x.shape[-2:])
            state = zeros, zeros
        h, c = state
        i, f, g, o = (self.from_input(x) + self.from_hidden(h)).chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class Model(Recurrent):
    """Predicts frame t + 1 from frame t and a memory of earlier frames.

    Args:
        shape: (C, H, W) of a frame; padded where H or W are not multiples of `patch_size`.
        context: number of context frames.
        horizon: number of lead times in training; forecasts can have any number.
        num_hidden: number of channels of each layer.
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
        ok = isinstance(num_hidden, (list, tuple)) and all(whole(n, 1) for n in num_hidden)
        ok = ok and len(num_hidden) > 0
        require(ok, "options.num_hidden", num_hidden, "a list of whole numbers from 1")
        odd("options.filter_size", filter_size)
        channels = shape[0] * patch_size**2
        self.cells = nn.ModuleList(
            Cell(before, after, filter_size) for before, after in pairwise([channels, *num_hidden])
        )
        self.readout = nn.Conv2d(num_hidden[-1], channels, 1, bias=False)

    def step(self, frame: Tensor, memory: list[State] | None) -> tuple[Tensor, list[State]]:
        """Frame (B, C, H, W) and states h and c of each layer (None at first) -> next ones."""
        x, states = to_patches(frame, self.patch), []
        for layer, cell in enumerate(self.cells):
            states.append(cell(x, None if memory is None else memory[layer]))
            x = states[-1][0]
        return from_patches(self.readout(x), self.patch, frame), states
