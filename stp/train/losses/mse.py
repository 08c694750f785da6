"""Mean squared error."""

import torch.nn.functional as F
from torch import Tensor


def loss(predicted: Tensor, observed: Tensor) -> Tensor:
    """Average squared errors of normalised frames (B, T, C, H, W) over everything."""
    return F.mse_loss(predicted, observed)
