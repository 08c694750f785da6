"""Mean squared error on the globe, each grid point weighted by its area."""

import torch
from torch import Tensor

from stp.core.options import require


def loss(
    predicted: Tensor, observed: Tensor, *, latitudes: tuple[float, float] = (90.0, -90.0)
) -> Tensor:
    """Average squared errors of normalised frames (B, T, C, H, W), weighted by cos(latitude).

    The weights are those of `stp.metrics.wrmse`, whose square this is on normalised fields.

    Args:
        predicted: frames.
        observed: frames of the same shape.
        latitudes: of the first and the last row, in degrees; rows are at equal distances.

    Raises:
        StpError: the option is out of range.
    """
    ok = len(latitudes) == 2 and all(-90 <= value <= 90 for value in latitudes)
    require(ok, "train.loss: latitude: latitudes", latitudes, "[first, last], -90 to 90")
    first, last = latitudes
    rows = torch.linspace(first, last, predicted.shape[-2], device=predicted.device)
    weights = torch.cos(torch.deg2rad(rows)).to(predicted.dtype)
    squares = (predicted - observed) ** 2
    return torch.mean(squares * (weights / weights.mean())[:, None])
