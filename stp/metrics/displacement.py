"""Distances between predicted and true positions of people.

A sample is a scenario. Its "frames" are positions: the channels are x and y, there is one row, the
columns are people, and absent people are NaN. The mean is either over the people of each scenario
and then over scenarios, so that all scenarios have equal weight (Atlas), or over all people. The
value of all lead times together is the average displacement error (ADE).
"""

from typing import Literal

import numpy as np

from stp.metrics.metric import Metric


def distances(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Compute distances between predicted and observed positions of N people.

    Positions are stored like frames with two channels, x and y, one row, and a column for each
    person.

    Args:
        predicted: predicted positions, metres, (..., T, 2, 1, N).
        observed: observed positions, metres, (..., T, 2, 1, N); NaN for absent people.

    Returns:
        distances, metres, float64 (..., T, N); NaN for absent people.
    """
    away = predicted.astype(np.float64) - observed
    return np.asarray(np.sqrt((away * away).sum(axis=-3))[..., 0, :])


def over_people(values: np.ndarray) -> np.ndarray:
    """Average over the people who are present.

    Args:
        values: a value of each person, such as a distance, (..., N); NaN or infinite for absent
            people.

    Returns:
        means, (...); NaN where nobody is present.
    """
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
    """Mean distance between predicted and true positions of people, metres.

    Args:
        over: what has equal weight in the mean: "scenarios", after a mean over the people of each
            scenario (Atlas, section III); "people", all people of all scenarios.
    """
    if over == "scenarios":
        return Metric(_by_scenario)
    return Metric(_sums, finish=_ratio, components=("distance", "people"), keep_samples=False)
