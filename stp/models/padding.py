"""Padding of frames to the sides that a network needs."""

import torch.nn.functional as F
from torch import Tensor


def pad(frames: Tensor, multiple: int) -> Tensor:
    """Append zeros below and to the right until height and width are multiples of `multiple`.

    Zeros are used because other paddings have no deterministic gradient on a GPU.

    Args:
        frames: (..., C, H, W).
        multiple: divisor of the padded H and W, >= 1.

    Returns:
        (..., C, H', W'), or `frames` itself where nothing is missing; ``[..., :H, :W]`` removes
        the padding.
    """
    below, right = -frames.shape[-2] % multiple, -frames.shape[-1] % multiple
    return F.pad(frames, (0, right, 0, below)) if below or right else frames
