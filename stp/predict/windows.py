"""What test windows are known by, wherever a forecast of them was made."""

import hashlib
import json
from collections.abc import Iterable

import numpy as np


def shown(frames: np.ndarray) -> str:
    """Identity of what one window shows a model: 16 hex digits.

    Args:
        frames: (context, C, H, W) in the dataset's units.
    """
    values = np.ascontiguousarray(frames, "<f4")
    return hashlib.sha256(repr(values.shape).encode() + values.tobytes()).hexdigest()[:16]


def identity(windows: Iterable[tuple[str, str]]) -> str:
    """Identity of the windows of a cell: SHA-256, hexadecimal.

    Neither where prepared frames lie nor the code that prepared them is in it: the same frames in
    the same order are the same windows.

    Args:
        windows: name of the clip and `shown` of each, in the order of the samples.
    """
    summed = hashlib.sha256()
    for clip, digest in windows:
        summed.update(json.dumps([clip, digest]).encode() + b"\n")
    return summed.hexdigest()
