"""Spatio-temporal LSTM of PredRNN (Wang et al. 2017, equation 4; v2: arXiv 2103.09504)."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from stp.models.repeated_convolution import RepeatedConv2d

FORGET_BIAS = 1.0
"""Added to the forget gates before the sigmoid, so that a new network remembers."""


Memory = tuple[list[tuple[Tensor, Tensor]], Tensor]
"""Hidden state and temporal memory of each layer, and the memory that visits all of them."""


def no_memory(x: Tensor, hidden: int, layers: int) -> Memory:
    """Make the initial memory of a PredRNN: zeros, as before the first frame.

    Args:
        x: any input (B, C, H, W); it determines the shape of states.
        hidden: number of channels of all states.
        layers: number of layers.

    Returns:
        hidden state and own memory of each layer, and the memory that all layers share.
    """
    zeros = x.new_zeros(x.shape[0], hidden, *x.shape[-2:])
    return [(zeros, zeros)] * layers, zeros


class Step(NamedTuple):
    """Results of one step of a cell, (B, hidden, H, W) each.

    Attributes:
        h: hidden state.
        c: temporal memory of this layer.
        m: spatio-temporal memory, passed on to the next layer.
        new_c: update that was added to c.
        new_m: update that was added to m.
    """

    h: Tensor
    c: Tensor
    m: Tensor
    new_c: Tensor
    new_m: Tensor


class SpatioTemporalLSTM(nn.Module):
    """One layer with two memories: its own, c, and one that is passed through all layers, m.

    With an input x, a hidden state h and learned convolutions W, the next states are (gates i, f
    and o pass through a sigmoid, updates g through tanh):
    ``i, f, g = Wx * x + Wh * h``; ``c' = f c + i g``;
    ``i', f', g' = W'x * x + Wm * m``; ``m' = f' m + i' g'``;
    ``o = sigmoid(Wxo * x + Who * h + Wo * [c', m'])``; ``h' = o tanh(W1x1 * [c', m'])``.

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
        self.from_memory = conv(hidden, 3 * hidden)
        self.to_gate = conv(2 * hidden, hidden)
        self.to_hidden = nn.Conv2d(2 * hidden, hidden, 1, bias=False)

    def forward(self, x: Tensor, h: Tensor, c: Tensor, m: Tensor) -> Step:
        """Compute one time step.

        Args:
            x: input, (B, channels, H, W).
            h: hidden state, (B, hidden, H, W).
            c: own memory of the layer, with the same shape.
            m: shared memory from the layer below, with the same shape.

        Returns:
            states after this step, and the updates of both memories.
        """
        of_x = self.from_input(x)
        of_c, of_m, of_o = of_x.split([3 * self.hidden, 3 * self.hidden, self.hidden], dim=1)
        of_h, of_ho = self.from_hidden(h).split([3 * self.hidden, self.hidden], dim=1)
        c, new_c = _update(of_c + of_h, c)
        m, new_m = _update(of_m + self.from_memory(m), m)
        memories = torch.cat([c, m], dim=1)
        gate = torch.sigmoid(of_o + of_ho + self.to_gate(memories))
        return Step(gate * torch.tanh(self.to_hidden(memories)), c, m, new_c, new_m)


def _update(gates: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    i, f, g = gates.chunk(3, dim=1)
    new = torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(f + FORGET_BIAS) * memory + new, new
