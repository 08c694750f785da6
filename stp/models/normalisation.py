"""Normalise frames from the units of a dataset to the input of networks, and back."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Normalisation:
    """The linear map ``normalised = (value - offset) / scale``, and its inverse.

    Attributes:
        offset: one number, or one per channel, in the dataset's units.
        scale: one number, or one per channel, in the dataset's units; not 0.
    """

    offset: float | list[float] = 0.0
    scale: float | list[float] = 1.0

    @classmethod
    def of(cls, attrs: dict[str, Any]) -> "Normalisation":
        """Read offset and scale from ``normalisation`` in the attributes of prepared data."""
        return cls(attrs["normalisation"]["offset"], attrs["normalisation"]["scale"])

    def apply_(self, values: Tensor) -> Tensor:
        """Normalise values (..., C, H, W) in place, because a batch of global fields takes 0.4 GB.

        NaN, which marks points without the variable (soil moisture at sea), becomes 0, the mean.
        """
        normalised = values.sub_(_column(self.offset, values)).div_(_column(self.scale, values))
        return normalised.nan_to_num_(nan=0.0, posinf=torch.inf, neginf=-torch.inf)

    def undo(self, values: Tensor) -> Tensor:
        """Map normalised values (..., C, H, W) back to the units of the dataset."""
        return values * _column(self.scale, values) + _column(self.offset, values)


def _column(constant: float | list[float], like: Tensor) -> Tensor:
    return torch.as_tensor(constant, dtype=like.dtype, device=like.device).reshape(-1, 1, 1)
