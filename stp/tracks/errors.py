"""How far predictions of people's positions are from where they went.

All that is reported is made of one array, the error of each person, step and sample: any horizon,
and means over people or over scenarios, follow from it.
"""

import numpy as np


def displacement(predicted: np.ndarray, future: np.ndarray) -> np.ndarray:
    """Distances between predicted and true positions.

    Args:
        predicted: (S, N, T, 2), or (K, S, N, T, 2) for K samples, metres.
        future: (S, N, T, 2), metres; NaN for absent people.

    Returns:
        (S, N, T) or (K, S, N, T), metres; NaN for absent people.
    """
    return np.asarray(np.linalg.norm(predicted - future, axis=-1))


def by_scenario(of_people: np.ndarray) -> np.ndarray:
    """Means over the people of each scenario, as Atlas reports: every scenario counts alike.

    Args:
        of_people: (S, N), NaN for absent people.
    """
    there = np.isfinite(of_people)
    return np.asarray(np.where(there, of_people, 0).sum(axis=1) / there.sum(axis=1))


def ade(errors: np.ndarray) -> np.ndarray:
    """Average displacement error of each person: the mean over steps, and over samples.

    Args:
        errors: (S, N, T) or (K, S, N, T).

    Returns:
        (S, N), metres.
    """
    mean = errors.mean(axis=-1)
    return np.asarray(mean.mean(axis=0) if errors.ndim == 4 else mean)


def fde(errors: np.ndarray) -> np.ndarray:
    """Final displacement error of each person: that of the last step, mean over samples."""
    return ade(errors[..., -1:])
