"""How far predictions of people's positions are from where they went.

All that is reported is made of one array, the error of each person, step and sample: any horizon,
and means over people or over scenarios, follow from it.
"""

import numpy as np

from stp.tracks.densities import Mixture

REGULAR = 1e-6
"""Square metres that are added to the variances of a fitted Gaussian, as scikit-learn does."""


def displacement(predicted: np.ndarray, future: np.ndarray) -> np.ndarray:
    """Distances between predicted and true positions.

    Args:
        predicted: (S, N, T, 2), or (K, S, N, T, 2) for K samples, metres.
        future: (S, N, T, 2), metres; NaN where nobody is.

    Returns:
        (S, N, T) or (K, S, N, T), metres; NaN where nobody is.
    """
    return np.asarray(np.linalg.norm(predicted - future, axis=-1))


def by_scenario(of_people: np.ndarray) -> np.ndarray:
    """Means over the people of each scenario, as Atlas reports: every scenario counts alike.

    Args:
        of_people: (S, N), NaN where nobody is.
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


def top_k_pointwise(errors: np.ndarray) -> np.ndarray:
    """Atlas' Top-k ADE of each person: the best sample of each step, mean over steps.

    The best samples of two steps may be two, so that no single sample is as good; it falls with
    the number of samples alone.

    Args:
        errors: (K, S, N, T).

    Returns:
        (S, N), metres.
    """
    return np.asarray(errors.min(axis=0).mean(axis=-1))


def top_k_trajectory(errors: np.ndarray) -> np.ndarray:
    """Top-k ADE of each person as elsewhere (Social GAN, TrajNet++): that of the best sample.

    Args:
        errors: (K, S, N, T).

    Returns:
        (S, N), metres.
    """
    return np.asarray(errors.mean(axis=-1).min(axis=0))


def final_gaussian_nlp(predicted: np.ndarray, future: np.ndarray) -> np.ndarray:
    """Negative log-probability of the last true position under one Gaussian of the samples.

    That is all that the released code of Atlas has of the paper's NLP.

    Args:
        predicted: (K, S, N, T, 2), metres; at least three samples.
        future: (S, N, T, 2), metres; NaN where nobody is.

    Returns:
        (S, N), nats (of a density per square metre); NaN where nobody is.

    Raises:
        ValueError: there are fewer samples than a covariance needs.
    """
    if len(predicted) < 3:
        raise ValueError(f"{len(predicted)} samples have no covariance: at least 3 are needed")
    last, truth = predicted[..., -1:, :], future[..., -1:, :]
    mean = last.mean(axis=0)
    apart = last - mean
    spread = np.einsum("ksnta,ksntb->sntab", apart, apart) / len(last) + REGULAR * np.eye(2)
    weights = np.ones((*mean.shape[:-1], 1))
    fitted = Mixture(weights, mean[..., None, :], spread[..., None, :, :])
    return -fitted.log_density(truth)[..., 0]


def collisions(predicted: np.ndarray, apart: float = 0.5) -> np.ndarray:
    """Whether somebody is predicted to come closer to another than two people who touch.

    Args:
        predicted: (S, N, T, 2), metres; NaN where nobody is.
        apart: metres between centres.

    Returns:
        bool (S, N): at any step.
    """
    between = np.linalg.norm(predicted[:, :, None] - predicted[:, None], axis=-1)
    own = np.eye(predicted.shape[1], dtype=bool)[None, :, :, None]
    return np.asarray(((between < apart) & ~own).any(axis=(2, 3)))


def misses(errors: np.ndarray, beyond: float = 2.0) -> np.ndarray:
    """Whether every sample ends farther than ``beyond`` metres from the truth.

    Args:
        errors: (S, N, T) or (K, S, N, T).

    Returns:
        float (S, N): 1 or 0; NaN where nobody is.
    """
    last = errors[..., -1]
    best = last.min(axis=0) if errors.ndim == 4 else last
    return np.where(np.isfinite(best), (best > beyond).astype(float), np.nan)
