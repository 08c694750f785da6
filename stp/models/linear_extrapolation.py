"""Linear extrapolation: every pixel goes on changing as it last did."""

import torch
from torch import Tensor

from stp.models.model import ForecastModel


class Model(ForecastModel):
    """The last frame plus, for each lead time, the difference between the last two.

    With a context of one frame, which has no difference, it is persistence.

    Args:
        shape: (C, H, W) of a frame.
        context: number of context frames.
        horizon: number of lead times.
    """

    def __init__(self, shape: tuple[int, int, int], context: int, horizon: int) -> None:
        super().__init__(context)

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        """Context (B, T_in, C, H, W) -> (B, horizon, C, H, W)."""
        last, before = frames[:, -1:], frames[:, -2:-1] if frames.shape[1] > 1 else frames[:, -1:]
        leads = torch.arange(1, horizon + 1, device=frames.device, dtype=frames.dtype)
        return last + leads[:, None, None, None] * (last - before)
