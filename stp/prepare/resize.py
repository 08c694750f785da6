"""Bilinear resizing of frames."""

import numpy as np


def bilinear(frames: np.ndarray, height: int, width: int) -> np.ndarray:
    """Resize frames by linear interpolation between the two nearest pixels of each axis.

    Pixel centres lie at half-integers and nothing is smoothed beforehand, as in OpenCV's
    INTER_LINEAR and in PyTorch's ``interpolate(align_corners=False, antialias=False)``.

    Args:
        frames: frames, uint8 (..., H, W).
        height: height of the result, pixels.
        width: width of the result, pixels.

    Returns:
        resized frames, uint8 (..., height, width), rounded to the nearest value.
    """
    rows = _resize_axis(frames.astype(np.float32), height, -2)
    return np.rint(_resize_axis(rows, width, -1)).astype(np.uint8)


def _resize_axis(values: np.ndarray, length: int, axis: int) -> np.ndarray:
    n = values.shape[axis]
    if n == length:
        return values
    centre = np.clip((np.arange(length) + 0.5) * (n / length) - 0.5, 0, n - 1)
    low = centre.astype(np.int64)
    share = (centre - low).astype(np.float32)
    share = share.reshape([-1 if a == axis % values.ndim else 1 for a in range(values.ndim)])
    below = values.take(low, axis)
    above = values.take(np.minimum(low + 1, n - 1), axis)
    return below + share * (above - below)
