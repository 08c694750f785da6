"""Filtered velocity, an estimate of a person's desired velocity."""

from typing import Literal

import numpy as np

Mode = Literal["gaussian", "linear", "constant"]
SIGMA = 1.5
"""Width of the Gaussian window, steps (Atlas, released configuration)."""


def weights(velocities: int, mode: Mode = "gaussian") -> np.ndarray:
    """Weights of observed velocities, oldest first, one for each velocity.

    Their sum is 1, as in the released code of Atlas, but not in its paper (section IV-A).

    Args:
        velocities: number of observed velocities.
        mode: ``gaussian``: half a Gaussian with its peak at the newest velocity; ``linear``: equal
            weights, so that the mean velocity is that of the straight line from the first to the
            last observed position; ``constant``: the newest velocity only.

    Returns:
        weights, (velocities,).
    """
    if mode == "linear":
        return np.full(velocities, 1 / velocities)
    if mode == "constant":
        return np.eye(velocities)[-1]
    # The formula in the paper is not normalised, and would give 0.37 of the speed.
    away = velocities - 0.5 - np.arange(velocities)
    bell = np.exp(-0.5 * (away / SIGMA) ** 2)
    return np.asarray(bell / bell.sum())


def filtered_velocity(observed: np.ndarray, dt: float, mode: Mode = "gaussian") -> np.ndarray:
    """Compute the weighted mean of the observed velocities.

    Args:
        observed: O observed positions of each person, (..., O, 2), metres.
        dt: seconds between two positions.
        mode: weights of the velocities, see `weights`.

    Returns:
        velocities, (..., 2), metres per second.
    """
    velocities = np.diff(observed, axis=-2) / dt
    return np.asarray(np.einsum("v,...va->...a", weights(velocities.shape[-2], mode), velocities))
