"""Climatology: forecast the mean training frame of the time of the year."""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from stp.core.errors import StpError
from stp.models.model import ForecastModel


class Model(ForecastModel):
    """Forecasts the mean of all training frames with the same phase, such as the calendar month.

    A phase is a position in a cycle, counted from 0: with 12 phases in a year, the calendar month.
    In training, each frame is one phase later than the frame before, and counts once for every clip
    that contains it.

    Args:
        shape: (C, H, W) of a frame.
        context: number of context frames.
        horizon: number of lead times.
    """

    needs_phase = True
    means: Tensor  # (phases, C, H, W)

    def __init__(self, shape: tuple[int, int, int], context: int, horizon: int) -> None:
        super().__init__(context)
        self.register_buffer("means", torch.zeros(1, *shape))

    def fit(self, batches: Iterable[tuple[Tensor, Tensor]], phases: int) -> None:
        """Compute the mean frame of each phase (position in a cycle), with sums in float64.

        The mean of a phase that never occurs in training is NaN.

        Args:
            batches: pairs of clips, (B, T, C, H, W), and the phases of their first frames, (B,).
            phases: number of phases in a cycle, >= 1.
        """
        sums = torch.zeros(phases, *self.means.shape[1:], dtype=torch.float64)
        counts = torch.zeros(phases, dtype=torch.float64)
        for clips, first in batches:
            phase = (first[:, None] + torch.arange(clips.shape[1])) % phases
            sums.index_add_(0, phase.flatten(), clips.double().flatten(0, 1))
            counts += torch.bincount(phase.flatten(), minlength=phases)
        self.means = (sums / counts[:, None, None, None]).float()

    def forward(  # type: ignore[override]  # models with `needs_phase` get the phase
        self, frames: Tensor, horizon: int, phase: Tensor, interval: int = 1
    ) -> Tensor:
        """Forecast, for each lead time, the mean training frame of its phase.

        Args:
            frames: context (B, T_in, C, H, W); only its length matters.
            horizon: number of lead times T.
            phase: phase of the first context frames, int64 (B,): their position in a cycle, from 0,
                such as the calendar month.
            interval: number of phases from one frame to the next.

        Returns:
            forecast, (B, T, C, H, W).

        Raises:
            StpError: a phase never occurred in training.
        """
        steps = frames.shape[1] + torch.arange(horizon, device=phase.device)
        phases = (phase[:, None] + interval * steps) % len(self.means)
        unknown = self.means[:, 0, 0, 0].isnan()[phases]
        if unknown.any():
            raise StpError(
                f"climatology: no training frame has phase {int(phases[unknown][0])}",
                expected=f"training frames of all phases to predict, of {len(self.means)}",
                remedy="train on more clips (train.max_clips)",
            )
        return self.means[phases]

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Load the mean frames of any number of phases, such as 12 calendar months.

        That number is only known after the fit.

        Args:
            state_dict: stored weights, with ``means``, (phases, C, H, W).
            strict: as in `torch.nn.Module.load_state_dict`.
            assign: as in `torch.nn.Module.load_state_dict`.

        Returns:
            names of missing and unexpected weights.
        """
        if "means" in state_dict:
            self.means = self.means.new_zeros(len(state_dict["means"]), *self.means.shape[1:])
        return super().load_state_dict(state_dict, strict, assign)
