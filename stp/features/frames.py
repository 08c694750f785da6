"""Functions that choose the frames of a clip that a network reads.

Each function takes two arrays (N, T, C, H, W), the context and the predicted or observed frames
after it, and returns the chosen frames, an array of the same form.
"""

from collections.abc import Callable

import numpy as np

PADDED = 10
"""Number of frames to which PredBench's code pads shorter clips."""

GREY = 0.5
"""Value of padded frames; zero after scaling to [-1, 1]."""


def predicted_only(context: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """Choose the frames after the context only, as in PredBench's code.

    Args:
        context: observed frames, (N, T_in, C, H, W).
        frames: predicted or observed frames after the context, (N, T_out, C, H, W).
    """
    return frames


def with_context(context: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """Choose the context and the frames after it.

    The paper of FVD does so (section 4, 2 + 14 frames of BAIR).

    Args:
        context: observed frames, (N, T_in, C, H, W).
        frames: predicted or observed frames after the context, (N, T_out, C, H, W).
    """
    return np.concatenate([context, frames], axis=1)


def zero_padded(context: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """Choose the frames after the context; if these are fewer than ten, grey frames are appended.

    PredBench's code does so for Human3.6M and CityScapes.

    Args:
        context: observed frames, (N, T_in, C, H, W); not chosen.
        frames: predicted or observed frames after the context, (N, T_out, C, H, W).
    """
    lacking = max(0, PADDED - frames.shape[1])
    return np.pad(frames, ((0, 0), (0, lacking), (0, 0), (0, 0), (0, 0)), constant_values=GREY)


CHOICES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    choice.__name__: choice for choice in (predicted_only, with_context, zero_padded)
}
"""The functions by name, as in the option ``frames`` of network features."""
