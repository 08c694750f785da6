"""ConvLSTM, one convolution per gate."""

import torch
from torch import Tensor, nn

from plain.recurrent import Recurrent, conv, rest, split

GATES = "i f g o"


class Cell(nn.Module):
    def __init__(self, channels: int, hidden: int, size: int) -> None:
        super().__init__()
        self.x = nn.ModuleDict({gate: conv(channels, hidden, size) for gate in GATES.split()})
        self.h = nn.ModuleDict({gate: conv(hidden, hidden, size) for gate in GATES.split()})

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        i = torch.sigmoid(self.x["i"](x) + self.h["i"](h))
        f = torch.sigmoid(self.x["f"](x) + self.h["f"](h))
        g = torch.tanh(self.x["g"](x) + self.h["g"](h))
        c = f * c + i * g
        o = torch.sigmoid(self.x["o"](x) + self.h["o"](h))
        return o * torch.tanh(c), c


class Model(Recurrent):
    def __init__(self, ours: nn.Module) -> None:
        super().__init__(ours)
        convs = [cell.from_input for cell in ours.cells]
        self.widths = [c.out_channels // 4 for c in convs]
        self.cells = nn.ModuleList(
            Cell(c.in_channels, c.out_channels // 4, c.kernel_size[0]) for c in convs
        )
        self.readout = conv(self.widths[-1], ours.readout.out_channels, 1)

    def step(self, frame: Tensor, memory: list | None) -> tuple[Tensor, list]:
        x = self.patches(frame)
        if memory is None:
            zeros = [x.new_zeros(len(x), n, *x.shape[2:]) for n in self.widths]
            memory = [(z, z) for z in zeros]
        after = []
        for cell, (h, c) in zip(self.cells, memory, strict=True):
            x, c = cell(x, h, c)
            after.append((x, c))
        return self.frame(self.readout(x), frame), after


def weights(state: dict[str, Tensor]) -> dict[str, Tensor]:
    made = rest(state, "readout")
    for name, value in state.items():
        if name.startswith("cells"):
            cell = name.rsplit(".", 2)[0]
            made |= split(value, GATES, f"{cell}.{'x' if 'from_input' in name else 'h'}")
    return made
