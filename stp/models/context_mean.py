"""Context mean: forecast the mean of the context frames at every lead time."""

from torch import Tensor

from stp.models.model import ForecastModel


class Model(ForecastModel):
    """Repeats the mean of the context frames; has no weights.

    Args:
        shape: (C, H, W) of a frame.
        context: number of context frames.
        horizon: number of lead times.
    """

    def __init__(self, shape: tuple[int, int, int], context: int, horizon: int) -> None:
        super().__init__(context)

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        """Forecast ``horizon`` frames of B clips from T_in context frames.

        (B, T_in, C, H, W) -> (B, horizon, C, H, W).
        """
        return frames.mean(dim=1, keepdim=True).repeat(1, horizon, 1, 1, 1)
