"""Spread of an ensemble, and its ratio to the error.

The variance over M members is the sum of squared deviations divided by M - 1. A forecast with one
member has no spread: its score is NULL. If variables have different units, each has a value of its
own. ``weighted`` conventions always have a value for each variable, and weight grid points by
latitude.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np

from stp.core.errors import ConfigurationError
from stp.metrics.comparison import Comparison
from stp.metrics.globe import Area, by_group
from stp.metrics.latitude import of_units, per_variable, weights_of
from stp.metrics.metric import Metric, every_component, needs_data

RATIO = ("spread", "error")

Statistics = Callable[[Area, np.ndarray, np.ndarray], tuple[np.ndarray, ...]]
"""Function of observed area, members (M, G, H, W) and observed fields (G, H, W): arrays (G,)."""
Finish = Callable[[np.ndarray], np.ndarray]
"""Function of means of statistics that returns values."""


def variance(members: np.ndarray) -> np.ndarray:
    """Variance over members, divided by M - 1: (M, ...) to float64 (...)."""
    return np.asarray(members.var(axis=0, ddof=1, dtype=np.float64))


def _variance(area: Area, members: np.ndarray, _: np.ndarray) -> tuple[np.ndarray]:
    return (area.mean(area.only(variance(members))),)


def _deviation(area: Area, members: np.ndarray, _: np.ndarray) -> tuple[np.ndarray]:
    return (area.mean(area.only(np.sqrt(variance(members)))),)


def _error_of_mean(area: Area, members: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Mean squared error of the ensemble mean, (G,)."""
    error = area.difference(members.mean(axis=0, dtype=np.float64), observed)
    return area.mean(error, error)


def _error_of_members(area: Area, members: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Mean over members of the root mean squared error, (G,)."""
    errors = (area.difference(member, observed) for member in members)
    return np.asarray(np.mean([np.sqrt(area.mean(error, error)) for error in errors], axis=0))


def _variance_and_error(
    area: Area, members: np.ndarray, observed: np.ndarray
) -> tuple[np.ndarray, ...]:
    return *_variance(area, members, observed), _error_of_mean(area, members, observed)


def _corrected_variance(
    area: Area, members: np.ndarray, observed: np.ndarray
) -> tuple[np.ndarray, ...]:
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


def _split_spread_error(means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split means (..., 2 S, T) into spreads and errors, (..., S, T) each."""
    *outer, components, leads = means.shape
    pair = means.reshape(*outer, components // 2, 2, leads)
    return pair[..., 0, :], pair[..., 1, :]


def _ratio_of_squares(means: np.ndarray) -> np.ndarray:
    spread, error = _split_spread_error(means)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(spread / error))


def _ratio_to_square(means: np.ndarray) -> np.ndarray:
    spread, error = _split_spread_error(means)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(spread / np.sqrt(error))


def _ratio(means: np.ndarray) -> np.ndarray:
    spread, error = _split_spread_error(means)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(spread / error)


def _bind_data(metric: Metric, compared: Comparison, of: Statistics, weighted: bool) -> Metric:
    parts = RATIO if metric.finish in (_ratio, _ratio_of_squares, _ratio_to_square) else ()
    weights = weights_of(compared.data) if weighted else np.ones(compared.data.shape[1])

    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        assert weights is not None
        return by_group(of, predicted, observed, weights, max(1, len(parts)))

    per_sample = metric._replace(statistics=statistics)
    bound = (per_variable if weighted else of_units)(per_sample, compared, parts)
    if compared.members > 1:
        return bound
    return bound._replace(reason="one sample of each forecast: it has no spread")


_STATISTICS: dict[tuple[str, str | None, bool], tuple[Statistics, Finish]] = {
    ("variance", None, False): (_variance, np.sqrt),
    ("deviation", None, False): (_deviation, every_component),
    ("variance", "mean", False): (_variance_and_error, _ratio_of_squares),
    ("variance", "mean", True): (_corrected_variance, _ratio_of_squares),
    ("deviation", "mean", False): (_deviation_and_error, _ratio_to_square),
    ("deviation", "members", False): (_deviation_and_members, _ratio),
}


def spread(
    *,
    of: Literal["variance", "deviation"],
    over_error_of: Literal["mean", "members"] | None = None,
    corrected: bool = False,
    weighted: bool = False,
) -> Metric:
    """Spread of the members of an ensemble, or ratio of this spread to an error.

    Args:
        of: averaged quantity. "variance": root of the mean variance over samples, lead times, H, W,
            and over C unless variables have different units; comparable to an RMSE (Fortin et al.
            2014, https://doi.org/10.1175/JHM-D-14-0008.1). "deviation": mean of the standard
            deviations (ChaosBench, equation S22), which by Jensen's inequality is never above the
            former.
        over_error_of: divisor of the spread: "mean", the RMSE of the ensemble mean; "members", the
            mean RMSE of the members, which is larger (ChaosBench, equations S23 and S14); None for
            no division.
        corrected: whether the ratio is multiplied by sqrt((M + 1) / M), so that it is 1 for
            reliable ensembles of any size, and below 1 for too small a spread (Fortin et al. 2014).
            Without this, reliable ensembles of M members have sqrt(M / (M + 1)).
        weighted: whether grid points are weighted by latitude, with one value for each variable.

    Raises:
        ConfigurationError: the combination of options is not defined.
    """
    if (of, over_error_of, corrected) not in _STATISTICS:
        raise ConfigurationError(
            f"a spread of {of} over the error of {over_error_of}, corrected: {corrected}",
            expected="; ".join(f"{a} over {b}, corrected: {c}" for a, b, c in _STATISTICS),
        )
    statistics, finish = _STATISTICS[of, over_error_of, corrected]
    return Metric(
        needs_data,
        finish=finish,
        leads="mean" if finish is every_component else "pool",
        no_value="the error is 0" if over_error_of else "",
        on_data=partial(_bind_data, of=statistics, weighted=weighted),
        ensemble=True,
    )
