"""Training loss: mean squared error of predicted frames."""

import torch.nn.functional as F
from torch import Tensor


def loss(predicted: Tensor, observed: Tensor) -> Tensor:
    """Mean squared error of normalised frames (B, T, C, H, W), a scalar."""
    return F.mse_loss(predicted, observed)
