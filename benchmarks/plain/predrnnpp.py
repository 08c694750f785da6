"""PredRNN++, one convolution per gate."""

import torch
from torch import Tensor, nn

from plain.recurrent import Recurrent, conv, rest, split

PARTS = {
    "from_input": "i f g im fm gm o",
    "from_hidden": "i f g o",
    "from_temporal": "i f g",
    "from_spatial": "im fm mm",
    "from_new_temporal": "im gm fm o",
    "from_new_spatial": "o",
}


class Cell(nn.Module):
    def __init__(self, channels: int, hidden: int, size: int) -> None:
        super().__init__()
        self.of = nn.ModuleDict(
            {
                part: nn.ModuleDict(
                    {
                        gate: conv(channels if part == "from_input" else hidden, hidden, size)
                        for gate in gates.split()
                    }
                )
                for part, gates in PARTS.items()
            }
        )
        self.to_hidden = conv(2 * hidden, hidden, 1)

    def forward(self, x: Tensor, h: Tensor, c: Tensor, m: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        of_x, of_h, of_c, of_m, of_new_c, of_new_m = (self.of[part] for part in PARTS)
        i = torch.sigmoid(of_x["i"](x) + of_h["i"](h) + of_c["i"](c))
        f = torch.sigmoid(of_x["f"](x) + of_h["f"](h) + of_c["f"](c) + 1)
        g = torch.tanh(of_x["g"](x) + of_h["g"](h) + of_c["g"](c))
        c = f * c + i * g
        i = torch.sigmoid(of_x["im"](x) + of_m["im"](m) + of_new_c["im"](c))
        f = torch.sigmoid(of_x["fm"](x) + of_m["fm"](m) + of_new_c["fm"](c) + 1)
        g = torch.tanh(of_x["gm"](x) + of_new_c["gm"](c))
        m = f * torch.tanh(of_m["mm"](m)) + i * g
        o = torch.tanh(of_x["o"](x) + of_h["o"](h) + of_new_c["o"](c) + of_new_m["o"](m))
        return o * torch.tanh(self.to_hidden(torch.cat([c, m], dim=1))), c, m


class Highway(nn.Module):
    def __init__(self, hidden: int, size: int) -> None:
        super().__init__()
        self.x = nn.ModuleDict({gate: conv(hidden, hidden, size) for gate in "ps"})
        self.z = nn.ModuleDict({gate: conv(hidden, hidden, size) for gate in "ps"})

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        p = torch.tanh(self.x["p"](x) + self.z["p"](z))
        s = torch.sigmoid(self.x["s"](x) + self.z["s"](z))
        return s * p + (1 - s) * z


class Model(Recurrent):
    def __init__(self, ours: nn.Module) -> None:
        super().__init__(ours)
        self.hidden = ours.readout.in_channels
        size = ours.cells[0].from_input.kernel_size[0]
        self.cells = nn.ModuleList(
            Cell(cell.from_input.in_channels, self.hidden, size) for cell in ours.cells
        )
        self.highway = Highway(self.hidden, size)
        self.readout = conv(self.hidden, ours.readout.out_channels, 1)

    def step(self, frame: Tensor, memory: tuple | None) -> tuple[Tensor, tuple]:
        x = self.patches(frame)
        if memory is None:
            zeros = x.new_zeros(len(x), self.hidden, *x.shape[2:])
            memory = [(zeros, zeros)] * len(self.cells), zeros, zeros
        states, m, z = memory
        after = []
        for layer, (cell, (h, c)) in enumerate(zip(self.cells, states, strict=True)):
            x, c, m = cell(x, h, c, m)
            after.append((x, c))
            if layer == 0:
                x = z = self.highway(x, z)
        return self.frame(self.readout(x), frame), (after, m, z)


def weights(state: dict[str, Tensor]) -> dict[str, Tensor]:
    made = rest(state, "readout")
    for name, value in state.items():
        owner, _, part = name.removesuffix(".weight").rpartition(".")
        if owner == "highway":
            made |= split(value, "p s", f"highway.{'x' if part == 'from_input' else 'z'}")
        elif part in PARTS:
            made |= split(value, PARTS[part], f"{owner}.of.{part}")
        elif part == "to_hidden":
            made[name] = value
    return made
