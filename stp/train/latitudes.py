"""Weights of latitudes in losses: the same as in scores."""

import torch
from torch import Tensor

from stp.data.prepared import Prepared
from stp.metrics.latitude import weights_of


def latitude_weights(data: Prepared, like: Tensor) -> Tensor | None:
    """Cosines of the latitudes over their mean, (H, 1), on the device of a tensor.

    None if the data have no coordinate ``lat``.
    """
    weights = weights_of(data)
    return None if weights is None else torch.from_numpy(weights).to(like)[:, None]
