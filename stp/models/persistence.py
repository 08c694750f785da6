"""Persistence: forecast the last context frame at every lead time."""

from collections.abc import Iterator

from torch import Tensor

from stp.models.model import ForecastModel


class Model(ForecastModel):
    """Repeats the last context frame; has no weights.

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
        return frames[:, -1:].repeat(1, horizon, 1, 1, 1)

    def parts(self, frames: Tensor, horizon: int) -> Iterator[Tensor]:
        """Yield the forecast one lead time at a time, (B, 1, C, H, W) each."""
        for _ in range(horizon):
            yield frames[:, -1:]
