"""Compute checksums of windows (context frames that are handed to a model that runs elsewhere).

They tell whether imported forecasts were made from the windows of the present data.
"""

import hashlib
import json
from collections.abc import Iterable

import numpy as np


def window_checksum(frames: np.ndarray) -> str:
    """Checksum of a window (the context frames of one clip): 16 hex digits.

    Args:
        frames: context frames in the dataset's units, (context, C, H, W).
    """
    values = np.ascontiguousarray(frames, "<f4")
    return hashlib.sha256(repr(values.shape).encode() + values.tobytes()).hexdigest()[:16]


def windows_checksum(windows: Iterable[tuple[str, str]]) -> str:
    """SHA-256 of all windows of a cell (one model on one dataset in one setting), hexadecimal.

    The checksum depends only on the frames and their order, not on their folder or the code that
    prepared them.

    Args:
        windows: clip name and `window_checksum` of each window, in the order of the samples.
    """
    total = hashlib.sha256()
    for clip, checksum in windows:
        total.update(json.dumps([clip, checksum]).encode() + b"\n")
    return total.hexdigest()
