"""PhyDNet, frame by frame; the branches' convolutions are the authors' (gates in one)."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def block(before: int, after: int, stride: int = 1, *, up: bool = False) -> nn.Sequential:
    if up:
        conv = nn.ConvTranspose2d(before, after, 3, stride, padding=1, output_padding=stride - 1)
    else:
        conv = nn.Conv2d(before, after, 3, stride, padding=1)
    return nn.Sequential(conv, nn.GroupNorm(16, after), nn.LeakyReLU(0.2))


class PhyCell(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.derivatives = nn.Conv2d(64, 49, 7, padding=3)
        self.norm = nn.GroupNorm(7, 49)
        self.combine = nn.Conv2d(49, 64, 1)
        self.gate = nn.Conv2d(128, 64, 3, padding=1)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        predicted = h + self.combine(self.norm(self.derivatives(h)))
        gain = torch.sigmoid(self.gate(torch.cat([x, h], dim=1)))
        return predicted + gain * (x - predicted)


class LSTM(nn.Module):
    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.gates = nn.Conv2d(channels + hidden, 4 * hidden, 3, padding=1)

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        i, f, o, g = torch.split(self.gates(torch.cat([x, h], dim=1)), self.hidden, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class Model(nn.Module):
    def __init__(self, ours: nn.Module) -> None:
        super().__init__()
        self.context, self.scale, self.bounded = ours.context, ours.scale, ours.bounded
        self.moment_weight, self.teacher_forcing = ours.moment_weight, ours.teacher_forcing
        second = self.scale // 2
        channels = ours.encoder[0][0].in_channels
        self.encoder = nn.Sequential(block(channels, 32, 2), block(32, 32), block(32, 64, second))
        self.to_physics = nn.Sequential(block(64, 64), block(64, 64))
        self.to_rest = nn.Sequential(block(64, 64), block(64, 64))
        self.physics = PhyCell()
        self.rest = nn.ModuleList([LSTM(64, 128), LSTM(128, 128), LSTM(128, 64)])
        self.from_physics = nn.Sequential(block(64, 64, up=True), block(64, 64, up=True))
        self.from_rest = nn.Sequential(block(64, 64, up=True), block(64, 64, up=True))
        last = nn.ConvTranspose2d(32, channels, 3, second, padding=1, output_padding=second - 1)
        self.decoder = nn.Sequential(block(64, 32, 2, up=True), block(32, 32, up=True), last)

    def step(self, frame: Tensor, memory: tuple | None) -> tuple[Tensor, tuple]:
        height, width = frame.shape[2:]
        encoded = self.encoder(F.pad(frame, (0, -width % self.scale, 0, -height % self.scale)))
        if memory is None:
            zeros = [
                encoded.new_zeros(len(encoded), cell.hidden, *encoded.shape[2:])
                for cell in self.rest
            ]
            memory = torch.zeros_like(encoded), [(z, z) for z in zeros]
        physics = self.physics(self.to_physics(encoded), memory[0])
        x, states = self.to_rest(encoded), []
        for cell, (h, c) in zip(self.rest, memory[1], strict=True):
            x, c = cell(x, h, c)
            states.append((x, c))
        out = self.decoder(self.from_physics(physics) + self.from_rest(x))[..., :height, :width]
        return torch.sigmoid(out) if self.bounded else out, (physics, states)

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        memory, outputs = None, []
        for t in range(frames.shape[1] + horizon - 1):
            frame = frames[:, t] if t < frames.shape[1] else outputs[-1]
            output, memory = self.step(frame, memory)
            outputs.append(output)
        return torch.stack(outputs[-horizon:], dim=1)

    def loss(self, clip: Tensor, step: int) -> Tensor:
        truth = torch.rand(()).item() < 1  # the first epoch
        memory, output, total = None, clip[:, 0], 0.0
        for t in range(clip.shape[1] - 1):
            frame = clip[:, t] if truth or t < self.context else output
            output, memory = self.step(frame, memory)
            total = total + F.mse_loss(output, clip[:, t + 1])
        return total + self.moment_weight * self.moments()

    def moments(self) -> Tensor:
        filters = self.physics.derivatives.weight.double()
        place = torch.arange(7, dtype=torch.float64, device=filters.device) - 3
        matrix = torch.stack([place**i / math.factorial(i) for i in range(7)])
        found = torch.einsum("ip,ocpq,jq->ocij", matrix, filters, matrix)
        wanted = torch.eye(49, dtype=torch.float64, device=filters.device).reshape(49, 7, 7)
        total = 0.0
        for channel in range(filters.shape[1]):
            total = total + F.mse_loss(found[:, channel], wanted)
        return total.float()


def weights(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return state
