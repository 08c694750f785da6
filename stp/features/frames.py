"""Functions that choose which frames of N clips a network reads to compute features.

Each function gets the context (N, T_in, C, H, W) and the predicted or observed frames after it (N,
T_out, C, H, W), with values in [0, 1]. It returns the chosen frames (N, T, C, H, W). A convention
of a distance between sets of clips selects a function by its name (option ``frames``).
"""

from collections.abc import Callable

import numpy as np

PADDED = 10
"""Number of frames to which PredBench's code pads shorter clips."""

GREY = 0.5
"""Value of padded frames, halfway between black (0) and white (1).

Networks scale frames to [-1, 1], so that 0.5 becomes 0.
"""


def predicted_only(context: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """Return only the frames after the context, as in PredBench's code.

    Args:
        context: observed frames, (N, T_in, C, H, W); not used.
        frames: predicted or observed frames after the context, (N, T_out, C, H, W).

    Returns:
        ``frames`` itself, (N, T_out, C, H, W).
    """
    return frames


def with_context(context: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """Join the context and the frames after it to whole clips.

    The paper of FVD does so (section 4, 2 + 14 frames of BAIR).

    Args:
        context: observed frames, (N, T_in, C, H, W).
        frames: predicted or observed frames after the context, (N, T_out, C, H, W).

    Returns:
        the joined frames, (N, T_in + T_out, C, H, W).
    """
    return np.concatenate([context, frames], axis=1)


def zero_padded(context: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """Append grey frames to the frames after the context, up to ten frames in all.

    PredBench's code does so for Human3.6M and CityScapes. It appends zeros after it has scaled
    frames to [-1, 1]. Here frames are in [0, 1], where the same frames have the value 0.5 (grey).

    Args:
        context: observed frames, (N, T_in, C, H, W); not used.
        frames: predicted or observed frames after the context, in [0, 1], (N, T_out, C, H, W).

    Returns:
        the padded frames, (N, max(10, T_out), C, H, W); ``frames`` unchanged if T_out is 10 or
        more.
    """
    lacking = max(0, PADDED - frames.shape[1])
    return np.pad(frames, ((0, 0), (0, lacking), (0, 0), (0, 0), (0, 0)), constant_values=GREY)


CHOICES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    choice.__name__: choice for choice in (predicted_only, with_context, zero_padded)
}
"""The functions by name, which is the option ``frames`` of a convention."""
