"""Linear extrapolation: repeat the last change of every pixel at each lead time."""

import torch
from torch import Tensor

from stp.models.model import ForecastModel


class Model(ForecastModel):
    """Forecasts the last frame plus t times the difference of the last two, at lead time t.

    With a context of one frame, this frame is repeated.

    Args:
        shape: (C, H, W) of a frame.
        context: number of context frames.
        horizon: number of lead times.
    """

    def __init__(self, shape: tuple[int, int, int], context: int, horizon: int) -> None:
        super().__init__(context)

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        """Context (B, T_in, C, H, W) -> forecast (B, horizon, C, H, W)."""
        last, before = frames[:, -1:], frames[:, -2:-1] if frames.shape[1] > 1 else frames[:, -1:]
        leads = torch.arange(1, horizon + 1, device=frames.device, dtype=frames.dtype)
        return last + leads[:, None, None, None] * (last - before)
