"""Displacement errors of the best of several predictions: they fall with their number alone."""

import numpy as np

from stp.metrics.displacement import distances, over_people
from stp.metrics.metric import Metric


def _pointwise(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    found = distances(predicted, observed[:, None])  # (n, M, T, N)
    return over_people(found.min(axis=1))[:, None]


def _trajectory(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    found = distances(predicted, observed[:, None])
    whole = np.where(np.isfinite(found).all(axis=2), found.mean(axis=2), np.inf)  # (n, M, N)
    best = whole.argmin(axis=1)[:, None, None]
    return over_people(np.take_along_axis(found, best, axis=1)[:, 0])[:, None]


pointwise = Metric(_pointwise, ensemble=True)
"""The best sample of each person at each step, which may be another one at the next (Atlas)."""

trajectory = Metric(_trajectory, ensemble=True, independent_leads=False)
"""The sample of each person that is best over all steps (Social GAN, TrajNet++)."""
