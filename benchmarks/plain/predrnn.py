"""PredRNN, one convolution per gate."""

import torch
from torch import Tensor, nn

from plain.recurrent import Recurrent, conv, rest, split

OF_X, OF_H, OF_M = "i f g im fm gm o", "i f g o", "im fm gm"


class Cell(nn.Module):
    def __init__(self, channels: int, hidden: int, size: int) -> None:
        super().__init__()
        self.x = nn.ModuleDict({gate: conv(channels, hidden, size) for gate in OF_X.split()})
        self.h = nn.ModuleDict({gate: conv(hidden, hidden, size) for gate in OF_H.split()})
        self.m = nn.ModuleDict({gate: conv(hidden, hidden, size) for gate in OF_M.split()})
        self.to_gate = conv(2 * hidden, hidden, size)
        self.to_hidden = conv(2 * hidden, hidden, 1)

    def forward(self, x: Tensor, h: Tensor, c: Tensor, m: Tensor) -> tuple[Tensor, ...]:
        i = torch.sigmoid(self.x["i"](x) + self.h["i"](h))
        f = torch.sigmoid(self.x["f"](x) + self.h["f"](h) + 1)
        g = torch.tanh(self.x["g"](x) + self.h["g"](h))
        new_c = i * g
        c = f * c + new_c
        i = torch.sigmoid(self.x["im"](x) + self.m["im"](m))
        f = torch.sigmoid(self.x["fm"](x) + self.m["fm"](m) + 1)
        g = torch.tanh(self.x["gm"](x) + self.m["gm"](m))
        new_m = i * g
        m = f * m + new_m
        both = torch.cat([c, m], dim=1)
        o = torch.sigmoid(self.x["o"](x) + self.h["o"](h) + self.to_gate(both))
        return o * torch.tanh(self.to_hidden(both)), c, m, new_c, new_m


class Model(Recurrent):
    def __init__(self, ours: nn.Module) -> None:
        super().__init__(ours)
        self.hidden = ours.readout.in_channels
        size = ours.cells[0].from_input.kernel_size[0]
        self.cells = nn.ModuleList(
            Cell(cell.from_input.in_channels, self.hidden, size) for cell in ours.cells
        )
        self.readout = conv(self.hidden, ours.readout.out_channels, 1)

    def step(self, frame: Tensor, memory: tuple | None) -> tuple[Tensor, tuple]:
        x = self.patches(frame)
        if memory is None:
            zeros = x.new_zeros(len(x), self.hidden, *x.shape[2:])
            memory = [(zeros, zeros)] * len(self.cells), zeros
        states, m = memory
        after = []
        for cell, (h, c) in zip(self.cells, states, strict=True):
            x, c, m, new_c, new_m = cell(x, h, c, m)
            after.append((x, c))
            self.added(new_c, new_m)
        return self.frame(self.readout(x), frame), (after, m)

    def added(self, new_c: Tensor, new_m: Tensor) -> None:
        """What a cell has added to its memories; nothing is done with it here."""


def weights(state: dict[str, Tensor]) -> dict[str, Tensor]:
    made = rest(state, "readout", "adapter")
    parts = {"from_input": (OF_X, "x"), "from_hidden": (OF_H, "h"), "from_memory": (OF_M, "m")}
    for name, value in state.items():
        if name.startswith("cells"):
            cell, part = name.rsplit(".", 2)[:2]
            if part in parts:
                gates, source = parts[part]
                made |= split(value, gates, f"{cell}.{source}")
            else:
                made[name] = value
    return made
