"""Networks that give the next frame, and go on from their own forecasts."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from stp.core.options import require
from stp.models.model import ForecastModel

PREDICTS = ("state", "change")
"""What a network gives: the next frame, or how it differs from the latest one."""


class OneStep(ForecastModel):
    """What autoregressive networks of one step share.

    A subclass has ``following(frames)``, which maps the latest frames side by side as channels,
    (B, T_in * C, H, W), to the next frame (B, C, H, W), or `parts` of its own.

    Args:
        context: number of frames T_in that the network sees.
        predicts: one of `PREDICTS`.

    Raises:
        StpError: the option is out of range.
    """

    following: Callable[[Tensor], Tensor]

    def __init__(self, context: int, predicts: str) -> None:
        super().__init__(context)
        require(predicts in PREDICTS, "options.predicts", predicts, " or ".join(PREDICTS))
        self.predicts = predicts

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        """Context (B, T_in, C, H, W) -> forecast (B, horizon, C, H, W)."""
        return torch.cat(list(self.parts(frames, horizon)), dim=1)

    def parts(self, frames: Tensor, horizon: int) -> Iterator[Tensor]:
        """The same, one lead time after the other."""
        return self._rolled_out(self.following, frames, horizon)

    def _rolled_out(
        self, following: Callable[[Tensor], Tensor], frames: Tensor, horizon: int
    ) -> Iterator[Tensor]:
        """Forecasts, one after the other, of a network of one step."""
        known = frames[:, -self.context :]
        for _ in range(horizon):
            found = following(known.flatten(1, 2)).to(frames.dtype).unsqueeze(1)
            if self.predicts == "change":
                found = found + known[:, -1:]
            known = torch.cat([known[:, 1:], found], dim=1)
            yield found
