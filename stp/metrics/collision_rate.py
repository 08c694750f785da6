"""Collision rate: the share of people who are predicted to walk into another person."""

from functools import partial

import numpy as np

from stp.metrics.metric import Metric


def _collisions(predicted: np.ndarray, observed: np.ndarray, apart: float) -> np.ndarray:
    position = np.moveaxis(predicted[..., 0, :].astype(np.float64), -2, -1)  # (n, M, T, N, 2)
    between = np.linalg.norm(position[..., :, None, :] - position[..., None, :, :], axis=-1)
    own = np.eye(position.shape[-2], dtype=bool)
    met = ((between < apart) & ~own).any(axis=(2, -1))  # (n, M, N)
    present = np.isfinite(observed[:, -1, 0, 0])
    met = met & present[:, None]
    return np.asarray(met.mean(axis=1).sum(axis=1) / present.sum(axis=1))[:, None, None]


def collision_rate(*, apart: float) -> Metric:
    """Share of people who are predicted to come closer to another person than ``apart``.

    Args:
        apart: distance between the centres of two people below which they collide, metres; 0.5 in
            Atlas' released configuration.
    """
    statistics = partial(_collisions, apart=apart)
    return Metric(statistics, ensemble=True, independent_leads=False, share=True)
