"""TAU: temporal attention, and a loss that compares changes."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plain.simvp import Model as SimVP
from plain.simvp import weights

__all__ = ["Model", "weights"]


class TemporalAttention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        squeezed = max(1, width // max(width // 16, 4))
        self.enter = nn.Conv2d(width, width, 1)
        self.near = nn.Conv2d(width, width, 5, padding=2, groups=width)
        self.far = nn.Conv2d(width, width, 7, padding=9, dilation=3, groups=width)
        self.mix = nn.Conv2d(width, width, 1)
        self.squeeze = nn.Linear(width, squeezed, bias=False)
        self.excite = nn.Linear(squeezed, width, bias=False)
        self.leave = nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        inner = F.gelu(self.enter(x))
        statical = self.mix(self.far(self.near(inner)))
        mean = F.adaptive_avg_pool2d(inner, 1).flatten(1)
        dynamical = torch.sigmoid(self.excite(F.relu(self.squeeze(mean))))
        return x + self.leave(dynamical[:, :, None, None] * statical * inner)


class Model(SimVP):
    attention = TemporalAttention

    def __init__(self, ours: nn.Module) -> None:
        super().__init__(ours)
        self.weight = ours.change_weight

    def loss(self, clip: Tensor, step: int) -> Tensor:
        future = clip[:, self.context :]
        forecast = self(clip[:, : self.context], future.shape[1])
        error = F.mse_loss(forecast, future)
        if future.shape[1] < 3:
            return error
        p, q = (
            torch.softmax((x[:, 1:] - x[:, :-1]).flatten(2) / 0.1, dim=-1)
            for x in (forecast, future)
        )
        return error + self.weight * (p * torch.log(p / q)).mean()
