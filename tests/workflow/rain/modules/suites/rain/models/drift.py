"""Rain that drifts on as it did between the last two context frames."""

import torch
from torch import Tensor

from stp.models.model import ForecastModel


class Model(ForecastModel):
    """Moves the last frame by whole pixels, at most two, each lead time. Nothing to fit.

    Args:
        shape: (C, H, W) of a frame.
        context: number of context frames.
        horizon: number of lead times.
    """

    def __init__(self, shape: tuple[int, int, int], context: int, horizon: int) -> None:
        super().__init__(context)

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        """Context (B, T_in, C, H, W) -> forecast (B, horizon, C, H, W)."""
        before, last = frames[:, -2], frames[:, -1]
        moves = [(dy, dx) for dy in range(-2, 3) for dx in range(-2, 3)]
        moved = torch.stack([before.roll(move, (-2, -1)) for move in moves])
        best = ((moved - last) ** 2).mean(dim=(2, 3, 4)).argmin(dim=0)
        clips = [
            torch.stack([frame.roll((lead * dy, lead * dx), (-2, -1)) for lead in leads])
            for frame, number in zip(last, best.tolist(), strict=True)
            for leads, (dy, dx) in [(range(1, horizon + 1), moves[number])]
        ]
        return torch.stack(clips)
