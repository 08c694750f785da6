"""SimVPv1 (inception blocks in a U)."""

import torch
from torch import Tensor, nn

from plain.simvp import Model as SimVP
from plain.simvp import weights

__all__ = ["Model", "weights"]


class Inception(nn.Module):
    def __init__(self, ours: nn.Module) -> None:
        super().__init__()
        self.enter = nn.Conv2d(ours.enter.in_channels, ours.enter.out_channels, 1)
        self.branches = nn.ModuleList()
        for conv, norm, _ in ours.branches:
            size = conv.kernel_size[0]
            made = nn.Conv2d(
                conv.in_channels, conv.out_channels, size, padding=size // 2, groups=conv.groups
            )
            self.branches.append(
                nn.Sequential(
                    made, nn.GroupNorm(norm.num_groups, norm.num_channels), nn.LeakyReLU(0.2)
                )
            )

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        return sum(branch(x) for branch in self.branches)


class Translator(nn.Module):
    def __init__(self, ours: nn.Module) -> None:
        super().__init__()
        self.down = nn.ModuleList(Inception(block) for block in ours.down)
        self.up = nn.ModuleList(Inception(block) for block in ours.up)

    def forward(self, x: Tensor) -> Tensor:
        kept = []
        for block in self.down:
            x = block(x)
            kept.append(x)
        x = self.up[0](x)
        for level, block in enumerate(self.up[1:], start=2):
            x = block(torch.cat([x, kept[-level]], dim=1))
        return x


class Model(SimVP):
    def make_translator(self, ours: nn.Module) -> nn.Module:
        return Translator(ours)
