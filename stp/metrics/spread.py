"""Spread of an ensemble, and whether it is as large as the error of its mean.

The variance of M members is divided by M - 1. A forecast of one member has no spread: NULL.
"""

import numpy as np

from stp.metrics.comparison import Comparison
from stp.metrics.metric import Metric, first_component


def variance(members: np.ndarray) -> np.ndarray:
    """Variance over members, divided by M - 1: (M, ...) to float64 (...)."""
    return members.var(axis=0, ddof=1, dtype=np.float64)


def _variances(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    each = [variance(members).mean(axis=(1, 2, 3)) for members in predicted]
    return np.stack(each)[:, None]


def _deviations(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    each = [np.sqrt(variance(members)).mean(axis=(1, 2, 3)) for members in predicted]
    return np.stack(each)[:, None]


def _variance_and_error(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    error = predicted.mean(axis=1, dtype=np.float64) - observed
    squares = np.square(error).mean(axis=(2, 3, 4))
    return np.stack([_variances(predicted, observed)[:, 0], squares], axis=1)


def _root(means: np.ndarray) -> np.ndarray:
    return np.sqrt(first_component(means))


def _ratio(means: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt(means[..., 0, :] / means[..., 1, :])


def _several(metric: Metric, compared: Comparison) -> Metric:
    if compared.members > 1:
        return metric
    return metric._replace(reason="one sample of each forecast: it has no spread")


def _corrected(metric: Metric, compared: Comparison) -> Metric:
    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        found = _variance_and_error(predicted, observed)
        found[:, 0] *= (compared.members + 1) / compared.members
        return found

    return _several(metric._replace(statistics=statistics), compared)


pooled = Metric(_variances, finish=_root, leads="pool", on_data=_several, ensemble=True)
"""Root of the mean variance over samples, lead times, C, H, W (Fortin et al. 2014,
https://doi.org/10.1175/JHM-D-14-0008.1): what may be compared with an RMSE."""

mean_deviation = Metric(_deviations, on_data=_several, ensemble=True)
"""Mean of the standard deviations (ChaosBench, equation S22); by Jensen's inequality never above
``pooled``."""

skill_ratio = Metric(
    _variance_and_error,
    finish=_ratio,
    components=("variance", "squared_error"),
    leads="pool",
    no_value="the mean of the members is exact",
    on_data=_corrected,
    ensemble=True,
)
"""Spread over the RMSE of the ensemble mean, times sqrt((M + 1) / M): 1 for reliable ensembles of
any size, below 1 for too small a spread (Fortin et al. 2014)."""

skill_ratio_uncorrected = Metric(
    _variance_and_error,
    finish=_ratio,
    components=("variance", "squared_error"),
    leads="pool",
    no_value="the mean of the members is exact",
    on_data=_several,
    ensemble=True,
)
"""As ``skill_ratio`` without the factor (ChaosBench, equation S23): reliable ensembles of M members
have sqrt(M / (M + 1))."""
