"""Base class of autoregressive networks that predict the next frame from the latest ones."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from stp.core.options import require
from stp.models.model import ForecastModel

PREDICTS = ("state", "change")
"""Kinds of output of a network: the next frame, or its difference from the latest one."""


class OneStep(ForecastModel):
    """Base class of networks that forecast one frame at a time, from the latest frames.

    A subclass either has a method ``following(frames)``, which maps the latest frames, stacked as
    channels, (B, T_in * C, H, W), to the next frame, (B, C, H, W); or it overrides `parts`.

    Args:
        context: number T_in of input frames.
        predicts: output of the network: ``state``, the next frame, or ``change``, its difference
            from the latest frame.

    Raises:
        StpError: ``predicts`` is neither of these.
    """

    following: Callable[[Tensor], Tensor]

    def __init__(self, context: int, predicts: str) -> None:
        super().__init__(context)
        require(predicts in PREDICTS, "options.predicts", predicts, " or ".join(PREDICTS))
        self.predicts = predicts

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        """Forecast ``horizon`` frames of B clips from T_in context frames.

        (B, T_in, C, H, W) -> (B, horizon, C, H, W).
        """
        return torch.cat(list(self.parts(frames, horizon)), dim=1)

    def parts(self, frames: Tensor, horizon: int) -> Iterator[Tensor]:
        """Yield the forecast one lead time at a time, (B, 1, C, H, W) each."""
        return self._roll_out(self.following, frames, horizon)

    def _roll_out(
        self, following: Callable[[Tensor], Tensor], frames: Tensor, horizon: int
    ) -> Iterator[Tensor]:
        """Apply `following` to its own forecasts repeatedly, and yield one lead time at a time."""
        context = frames[:, -self.context :]
        for _ in range(horizon):
            frame = following(context.flatten(1, 2)).to(frames.dtype).unsqueeze(1)
            if self.predicts == "change":
                frame = frame + context[:, -1:]
            context = torch.cat([context[:, 1:], frame], dim=1)
            yield frame
