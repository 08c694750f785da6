"""PredRNN++ (Wang et al. 2018, https://arxiv.org/abs/1804.06300), as implemented by benchmarks.

It has causal LSTM cells, in which the spatial memory depends on the new temporal memory, and a
gradient highway between the first two layers. As in OpenSTL and PredBench, patches become channels,
there are no layer normalisations and no biases, and training uses scheduled sampling. PredBench's
release reads the spatial memory in place of the temporal one at one point; here the temporal memory
is read, as in the paper's equation 1.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from stp.models.recurrent import Recurrent, equal_widths, from_patches, odd, to_patches
from stp.models.repeated_convolution import RepeatedConv2d
from stp.models.st_lstm import FORGET_BIAS, Memory, no_memory


class CausalLSTM(nn.Module):
    """One layer: updates the temporal memory c, the spatial memory m, then the hidden state h.

    Args:
        channels: channels of the input.
        hidden: channels of all states.
        filter_size: side of the kernels, pixels; odd. Convolutions have no biases.
    """

    def __init__(self, channels: int, hidden: int, filter_size: int) -> None:
        super().__init__()
        self.hidden = hidden

        def conv(before: int, after: int) -> RepeatedConv2d:
            return RepeatedConv2d(before, after, filter_size)

        self.from_input = conv(channels, 7 * hidden)
        self.from_hidden = conv(hidden, 4 * hidden)
        self.from_temporal = conv(hidden, 3 * hidden)
        self.from_spatial = conv(hidden, 3 * hidden)
        self.from_new_temporal = conv(hidden, 4 * hidden)
        self.from_new_spatial = conv(hidden, hidden)
        self.to_hidden = nn.Conv2d(2 * hidden, hidden, 1, bias=False)

    def forward(self, x: Tensor, h: Tensor, c: Tensor, m: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Compute one time step (equation 1 of the paper on PredRNN++).

        Args:
            x: input, (B, channels, H, W).
            h: hidden state, (B, hidden, H, W).
            c: temporal memory, with the same shape.
            m: spatial memory from the layer below, with the same shape.

        Returns:
            h, c and m after this step.
        """
        three = 3 * self.hidden
        of_c, of_m, of_o = self.from_input(x).split([three, three, self.hidden], dim=1)
        of_h, of_ho = self.from_hidden(h).split([three, self.hidden], dim=1)
        i, f, g = (of_c + of_h + self.from_temporal(c)).chunk(3, dim=1)
        c = torch.sigmoid(f + FORGET_BIAS) * c + torch.sigmoid(i) * torch.tanh(g)

        ix, fx, gx = of_m.chunk(3, dim=1)
        im, fm, mm = self.from_spatial(m).chunk(3, dim=1)
        ic, gc, fc, oc = self.from_new_temporal(c).chunk(4, dim=1)
        kept = torch.sigmoid(fx + fm + fc + FORGET_BIAS) * torch.tanh(mm)
        m = kept + torch.sigmoid(ix + im + ic) * torch.tanh(gx + gc)

        gate = torch.tanh(of_o + of_ho + oc + self.from_new_spatial(m))
        return gate * torch.tanh(self.to_hidden(torch.cat([c, m], dim=1))), c, m


class GradientHighway(nn.Module):
    """Recurrent layer with one state z, a learned average of its input and its last state.

    With an input x and learned convolutions Wx and Wz, the next state is
    ``z' = sigmoid(s) tanh(p) + (1 - sigmoid(s)) z``, where ``p, s = Wx * x + Wz * z`` (equation 2
    of the paper on PredRNN++, Wang et al. 2018).

    Args:
        hidden: channels of input and state.
        filter_size: side of the kernels, pixels; odd.
    """

    SMALL = 0.001  # weights begin within these bounds, as the authors' do

    def __init__(self, hidden: int, filter_size: int) -> None:
        super().__init__()
        self.from_input, self.from_state = (
            RepeatedConv2d(hidden, 2 * hidden, filter_size) for _ in range(2)
        )
        for conv in (self.from_input, self.from_state):
            nn.init.uniform_(conv.weight, -self.SMALL, self.SMALL)

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        """Compute one time step: input x and state z, (B, hidden, H, W) each -> next z."""
        p, s = (self.from_input(x) + self.from_state(z)).chunk(2, dim=1)
        share = torch.sigmoid(s)
        return share * torch.tanh(p) + (1 - share) * z


class Model(Recurrent):
    """Predicts frame t + 1 from frame t and a memory of earlier frames.

    Args:
        shape: (C, H, W) of a frame; padded where H or W are not multiples of `patch_size`.
        context: number of context frames.
        horizon: number of lead times in training; forecasts can have any number.
        num_hidden: number of channels of each of at least two layers; all equal, because the layers
            share a memory.
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
        equal_widths("options.num_hidden", num_hidden, least=2)
        odd("options.filter_size", filter_size)
        channels = shape[0] * patch_size**2
        self.cells = nn.ModuleList(
            CausalLSTM(before, after, filter_size)
            for before, after in pairwise([channels, *num_hidden])
        )
        self.highway = GradientHighway(num_hidden[0], filter_size)
        self.readout = nn.Conv2d(num_hidden[-1], channels, 1, bias=False)

    def step(
        self, frame: Tensor, memory: tuple[Memory, Tensor] | None
    ) -> tuple[Tensor, tuple[Memory, Tensor]]:
        """Predict the next frame from the latest one and the memory of earlier ones.

        Args:
            frame: latest frame, (B, C, H, W).
            memory: the memory of the layers (hidden state and own memory of each, and the memory
                that they share), and the state of the gradient highway; None at first.

        Returns:
            next frame, (B, C, H, W), and next memory.
        """
        x = to_patches(frame, self.patch)
        if memory is None:
            nothing = no_memory(x, self.readout.in_channels, len(self.cells))
            memory = nothing, nothing[1]
        (before, m), highway = memory
        states = []
        for layer, (cell, (h, c)) in enumerate(zip(self.cells, before, strict=True)):
            x, c, m = cell(x, h, c, m)
            states.append((x, c))
            if layer == 0:
                x = highway = self.highway(x, highway)
        return from_patches(self.readout(x), self.patch, frame), ((states, m), highway)
