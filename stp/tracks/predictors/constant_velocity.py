"""CVM: constant-velocity model (Schöller et al. 2020; Atlas, section IV-A)."""

from dataclasses import dataclass

import numpy as np

from stp.tracks.densities import Mixture
from stp.tracks.obstacles import Obstacles
from stp.tracks.scenarios import Scenarios
from stp.tracks.velocity import Mode, filtered_velocity

SEARCH: dict[str, tuple[float, float]] = {}
"""Empty: nothing is calibrated."""


@dataclass(frozen=True)
class Parameters:
    """Options of the predictor: filter and uncertainty of the velocity.

    Attributes:
        velocity: weights of the observed velocities, whose mean is the velocity that people keep:
            ``gaussian``, ``linear`` or ``constant``, see `stp.tracks.velocity.weights`.
        uncertainty: standard deviation of a person's velocity along each axis, in metres per
            second, drawn anew at each future step. Errors of position add up as in a random walk,
            so positions are Gaussians around the path of constant velocity, with a standard
            deviation of ``uncertainty`` x (seconds of a step) x sqrt(number of steps). With 0.3, it
            is the distribution from which the released code of Atlas draws samples. None to predict
            positions only.
    """

    velocity: Mode = "gaussian"
    uncertainty: float | None = None


def predict(
    scenarios: Scenarios,
    steps: int,
    parameters: Parameters,
    obstacles: Obstacles | None = None,
    jitter: np.ndarray | None = None,
) -> np.ndarray | Mixture:
    """Predict positions of N people in S scenarios, who keep their velocity.

    Args:
        scenarios: scenarios to predict.
        steps: number of future positions.
        parameters: options of the predictor.
        obstacles: ignored.
        jitter: random displacement at each step, which is added to this and all later positions,
            (S, N, steps, 2), metres; None for none.

    Returns:
        positions, (S, N, steps, 2), metres; NaN for absent people. If ``parameters.uncertainty``
        is set and ``jitter`` is None, a Gaussian of the position instead, for each person and step;
        its variance grows linearly over the steps.
    """
    velocity = filtered_velocity(scenarios.observed, scenarios.dt, parameters.velocity)
    ahead = np.arange(1, steps + 1)[:, None] * scenarios.dt
    path = scenarios.observed[:, :, -1:] + velocity[:, :, None] * ahead
    if jitter is not None:
        return np.asarray(path + jitter.cumsum(axis=2))
    if parameters.uncertainty is None:
        return np.asarray(path)
    variance = np.arange(1, steps + 1) * (parameters.uncertainty * scenarios.dt) ** 2
    weight = np.where(scenarios.present, 1.0, np.nan)[:, :, None]
    weights = np.broadcast_to(weight, path.shape[:-1])[..., None]
    covariances = (weights[..., 0] * variance)[..., None, None, None] * np.eye(2)
    return Mixture(weights, path[..., None, :], covariances)
