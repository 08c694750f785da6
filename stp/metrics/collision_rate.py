"""How often people are predicted to walk into each other."""

import numpy as np

from stp.metrics.metric import Metric

APART = 0.5
"""Metres between the centres of two people who touch (Atlas, released configuration)."""


def _half_metre(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    position = np.moveaxis(predicted[..., 0, :].astype(np.float64), -2, -1)  # (n, M, T, N, 2)
    between = np.linalg.norm(position[..., :, None, :] - position[..., None, :, :], axis=-1)
    own = np.eye(position.shape[-2], dtype=bool)
    met = ((between < APART) & ~own).any(axis=(2, -1))  # (n, M, N)
    there = np.isfinite(observed[:, -1, 0, 0])
    met = met & there[:, None]
    return np.asarray(met.mean(axis=1).sum(axis=1) / there.sum(axis=1))[:, None, None]


half_metre = Metric(_half_metre, ensemble=True, independent_leads=False, share=True)
"""Share of people who are predicted to come closer than 0.5 m to another."""
