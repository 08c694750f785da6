"""Huber loss: quadratic for small errors, linear for large ones (Huber 1964)."""

import torch.nn.functional as F
from torch import Tensor

from stp.core.options import number, require


def loss(predicted: Tensor, observed: Tensor, *, delta: float = 1.0) -> Tensor:
    """Mean Huber loss of normalised frames (B, T, C, H, W), a scalar.

    Args:
        predicted: predicted frames.
        observed: observed frames with the same shape.
        delta: error at which the loss becomes linear, > 0, in units of normalised frames.

    Raises:
        StpError: ``delta`` is out of range.
    """
    require(number(delta) and delta > 0, "train.loss: huber: delta", delta, "a number > 0")
    return F.huber_loss(predicted, observed, delta=delta)
