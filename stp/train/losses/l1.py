"""Mean absolute error, which is less sensitive to outliers than mean squared error."""

import torch.nn.functional as F
from torch import Tensor


def loss(predicted: Tensor, observed: Tensor) -> Tensor:
    """Mean absolute error of normalised frames (B, T, C, H, W), a scalar."""
    return F.l1_loss(predicted, observed)
