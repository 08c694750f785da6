"""Huber loss: squares of small errors, absolute values of large ones (Huber 1964)."""

import torch.nn.functional as F
from torch import Tensor

from stp.core.options import number, require


def loss(predicted: Tensor, observed: Tensor, *, delta: float = 1.0) -> Tensor:
    """Mean Huber loss of normalised frames (B, T, C, H, W).

    Args:
        predicted: predicted frames.
        observed: observed frames, of the same shape.
        delta: largest error that is squared, in units of normalised frames.

    Raises:
        StpError: the option is out of range.
    """
    require(number(delta) and delta > 0, "train.loss: huber: delta", delta, "a number > 0")
    return F.huber_loss(predicted, observed, delta=delta)
