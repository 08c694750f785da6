"""CVM: everybody goes on as before (Schöller et al. 2020; Atlas, section IV-A)."""

from dataclasses import dataclass

import numpy as np

from stp.motion.obstacles import Obstacles
from stp.motion.scenarios import Scenarios
from stp.motion.velocity import Mode, filtered

SEARCH: dict[str, tuple[float, float]] = {}
"""Nothing is calibrated."""


@dataclass(frozen=True)
class Parameters:
    """Which velocity goes on, see `stp.motion.velocity.weights`."""

    velocity: Mode = "gaussian"


def predict(
    scenarios: Scenarios, steps: int, parameters: Parameters, obstacles: Obstacles | None = None
) -> np.ndarray:
    """Predict positions, (S, N, steps, 2), metres; NaN where nobody is; obstacles do not matter."""
    velocity = filtered(scenarios.observed, scenarios.dt, parameters.velocity)
    ahead = np.arange(1, steps + 1)[:, None] * scenarios.dt
    return np.asarray(scenarios.observed[:, :, -1:] + velocity[:, :, None] * ahead)
