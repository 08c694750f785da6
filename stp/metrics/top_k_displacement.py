"""Displacement error of the best of K predictions; it decreases as K grows."""

from typing import Literal

import numpy as np

from stp.metrics.displacement import distances, over_people
from stp.metrics.metric import Metric


def _pointwise(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    errors = distances(predicted, observed[:, None])  # (n, M, T, N)
    return over_people(errors.min(axis=1))[:, None]


def _trajectory(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    errors = distances(predicted, observed[:, None])
    whole = np.where(np.isfinite(errors).all(axis=2), errors.mean(axis=2), np.inf)  # (n, M, N)
    best = whole.argmin(axis=1)[:, None, None]
    return over_people(np.take_along_axis(errors, best, axis=1)[:, 0])[:, None]


def top_k_displacement(*, best_of: Literal["steps", "paths"]) -> Metric:
    """Mean distance from the truth of the best predicted sample of each person, metres.

    Args:
        best_of: choice of the best sample: "steps", the nearest sample at each step, not
            necessarily the same at all steps (Atlas); "paths", the sample with the smallest mean
            distance over all steps (Social GAN, TrajNet++).
    """
    if best_of == "steps":
        return Metric(_pointwise, ensemble=True)
    return Metric(_trajectory, ensemble=True, independent_leads=False)
