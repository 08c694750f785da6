"""Negative log-density of the true positions of people, in nats (densities per square metre).

The density is estimated from predicted samples (``final_gaussian``, ``kde``), or is predicted
itself, as a mixture of Gaussians or a grid (``density``). These kinds of values are not comparable.
A convention has no value if a predictor does not provide what it needs.
"""

from functools import partial
from typing import Literal

import numpy as np
from scipy.special import logsumexp

from stp.metrics.comparison import Comparison
from stp.metrics.displacement import over_people
from stp.metrics.metric import Metric, needs_data

REGULAR = 1e-6
"""Added to variances, square metres, as in scikit-learn."""

FEWEST = 3
"""Minimum number of samples for a covariance of two coordinates."""

LEAST = -20.0
"""Lower bound of log-densities (TrajNet++)."""


def gaussian_nlp(samples: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Negative log-density of the true positions under one Gaussian fitted to predicted ones.

    Args:
        samples: positions that M ensemble members predict, metres, (M, ..., 2).
        truth: true positions, metres, (..., 2); NaN for absent people.

    Returns:
        negative log-densities, nats, (...); NaN for absent people.
    """
    mean = samples.mean(axis=0)
    away = samples - mean
    xx, yy = ((away[..., i] ** 2).mean(axis=0) + REGULAR for i in (0, 1))
    xy = (away[..., 0] * away[..., 1]).mean(axis=0)
    area = xx * yy - xy * xy
    x, y = np.moveaxis(truth - mean, -1, 0)
    square = (yy * x * x - 2 * xy * x * y + xx * y * y) / area
    return np.asarray(0.5 * square + 0.5 * np.log(area) + np.log(2 * np.pi))


def _final_gaussian(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    if predicted.shape[1] < FEWEST:
        return np.full((len(predicted), 1, 1), np.inf)
    samples = np.moveaxis(predicted[:, :, -1, :, 0].astype(np.float64), (1, 2), (0, -1))
    truth = np.moveaxis(observed[:, -1, :, 0].astype(np.float64), 1, -1)
    return over_people(gaussian_nlp(samples, truth))[:, None, None]


def final_gaussian() -> Metric:
    """Negative log-density of the last true position under a Gaussian, nats.

    The Gaussian is fitted, for each person, to the last positions that the ensemble members
    predict. This is the only negative log-density in Atlas' released code.
    """
    return Metric(
        _final_gaussian,
        ensemble=True,
        independent_leads=False,
        no_value=f"fewer than {FEWEST} samples of each prediction have no covariance",
    )


def kde_log_density(samples: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Log-density of the true positions under a kernel density estimate from predicted ones.

    The covariance of the Gaussian kernels is that of the samples times M^(-1/3) (Scott's rule in
    two dimensions), as in `scipy.stats.gaussian_kde`.

    Args:
        samples: positions that M ensemble members predict, metres, (M, ..., 2).
        truth: true positions, metres, (..., 2); NaN for absent people.

    Returns:
        log-densities, nats, not clipped, (...); NaN for absent people; infinite if all samples lie
        on a line.
    """
    count = len(samples)
    away = samples - samples.mean(axis=0)
    wide = count ** (-1 / 3) / (count - 1)
    xx, yy = ((away[..., i] ** 2).sum(axis=0) * wide for i in (0, 1))
    xy = (away[..., 0] * away[..., 1]).sum(axis=0) * wide
    area = xx * yy - xy * xy
    flat = area <= 1e-12 * xx * yy
    x, y = np.moveaxis(truth - samples, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = (yy * x * x - 2 * xy * x * y + xx * y * y) / area
        each = logsumexp(-0.5 * square, axis=0)
        densities = each - 0.5 * np.log(area) - np.log(2 * np.pi * count)
    present = np.isfinite(truth).all(axis=-1)
    return np.where(present, np.where(flat, np.inf, densities), np.nan)


def _kde(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    if predicted.shape[1] < FEWEST:
        return np.full((len(predicted), 1, observed.shape[1]), np.inf)
    samples = np.moveaxis(predicted[..., 0, :].astype(np.float64), (1, 3), (0, -1))
    truth = np.moveaxis(observed[..., 0, :].astype(np.float64), 2, -1)  # (n, T, N, 2)
    return _over_people(-np.maximum(kde_log_density(samples, truth), LEAST))


def _over_people(values: np.ndarray) -> np.ndarray:
    """Mean over the N people of scenarios, (n, T, N) to (n, 1, T).

    The mean is infinite, which counts as no value, if the value of one person is infinite.
    """
    none = np.isinf(values).any(axis=-1)
    return np.where(none, np.inf, over_people(values))[:, None]


def _on_density(metric: Metric, compared: Comparison, kind: str) -> Metric:
    """Bind the metric to predicted densities of one kind; without them, set the reason."""
    stored = compared.densities.get(kind)
    if stored is None:
        return metric._replace(reason=f"these predictions have no {kind}")
    densities = np.maximum(stored, LEAST) if kind == "grid" else stored

    def statistics(
        _: np.ndarray, __: np.ndarray, numbers: np.ndarray, leads: np.ndarray
    ) -> np.ndarray:
        return _over_people(-np.moveaxis(densities[numbers], 1, 2)[:, leads])

    return metric._replace(statistics=statistics)


def kde() -> Metric:
    """Negative log-density of the true positions under a kernel density estimate, nats.

    The density at each lead time is estimated, for each person, from the positions that the
    ensemble members predict. Log-densities below -20 count as -20 (TrajNet++).
    """
    why = f"fewer than {FEWEST} samples of each prediction, or some on a line, have no density"
    return Metric(_kde, ensemble=True, no_value=why)


def density(*, kind: Literal["mixture", "grid"]) -> Metric:
    """Negative log-density of the true positions under the density that the model predicts, nats.

    Args:
        kind: form of the density: "mixture", a mixture of Gaussians, not clipped; "grid", the
            probability of the grid cell with the true position, divided by the area of the cell;
            logarithms below -20 count as -20.
    """
    return Metric(
        needs_data,
        on_data=partial(_on_density, kind=kind),
        ensemble=True,
        numbered=True,
        no_value="a mixture has no density where somebody went" if kind == "mixture" else "",
    )
