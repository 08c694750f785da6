"""Distances between predicted and true positions of people.

A sample is a scenario: "frames" are positions, channels x and y, with a column for each person; NaN
where nobody is. The mean is over the people of each scenario, so that every scenario counts alike,
as in Atlas, or over all people. Over all lead times it is the average displacement error (ADE).
"""

from typing import Literal

import numpy as np

from stp.metrics.metric import Metric


def distances(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Distances of positions, metres.

    Args:
        predicted: (..., T, 2, 1, N).
        observed: (..., T, 2, 1, N), metres; NaN where nobody is.

    Returns:
        float64 (..., T, N); NaN where nobody is.
    """
    away = predicted.astype(np.float64) - observed
    return np.asarray(np.sqrt((away * away).sum(axis=-3))[..., 0, :])


def over_people(values: np.ndarray) -> np.ndarray:
    """Mean over the people of each scenario: (..., N) to (...)."""
    present = np.isfinite(values)
    return np.asarray(np.where(present, values, 0).sum(axis=-1) / present.sum(axis=-1))


def _by_scenario(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    return over_people(distances(predicted, observed))[:, None]


def _sums(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    errors = distances(predicted, observed)
    present = np.isfinite(errors)
    return np.stack([np.where(present, errors, 0).sum(axis=-1), present.sum(axis=-1)], axis=1)


def _ratio(means: np.ndarray) -> np.ndarray:
    return np.asarray(means[..., 0, :] / means[..., 1, :])


def displacement(*, over: Literal["scenarios", "people"]) -> Metric:
    """One convention.

    Args:
        over: the mean over people, then over scenarios (Atlas, section III); or over all people of
            all scenarios.
    """
    if over == "scenarios":
        return Metric(_by_scenario)
    return Metric(_sums, finish=_ratio, components=("distance", "people"), keep_samples=False)
