"""E3D-LSTM, one 3D convolution per gate; its single frame is repeated to fill the film again."""

import torch
from torch import Tensor, nn

from plain.recurrent import Recurrent, conv, rest

PARTS = {
    "from_hidden": "i g r o",
    "from_input": "i g r o im gm fm",
    "from_memory": "im fm gm mm",
    "gate_of_cell": "o",
    "gate_of_memory": "o",
}


class Gate(nn.Module):
    def __init__(self, before: int, after: int, window: int, size: int) -> None:
        super().__init__()
        self.conv = nn.Conv3d(
            before, after, (window, size, size), padding=(0, size // 2, size // 2), bias=False
        )

    def forward(self, film: Tensor) -> Tensor:
        return self.conv(film).repeat(1, 1, film.shape[2], 1, 1)


class Cell(nn.Module):
    def __init__(
        self, channels: int, hidden: int, window: int, size: int, height: int, width: int
    ) -> None:
        super().__init__()
        self.of = nn.ModuleDict(
            {
                part: nn.ModuleDict(
                    {
                        gate: Gate(
                            channels if part == "from_input" else hidden, hidden, window, size
                        )
                        for gate in gates.split()
                    }
                )
                for part, gates in PARTS.items()
            }
        )
        self.to_hidden = nn.Conv3d(2 * hidden, hidden, 1, bias=False)
        self.norm = nn.LayerNorm([hidden, window, height, width])

    def forward(
        self, x: Tensor, h: Tensor, c: Tensor, m: Tensor, past: list[Tensor]
    ) -> tuple[Tensor, Tensor, Tensor]:
        of_h, of_x, of_m, of_c, of_new_m = (self.of[part] for part in PARTS)
        r = torch.sigmoid(of_x["r"](x) + of_h["r"](h))
        i = torch.sigmoid(of_x["i"](x) + of_h["i"](h))
        g = torch.tanh(of_x["g"](x) + of_h["g"](h))
        query = r.flatten(2).transpose(1, 2)
        memories = torch.cat([p.flatten(2) for p in past], dim=2).transpose(1, 2)
        attention = torch.softmax(query @ memories.transpose(1, 2), dim=2)
        recalled = (attention @ memories).transpose(1, 2).reshape(r.shape)
        c = self.norm(c + recalled) + i * g
        i = torch.sigmoid(of_x["im"](x) + of_m["im"](m))
        f = torch.sigmoid(of_x["fm"](x) + of_m["fm"](m) + 1)
        g = torch.tanh(of_x["gm"](x) + of_m["gm"](m))
        m = f * torch.tanh(of_m["mm"](m)) + i * g
        o = torch.tanh(of_x["o"](x) + of_h["o"](h) + of_c["o"](c) + of_new_m["o"](m))
        return torch.sigmoid(o) * torch.tanh(self.to_hidden(torch.cat([c, m], dim=1))), c, m


class Model(Recurrent):
    def __init__(self, ours: nn.Module) -> None:
        super().__init__(ours)
        self.window = ours.window
        first = ours.cells[0]
        self.hidden, size = first.hidden, first.from_input.kernel_size[0]
        height, width = first.norm.normalized_shape[-2:]
        self.cells = nn.ModuleList(
            Cell(
                cell.from_input.in_channels // self.window,
                self.hidden,
                self.window,
                size,
                height,
                width,
            )
            for cell in ours.cells
        )
        self.readout = conv(ours.readout.in_channels, ours.readout.out_channels, 1)

    def step(self, frame: Tensor, memory: tuple | None) -> tuple[Tensor, tuple]:
        x = self.patches(frame)
        if memory is None:
            seen = [torch.zeros_like(x)] * (self.window - 1)
            m = x.new_zeros(len(x), self.hidden, self.window, *x.shape[2:])
            states, past = [(m, m)] * len(self.cells), [[m]] * len(self.cells)
        else:
            seen, states, past, m = memory
        seen = [*seen, x][-self.window :]
        film, after, remembered = torch.stack(seen, dim=2), [], []
        for cell, (h, c), before in zip(self.cells, states, past, strict=True):
            film, c, m = cell(film, h, c, m, before)
            after.append((film, c))
            remembered.append([*before, c])
        out = self.frame(self.readout(film.flatten(1, 2)), frame)
        return out, (seen, after, remembered, m)


def weights(state: dict[str, Tensor]) -> dict[str, Tensor]:
    made = rest(state, "readout")
    for name, value in state.items():
        owner, _, part = name.removesuffix(".weight").rpartition(".")
        if part in PARTS:
            window = state[f"{owner}.norm.weight"].shape[1]
            gates = PARTS[part].split()
            for gate, weight in zip(gates, value.chunk(len(gates)), strict=True):
                made[f"{owner}.of.{part}.{gate}.conv.weight"] = weight.unflatten(1, (-1, window))
        elif name.startswith("cells"):
            made[name] = value
    return made
