"""Spread of an ensemble, and whether it is as large as the error of its mean.

The variance of M members is divided by M - 1. A forecast of one member has no spread: NULL. Where
variables have units of their own, each has a value. ``weighted`` conventions have one for each
variable in any case, and weigh grid points by latitude.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from stp.metrics.comparison import Comparison
from stp.metrics.globe import Area, by_group
from stp.metrics.latitude import of_units, per_variable, weights_of
from stp.metrics.metric import Metric, every_component, needs_data

RATIO = ("spread", "error")

Statistics = Callable[[Area, np.ndarray, np.ndarray], tuple[np.ndarray, ...]]
"""(where something was observed, members (M, G, H, W), observed (G, H, W)) to arrays (G,)."""


def variance(members: np.ndarray) -> np.ndarray:
    """Variance over members, divided by M - 1: (M, ...) to float64 (...)."""
    return members.var(axis=0, ddof=1, dtype=np.float64)


def _variance(area: Area, members: np.ndarray, _: np.ndarray) -> tuple[np.ndarray]:
    return (area.mean(area.only(variance(members))),)


def _deviation(area: Area, members: np.ndarray, _: np.ndarray) -> tuple[np.ndarray]:
    return (area.mean(area.only(np.sqrt(variance(members)))),)


def _error_of_mean(area: Area, members: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Squared."""
    error = area.difference(members.mean(axis=0, dtype=np.float64), observed)
    return area.mean(error, error)


def _error_of_members(area: Area, members: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Mean over members of the roots of their squared errors."""
    errors = (area.difference(member, observed) for member in members)
    return np.mean([np.sqrt(area.mean(error, error)) for error in errors], axis=0)


def _variance_and_error(
    area: Area, members: np.ndarray, observed: np.ndarray
) -> tuple[np.ndarray, ...]:
    return *_variance(area, members, observed), _error_of_mean(area, members, observed)


def _corrected(area: Area, members: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray, ...]:
    spread, error = _variance_and_error(area, members, observed)
    return spread * ((len(members) + 1) / len(members)), error


def _deviation_and_error(
    area: Area, members: np.ndarray, observed: np.ndarray
) -> tuple[np.ndarray, ...]:
    return *_deviation(area, members, observed), _error_of_mean(area, members, observed)


def _deviation_and_members(
    area: Area, members: np.ndarray, observed: np.ndarray
) -> tuple[np.ndarray, ...]:
    return *_deviation(area, members, observed), _error_of_members(area, members, observed)


def _two(means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(..., 2 S, T) to the spreads and the errors, (..., S, T) each."""
    *outer, components, leads = means.shape
    both = means.reshape(*outer, components // 2, 2, leads)
    return both[..., 0, :], both[..., 1, :]


def _ratio_of_squares(means: np.ndarray) -> np.ndarray:
    spread, error = _two(means)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt(spread / error)


def _ratio_to_square(means: np.ndarray) -> np.ndarray:
    spread, error = _two(means)
    with np.errstate(divide="ignore", invalid="ignore"):
        return spread / np.sqrt(error)


def _ratio(means: np.ndarray) -> np.ndarray:
    spread, error = _two(means)
    with np.errstate(divide="ignore", invalid="ignore"):
        return spread / error


def _bound(metric: Metric, compared: Comparison, of: Statistics, weighted: bool) -> Metric:
    parts = RATIO if metric.finish in (_ratio, _ratio_of_squares, _ratio_to_square) else ()
    weights = weights_of(compared.data) if weighted else np.ones(compared.data.shape[1])

    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        assert weights is not None
        return by_group(of, predicted, observed, weights, max(1, len(parts)))

    one = metric._replace(statistics=statistics)
    bound = (per_variable if weighted else of_units)(one, compared, parts)
    if compared.members > 1:
        return bound
    return bound._replace(reason="one sample of each forecast: it has no spread")


def _convention(
    of: Statistics, finish: Callable[[np.ndarray], np.ndarray], *, weighted: bool = False
) -> Metric:
    return Metric(
        needs_data,
        finish=finish,
        leads="mean" if finish is every_component else "pool",
        no_value="the error is 0" if finish not in (every_component, np.sqrt) else "",
        on_data=partial(_bound, of=of, weighted=weighted),
        ensemble=True,
    )


pooled = _convention(_variance, np.sqrt)
"""Root of the mean variance over samples, lead times, H, W, and over C unless variables have units
of their own (Fortin et al. 2014, https://doi.org/10.1175/JHM-D-14-0008.1): what may be compared
with an RMSE."""

mean_deviation = _convention(_deviation, every_component)
"""Mean of the standard deviations; by Jensen's inequality never above ``pooled``."""

skill_ratio = _convention(_corrected, _ratio_of_squares)
"""``pooled`` over the RMSE of the ensemble mean, times sqrt((M + 1) / M): 1 for reliable ensembles
of any size, below 1 for too small a spread (Fortin et al. 2014)."""

skill_ratio_uncorrected = _convention(_variance_and_error, _ratio_of_squares)
"""As ``skill_ratio`` without the factor: reliable ensembles of M members have sqrt(M / (M + 1))."""

weighted = _convention(_variance, np.sqrt, weighted=True)
"""As ``pooled``, for each variable, weighted by latitude: may be compared with ``wrmse.pooled``."""

weighted_mean_deviation = _convention(_deviation, every_component, weighted=True)
"""As ``mean_deviation``, for each variable, weighted by latitude (ChaosBench, equation S22)."""

weighted_skill_ratio = _convention(_corrected, _ratio_of_squares, weighted=True)
"""As ``skill_ratio``, for each variable, weighted by latitude."""

weighted_skill_ratio_uncorrected = _convention(
    _variance_and_error, _ratio_of_squares, weighted=True
)
"""As ``weighted_skill_ratio`` without the factor."""

weighted_deviation_ratio = _convention(_deviation_and_error, _ratio_to_square, weighted=True)
"""``weighted_mean_deviation`` over the RMSE of the ensemble mean (what ChaosBench's code computes,
but for its batches)."""

weighted_deviation_to_members = _convention(_deviation_and_members, _ratio, weighted=True)
"""``weighted_mean_deviation`` over the mean RMSE of the members (ChaosBench, equations S23 and
S14): below 1 for reliable ensembles, whose members err more than their mean."""
