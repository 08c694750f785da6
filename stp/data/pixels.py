"""Conversion of frames to 8-bit RGB pixels."""

import numpy as np


def pixels(frames: np.ndarray) -> np.ndarray:
    """Convert frames in [0, 1], (T, C, H, W), to uint8 (T, H, W, 3); other values are clipped."""
    levels = np.rint(np.clip(frames.astype(np.float32), 0, 1) * 255).astype(np.uint8)
    count, _, height, width = levels.shape
    shown = np.broadcast_to(np.moveaxis(levels, 1, -1), (count, height, width, 3))
    return np.ascontiguousarray(shown)
