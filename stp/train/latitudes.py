"""Weights of latitudes in losses of global fields, with which metrics weight errors too."""

import torch
from torch import Tensor

from stp.data.prepared import Prepared
from stp.metrics.latitude import weights_of


def latitude_weights(data: Prepared, like: Tensor) -> Tensor | None:
    """Weights of the rows of a global grid: the cosine of the latitude divided by its mean.

    Args:
        data: prepared data with a coordinate ``lat``.
        like: tensor with the device and data type of the weights.

    Returns:
        weights, (H, 1); None if the data have no latitudes.
    """
    weights = weights_of(data)
    return None if weights is None else torch.from_numpy(weights).to(like)[:, None]
