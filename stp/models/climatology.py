"""Climatology: the mean training frame, by phase of the cycle where a dataset has one."""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn


class Model(nn.Module):
    """Predicts the mean of the training frames with the same phase (such as calendar month).

    Args:
        shape: channels, height and width.
        context: number of context frames.
        horizon: number of frames to predict.
    """

    needs_phase = True

    def __init__(self, shape: tuple[int, int, int], context: int, horizon: int) -> None:
        super().__init__()
        self.mean: Tensor  # (phases, C, H, W)
        self.register_buffer("mean", torch.zeros(1, *shape))

    def fit(self, batches: Iterable[tuple[Tensor, Tensor]], phases: int) -> None:
        """Average all training frames.

        Args:
            batches: pairs of clips, (B, T, C, H, W), and the phase of their first frames, (B,).
            phases: length of the cycle in frames; 1 if the data have none.
        """
        total = torch.zeros(phases, *self.mean.shape[1:], dtype=torch.float64)
        count = torch.zeros(phases, dtype=torch.float64)
        for clips, first in batches:
            phase = (first[:, None] + torch.arange(clips.shape[1])) % phases
            total.index_add_(0, phase.flatten(), clips.flatten(0, 1).double())
            count += torch.bincount(phase.flatten(), minlength=phases)
        # A phase that never occurs in training gets the mean over all phases.
        overall = total.sum(0) / count.sum()
        seen = total / count.clamp(min=1).reshape(-1, 1, 1, 1)
        mean = torch.where(count.reshape(-1, 1, 1, 1) > 0, seen, overall)
        self.mean = mean.to(self.mean.dtype)

    def load_state_dict(self, state_dict: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Load fitted means, of whatever number of phases."""
        self.mean = torch.empty_like(state_dict["mean"])
        return super().load_state_dict(state_dict, *args, **kwargs)

    def forward(self, frames: Tensor, horizon: int, phase: Tensor) -> Tensor:
        """Predict.

        Args:
            frames: context, (B, T_in, C, H, W).
            horizon: number of frames to predict.
            phase: phase of the first context frame, (B,), integers.

        Returns:
            (B, horizon, C, H, W).
        """
        ahead = frames.shape[1] + torch.arange(horizon, device=phase.device)
        return self.mean[(phase[:, None] + ahead) % len(self.mean)].to(frames.dtype)
