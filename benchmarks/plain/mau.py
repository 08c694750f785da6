"""MAU, one convolution and layer normalisation for each state and purpose."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plain.recurrent import Recurrent


class Cell(nn.Module):
    def __init__(self, ours: nn.Module) -> None:
        super().__init__()

        def conv(like: nn.Sequential) -> nn.Sequential:
            old, norm = like
            made = nn.Conv2d(
                old.in_channels, old.out_channels, old.kernel_size, padding=old.padding
            )
            return nn.Sequential(made, nn.LayerNorm(norm.normalized_shape))

        self.from_temporal, self.from_spatial = conv(ours.from_temporal), conv(ours.from_spatial)
        self.temporal_gate, self.spatial_key = conv(ours.temporal_gate), conv(ours.spatial_key)

    def forward(
        self, t: Tensor, s: Tensor, past_t: list[Tensor], past_s: list[Tensor]
    ) -> tuple[Tensor, Tensor]:
        key = self.spatial_key(s)
        scale = math.sqrt(key[0].numel())
        alike = torch.stack([(key * p).sum(dim=(1, 2, 3)) / scale for p in past_s])
        shares = torch.softmax(alike, dim=0)[..., None, None, None]
        trend = sum(share * p for share, p in zip(shares, past_t, strict=True))
        gate = torch.sigmoid(self.temporal_gate(t))
        t_gate, t_for_t, t_for_s = self.from_temporal(gate * t + (1 - gate) * trend).chunk(3, 1)
        s_gate, s_for_t, s_for_s = self.from_spatial(s).chunk(3, dim=1)
        t_gate, s_gate = torch.sigmoid(t_gate), torch.sigmoid(s_gate)
        new_t = t_gate * t_for_t + (1 - t_gate) * s_for_t
        return new_t, s_gate * s_for_s + (1 - s_gate) * t_for_s


class Model(Recurrent):
    def __init__(self, ours: nn.Module) -> None:
        super().__init__(ours)
        self.tau, self.scale = ours.tau, ours.scale
        self.cells = nn.ModuleList(Cell(cell) for cell in ours.cells)
        self.encoder, self.decoder = copy.deepcopy(ours.encoder), copy.deepcopy(ours.decoder)
        self.readout = copy.deepcopy(ours.readout)

    def step(self, frame: Tensor, memory: list | None) -> tuple[Tensor, list]:
        side = self.patch * self.scale
        padded = F.pad(frame, (0, -frame.shape[3] % side, 0, -frame.shape[2] % side))
        s = self.encoder(self.patches(padded))
        if memory is None:
            zeros = [torch.zeros_like(s)] * self.tau
            memory = [(zeros, zeros)] * len(self.cells)
        after = []
        for cell, (past_t, past_s) in zip(self.cells, memory, strict=True):
            t, above = cell(past_t[-1], s, past_t, past_s)
            after.append(([*past_t[1:], t], [*past_s[1:], s]))
            s = above
        return self.frame(self.readout(self.decoder(s)), frame), after


def weights(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return state
