"""Find frames in degrees Celsius among frames in kelvin."""

import re

import numpy as np

TEMPERATURE = re.compile(r"(deg(ree)?s?)?[ _]?(k(elvin)?|c(elsius)?)?|°c", re.IGNORECASE)
"""Units of temperatures; also no unit."""
CELSIUS, KELVIN = (-100.0, 70.0), (170.0, 350.0)
"""Ranges in which the mean temperature of a frame is plausible, in each unit."""
APART = (210.0, 340.0)
"""Range of the difference between the means of all frames in each unit; 273.15 for equal frames."""


def in_other_unit(means: np.ndarray) -> np.ndarray:
    """Find the frames of a variable that are in another unit than most: kelvin or degrees Celsius.

    Args:
        means: mean of each frame, (T,).

    Returns:
        indices of the frames in the rarer unit; empty unless some means are plausible in kelvin and
        all others in degrees Celsius.
    """
    is_celsius = (CELSIUS[0] < means) & (means < CELSIUS[1])
    is_kelvin = (KELVIN[0] < means) & (means < KELVIN[1])
    is_mixed = is_celsius.any() and is_kelvin.any() and (is_celsius | is_kelvin).all()
    if not is_mixed:
        return np.empty(0, int)
    apart = means[is_kelvin].mean() - means[is_celsius].mean()
    is_rarer = is_celsius if is_celsius.sum() <= is_kelvin.sum() else is_kelvin
    return np.flatnonzero(is_rarer & (APART[0] < apart < APART[1]))
