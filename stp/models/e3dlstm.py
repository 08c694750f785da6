"""E3D-LSTM (Wang et al., ICLR 2019), as implemented by benchmarks.

Every state is a short film of `window` frames, every gate reads the whole film, and a cell recalls
its own past states by attention. As in OpenSTL and PredBench, patches become channels, only the
recalled memory has a layer normalisation, training uses scheduled sampling, and the whole past is
recalled. Tokens of the attention are positions, as in the authors' channels-last code. Ports to
PyTorch reshape channels-first arrays in the same way, which mixes channels with positions.
PredBench's published values come from such a port, which the option ``attention: released``
reproduces.

A convolution with a kernel as deep as the film results in one frame, which the ports repeat to fill
the film. This implementation broadcasts the frame, which halves the work and gives the same
numbers.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stp.core.options import number, require, whole
from stp.models.recurrent import Recurrent, equal_widths, from_patches, odd, to_patches
from stp.models.repeated_convolution import RepeatedConv2d
from stp.models.st_lstm import FORGET_BIAS


class Eidetic3DLSTM(nn.Module):
    """One layer, with a memory c of its own, and a memory m shared by all layers.

    Inputs and states are films: arrays with an axis of `window` times, along which kernels are as
    long as the film. At each step, the layer recalls its memory c: it reads all earlier values of c
    by attention.

    The input is x, the hidden state is h. Gates of the own memory are computed from x and h, and
    ``c' = norm(c + attention(past c)) + gate * new``. Gates of the shared memory are computed from
    x and m, and ``m' = gate * tanh(W * m) + gate * new``. The output is
    ``h' = o * tanh(W1 * [c', m'])``, with a gate o computed from x, h, c' and m' (Wang et al. 2019,
    equations 1 and 2; m' as in OpenSTL).

    Args:
        channels: channels of an input frame.
        hidden: channels of all states.
        filter_size: side of the kernels, pixels; odd. Convolutions have no biases.
        window: number of times in a film.
        height: height of a state.
        width: width of a state.
        attention: how films are cut into the tokens of the attention: ``positions`` or
            ``released``, see `tokens`.
    """

    def __init__(
        self,
        channels: int,
        hidden: int,
        filter_size: int,
        window: int,
        height: int,
        width: int,
        attention: str = "positions",
    ) -> None:
        super().__init__()
        self.hidden, self.attention = hidden, attention

        def conv(before: int, after: int) -> nn.Conv2d:
            # As deep as the film: its frames are channels.
            return RepeatedConv2d(window * before, after, filter_size)

        self.from_input = conv(channels, 7 * hidden)
        self.from_hidden = conv(hidden, 4 * hidden)
        self.from_memory = conv(hidden, 4 * hidden)
        self.gate_of_cell = conv(hidden, hidden)
        self.gate_of_memory = conv(hidden, hidden)
        self.to_hidden = nn.Conv3d(2 * hidden, hidden, 1, bias=False)
        self.norm = nn.LayerNorm([hidden, window, height, width])

    def forward(
        self, x: Tensor, h: Tensor, c: Tensor, m: Tensor, past: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Compute one time step.

        Args:
            x: input film (B, channels, window, H, W): the last `window` frames, or h of the layer
                below.
            h: hidden state (B, hidden, window, H, W).
            c: own memory, with the same shape.
            m: shared memory from the layer below, with the same shape.
            past: all earlier values of the own memory, as N tokens (see `tokens`), (B, N, hidden).

        Returns:
            h, c and m after this step.
        """
        # A single frame for all times: pieces (B, 1, H, W) are broadcast along time.
        ih, gh, rh, oh = _pieces(self.from_hidden, h, 4)
        ix, gx, rx, ox, ixm, gxm, fxm = _pieces(self.from_input, x, 7)
        query = torch.sigmoid(rx + rh)
        if self.attention == "released":  # tokens are cut across frames, even equal ones
            query = query.expand_as(c)
        recalled = _recall(query, past, self.attention)
        c = self.norm(c + recalled) + torch.sigmoid(ix + ih) * torch.tanh(gx + gh)

        im, fm, gm, mm = _pieces(self.from_memory, m, 4)
        kept = torch.sigmoid(fxm + fm + FORGET_BIAS) * torch.tanh(mm)
        m = (kept + torch.sigmoid(ixm + im) * torch.tanh(gxm + gm)).expand_as(c)

        (of_cell,), (of_memory,) = (
            _pieces(conv, state, 1)
            for conv, state in ((self.gate_of_cell, c), (self.gate_of_memory, m))
        )
        gate = torch.sigmoid(torch.tanh(ox + oh + of_cell + of_memory))
        return gate * torch.tanh(self.to_hidden(torch.cat([c, m], dim=1))), c, m


def _pieces(conv: nn.Conv2d, film: Tensor, count: int) -> tuple[Tensor, ...]:
    """Convolve a film (B, C, window, H, W) to `count` tensors (B, hidden, 1, H, W)."""
    return conv(film.flatten(1, 2)).unsqueeze(2).chunk(count, dim=1)


def tokens(film: Tensor, attention: str = "positions") -> Tensor:
    """Make the tokens of the attention: (B, C, window, H, W) -> (B, window * H * W, C).

    Args:
        film: memory or query: an array with an axis of `window` times, (B, C, window, H, W).
        attention: ``positions``: token n contains all channels at position n, in the order of
            window, H, W. ``released``: token n contains C consecutive values from n * C on, in the
            order of C, window, H, W; these are mostly one channel at C neighbouring positions.
    """
    if attention == "released":
        return film.reshape(len(film), -1, film.shape[1])
    return film.flatten(2).transpose(1, 2).contiguous()


def _recall(query: Tensor, past: Tensor, attention: str = "positions") -> Tensor:
    """Softmax attention without scaling of a query (B, C, frames, H, W) to the past (B, N, C).

    Inputs get an axis for one head, and tokens are made contiguous, because torch would otherwise
    store the matrix of all pairs of tokens.
    """
    queries, past = tokens(query, attention).unsqueeze(1), past.unsqueeze(1)
    recalled = F.scaled_dot_product_attention(queries, past, past, scale=1.0).squeeze(1)
    if attention == "released":
        return recalled.reshape(query.shape)
    return recalled.transpose(1, 2).reshape(query.shape)


class Memory(NamedTuple):
    """Memory of the network between steps.

    Attributes:
        frames: the last frames, as patches, (B, channels, H, W) each.
        states: hidden state and own memory of each layer, (B, hidden, window, H, W) each.
        past: for each layer, all earlier values of its own memory, as tokens (B, N, hidden).
        shared: memory shared by all layers, (B, hidden, window, H, W).
    """

    frames: list[Tensor]
    states: list[tuple[Tensor, Tensor]]
    past: list[Tensor]
    shared: Tensor


class Model(Recurrent):
    """Predicts frame t + 1 from the last frames and a memory.

    Each layer recalls its memory: it reads all earlier values by attention.

    Args:
        shape: (C, H, W) of a frame; padded where H or W are not multiples of `patch_size`.
        context: number of context frames.
        horizon: number of lead times in training; forecasts can have any number.
        num_hidden: number of channels of each layer; all equal, because the layers share a memory.
        filter_size: side of the kernels, pixels; odd.
        patch_size: side of the square patches that become channels, pixels.
        window: number of the last frames that are the input of a step; those before the first frame
            are zero. All states have an axis of this length, too.
        l1_weight: weight of the mean absolute error, which is added to the mean squared error.
        attention: how memories are cut into the tokens of the attention. ``positions``: a token has
            the channels at one position. ``released``: as in OpenSTL and PredBench, where reshaping
            mixes channels with positions (`tokens`); the attention then needs `window` times as
            many multiply-adds, with the same parameters.
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
        num_hidden: Sequence[int] = (64, 64, 64, 64),
        filter_size: int = 5,
        patch_size: int = 4,
        window: int = 2,
        l1_weight: float = 0.0,
        attention: str = "positions",
        scheduled_sampling: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(context, patch_size, scheduled_sampling)
        equal_widths("options.num_hidden", num_hidden)
        odd("options.filter_size", filter_size)
        require(whole(window, 1), "options.window", window, "a whole number from 1")
        require(number(l1_weight) and l1_weight >= 0, "options.l1_weight", l1_weight, "0 or more")
        ok = attention in ("positions", "released")
        require(ok, "options.attention", attention, "positions or released")
        self.window, self.l1_weight, self.attention = window, l1_weight, attention
        channels = shape[0] * patch_size**2
        height, width = (-(-side // patch_size) for side in shape[1:])
        self.cells = nn.ModuleList(
            Eidetic3DLSTM(before, after, filter_size, window, height, width, attention)
            for before, after in pairwise([channels, *num_hidden])
        )
        self.readout = nn.Conv2d(window * num_hidden[-1], channels, 1, bias=False)

    def loss(self, clip: Tensor, step: int) -> Tensor:
        """Mean squared plus weighted mean absolute error of all predictions, context included.

        With a weight of 1 this is the authors' loss, and that of PredBench's appendix D (L2 + L1).

        Args:
            clip: context and later frames, (B, T_in + T_out, C, H, W).
            step: training iteration, from 0.
        """
        outputs, observed = self.outputs(clip, step)
        return F.mse_loss(outputs, observed) + self.l1_weight * F.l1_loss(outputs, observed)

    def step(self, frame: Tensor, memory: Memory | None) -> tuple[Tensor, Memory]:
        """Frame (B, C, H, W) and memory (None at first) -> next frame and memory."""
        latest = to_patches(frame, self.patch)
        if memory is None:
            hidden = self.readout.in_channels // self.window
            m = latest.new_zeros(latest.shape[0], hidden, self.window, *latest.shape[-2:])
            window = [torch.zeros_like(latest)] * (self.window - 1)
            before = [(m, m)] * len(self.cells)
            past = [tokens(m, self.attention)] * len(self.cells)
        else:
            window, before, past, m = memory
            past = [
                torch.cat([recalled, tokens(c, self.attention)], dim=1)
                for recalled, (_, c) in zip(past, before, strict=True)
            ]
        window = [*window, latest][-self.window :]
        x, states = torch.stack(window, dim=2), []
        for cell, (h, c), recalled in zip(self.cells, before, past, strict=True):
            x, c, m = cell(x, h, c, m, recalled)
            states.append((x, c))
        out = from_patches(self.readout(x.flatten(1, 2)), self.patch, frame)
        return out, Memory(window, states, past, m)
