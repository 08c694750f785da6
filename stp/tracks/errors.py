"""Displacement errors of predicted positions.

Errors are computed for each person, step and sample, so errors up to any horizon, and means over
people or scenarios, can be derived from them.
"""

import numpy as np


def displacement(predicted: np.ndarray, future: np.ndarray) -> np.ndarray:
    """Distances between predicted and true positions.

    Args:
        predicted: predicted positions of N people in S scenarios at T steps, (S, N, T, 2), or (K,
            S, N, T, 2) for K samples, metres.
        future: true positions, (S, N, T, 2), metres; NaN for absent people.

    Returns:
        distances, (S, N, T) or (K, S, N, T), metres; NaN for absent people.
    """
    return np.asarray(np.linalg.norm(predicted - future, axis=-1))


def by_scenario(of_people: np.ndarray) -> np.ndarray:
    """Mean error over the people of each of S scenarios, (S,), as in the Atlas benchmark.

    Args:
        of_people: error of each of N people, (S, N), metres; NaN for absent people.
    """
    present = np.isfinite(of_people)
    return np.asarray(np.where(present, of_people, 0).sum(axis=1) / present.sum(axis=1))


def ade(errors: np.ndarray) -> np.ndarray:
    """Average displacement error (ADE) of each person: mean over steps and samples.

    Args:
        errors: distances from the truth of N people in S scenarios at T steps, (S, N, T), or (K, S,
            N, T) for K samples, metres.

    Returns:
        errors, (S, N), metres.
    """
    mean = errors.mean(axis=-1)
    return np.asarray(mean.mean(axis=0) if errors.ndim == 4 else mean)


def fde(errors: np.ndarray) -> np.ndarray:
    """Final displacement error (FDE) of each person: mean over samples at the last step.

    Args:
        errors: distances from the truth of N people in S scenarios at T steps, (S, N, T), or (K, S,
            N, T) for K samples, metres.

    Returns:
        errors, (S, N), metres.
    """
    return ade(errors[..., -1:])
