"""MAU, the motion-aware unit (Chang et al., NeurIPS 2021), as implemented by PredBench.

A cell averages its last `tau` temporal states, weighted by the similarity of their appearance to
the present one, and fuses this motion with the present motion. Frames are encoded to a smaller grid
and decoded again, without the optional skip connections and residuals of the authors. PredBench's
release cannot run because of a wrongly indented line, which is corrected here.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from stp.core.options import require, whole
from stp.models.padding import pad
from stp.models.recurrent import Recurrent, equal_widths, odd, to_patches
from stp.models.repeated_convolution import RepeatedConv2d

LEAK = 0.2

Memory = list[tuple[list[Tensor], list[Tensor]]]
"""The last tau temporal and spatial states of each layer, the latest last."""


class Cell(nn.Module):
    """One layer with a temporal state T and a spatial state S (Chang et al. 2021, equations 1-6).

    The past temporal states T_i of the last tau steps are averaged, with weights w_i that compare
    the past spatial states S_i with the present one: ``T_att = sum_i w_i T_i`` with
    ``w_i = softmax_i(<S_i, Ws * S> / sqrt(d))``, where d is the number of values of a state. The
    average is mixed with the present state: ``T_aug = u T + (1 - u) T_att`` with
    ``u = sigmoid(Wt * T)``. Finally, gates control an exchange between the two states. Ws and Wt
    are learned convolutions.

    Args:
        hidden: channels of both states.
        filter_size: side of the kernels, pixels; odd.
        height: height of a state.
        width: width of a state.
    """

    def __init__(self, hidden: int, filter_size: int, height: int, width: int) -> None:
        super().__init__()

        def conv(after: int) -> nn.Sequential:
            return nn.Sequential(
                RepeatedConv2d(hidden, after, filter_size, bias=True),
                nn.LayerNorm([after, height, width]),
            )

        self.from_temporal, self.from_spatial = conv(3 * hidden), conv(3 * hidden)
        self.temporal_gate, self.spatial_key = conv(hidden), conv(hidden)

    def forward(
        self, t: Tensor, s: Tensor, past_t: Tensor, past_s: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Compute one time step.

        Args:
            t: temporal state (B, hidden, H, W).
            s: spatial state from the layer below, (B, hidden, H, W).
            past_t: the last temporal states, (tau, B, hidden, H, W).
            past_s: the last spatial states, with the same shape.

        Returns:
            t and s after this step.
        """
        key = self.spatial_key(s)
        alike = torch.einsum("nbchw,bchw->nb", past_s, key) / math.sqrt(key[0].numel())
        trend = torch.einsum("nb,nbchw->bchw", torch.softmax(alike, dim=0), past_t)
        share = torch.sigmoid(self.temporal_gate(t))
        t_gate, t_for_t, t_for_s = self.from_temporal(share * t + (1 - share) * trend).chunk(3, 1)
        s_gate, s_for_t, s_for_s = self.from_spatial(s).chunk(3, dim=1)
        t_gate, s_gate = torch.sigmoid(t_gate), torch.sigmoid(s_gate)
        return (
            t_gate * t_for_t + (1 - t_gate) * s_for_t,
            s_gate * s_for_s + (1 - s_gate) * t_for_s,
        )


class Model(Recurrent):
    """Predicts frame t + 1 from frame t and a memory of earlier frames.

    Args:
        shape: (C, H, W) of a frame; padded where H or W are not multiples of patch and scale.
        context: number of context frames.
        horizon: number of lead times in training; forecasts can have any number.
        num_hidden: number of channels of each layer; all equal, because each layer reads the one
            below.
        filter_size: side of a cell's kernels, pixels; odd.
        patch_size: side of the square patches that become channels, pixels.
        scale: factor by which the encoder divides H and W; a power of 2.
        tau: number of past states that a cell reads; these are zero before the first frame.
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
        patch_size: int = 1,
        scale: int = 4,
        tau: int = 5,
        scheduled_sampling: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(context, patch_size, scheduled_sampling)
        equal_widths("options.num_hidden", num_hidden)
        odd("options.filter_size", filter_size)
        ok = whole(scale, 1) and scale & (scale - 1) == 0
        require(ok, "options.scale", scale, "a power of 2")
        require(whole(tau, 1), "options.tau", tau, "a whole number from 1")
        self.scale, self.tau = scale, tau
        channels, hidden = shape[0] * patch_size**2, num_hidden[0]
        height, width = (-(-side // (patch_size * scale)) for side in shape[1:])
        self.cells = nn.ModuleList(Cell(n, filter_size, height, width) for n in num_hidden)
        halvings = scale.bit_length() - 1
        self.encoder = nn.Sequential(nn.Conv2d(channels, hidden, 1), nn.LeakyReLU(LEAK))
        self.decoder = nn.Sequential()
        for i in range(halvings):
            self.encoder += nn.Sequential(
                nn.Conv2d(hidden, hidden, 3, stride=2, padding=1), nn.LeakyReLU(LEAK)
            )
            self.decoder.append(
                nn.ConvTranspose2d(hidden, hidden, 3, stride=2, padding=1, output_padding=1)
            )
            if i < halvings - 1:  # no activation before the readout
                self.decoder.append(nn.LeakyReLU(LEAK))
        self.readout = nn.Conv2d(hidden, channels, 1)

    def step(self, frame: Tensor, memory: Memory | None) -> tuple[Tensor, Memory]:
        """Predict the next frame.

        Args:
            frame: latest frame, (B, C, H, W).
            memory: the last `tau` temporal states and the last `tau` spatial states of each layer;
                None at first.

        Returns:
            next frame, (B, C, H, W), and the memory with the states of this step.
        """
        whole_cells = pad(frame, self.patch * self.scale)
        s = self.encoder(to_patches(whole_cells, self.patch))
        if memory is None:
            zeros = [torch.zeros_like(s)] * self.tau
            memory = [(zeros, zeros)] * len(self.cells)
        after = []
        for cell, (past_t, past_s) in zip(self.cells, memory, strict=True):
            t, above = cell(past_t[-1], s, torch.stack(past_t), torch.stack(past_s))
            after.append(([*past_t[1:], t], [*past_s[1:], s]))
            s = above
        out = nn.functional.pixel_shuffle(self.readout(self.decoder(s)), self.patch)
        return out[..., : frame.shape[-2], : frame.shape[-1]], after
