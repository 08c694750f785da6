"""Weights of latitudes in losses of global fields, with which metrics weight errors too."""

import torch
from torch import Tensor

from stp.data.prepared import Prepared
from stp.metrics.latitude import weights_of


def latitude_weights(data: Prepared, like: Tensor) -> Tensor | None:
    """Cosine of each latitude divided by the mean cosine, (H, 1), on the device of `like`.

    None if the data have no coordinate ``lat``.
    """
    weights = weights_of(data)
    return None if weights is None else torch.from_numpy(weights).to(like)[:, None]
