"""Mean absolute error: less blurred forecasts, and less influence of a few large errors."""

import torch.nn.functional as F
from torch import Tensor


def loss(predicted: Tensor, observed: Tensor) -> Tensor:
    """Average absolute errors of normalised frames (B, T, C, H, W) over everything."""
    return F.l1_loss(predicted, observed)
