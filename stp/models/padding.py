"""Pad frames to the height and width that a network needs."""

import torch.nn.functional as F
from torch import Tensor


def pad(frames: Tensor, multiple: int) -> Tensor:
    """Append zeros below and to the right until height and width are multiples of `multiple`.

    Zeros are used because other kinds of padding have no deterministic gradient on a GPU.

    Args:
        frames: frames, (..., C, H, W).
        multiple: divisor of the padded H and W, >= 1.

    Returns:
        padded frames, (..., C, H', W'), or `frames` itself if no padding is needed; ``[..., :H,
        :W]`` removes the padding.
    """
    below, right = -frames.shape[-2] % multiple, -frames.shape[-1] % multiple
    return F.pad(frames, (0, right, 0, below)) if below or right else frames
