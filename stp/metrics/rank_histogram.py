"""Rank histogram: shares of observations that exceed 0, 1, ..., M of the M members.

A reliable ensemble has 1 / (M + 1) at every rank; a U shape indicates too small a spread, a slope
indicates a bias (Hamill 2001, https://doi.org/10.1175/1520-0493(2001)129<0550:IORHFV>2.0.CO;2). In
score tables, the column ``threshold`` is the rank: the number of members below the observation. If
members equal the observation, the point counts in equal parts for all of its possible ranks.
"""

from collections.abc import Iterable

import numpy as np

from stp.metrics.comparison import Comparison
from stp.metrics.globe import Area, by_group
from stp.metrics.latitude import per_variable, variables_of, weights_of
from stp.metrics.metric import Metric, Series, every_component, needs_data


def _rank_shares(area: Area, members: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray, ...]:
    return _of_ranks(area, members, observed, range(len(members) + 1))


def _of_ranks(
    area: Area, members: np.ndarray, observed: np.ndarray, ranks: Iterable[int]
) -> tuple[np.ndarray, ...]:
    """Share of the area in which the observation has a rank, (G,), for each given rank."""
    below = (members < observed).sum(axis=0)
    equal = (members == observed).sum(axis=0)
    bad = np.isnan(members).any(axis=0)
    each = np.where(bad, np.nan, 1 / (equal + 1))
    return tuple(
        area.mean(area.only(np.where((rank >= below) & (rank <= below + equal), each, 0 * each)))
        for rank in ranks
    )


def _outlier_rate(area: Area, members: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray]:
    lowest, highest = _of_ranks(area, members, observed, (0, len(members)))
    return ((lowest + highest) * (len(members) + 1) / 2,)


def _bind_to_data(metric: Metric, compared: Comparison) -> Metric:
    bound = per_variable(metric, compared)
    weights = weights_of(compared.data)
    if weights is None:
        return bound
    ranks = compared.members + 1
    series = tuple(
        Series(variable=variable, threshold=float(rank))
        for variable in variables_of(compared.data)
        for rank in range(ranks)
    )
    return bound._replace(
        series=series, statistics=lambda p, o: by_group(_rank_shares, p, o, weights, ranks)
    )


def _outliers_on(metric: Metric, compared: Comparison) -> Metric:
    bound = per_variable(metric, compared)
    weights = weights_of(compared.data)
    if weights is None:
        return bound
    return bound._replace(statistics=lambda p, o: by_group(_outlier_rate, p, o, weights, 1))


def rank_histogram() -> Metric:
    """Share of the globe's area in which the observation has each rank among the members.

    There is a share for each variable and rank; those of all ranks of a variable sum to 1.
    """
    return Metric(
        needs_data, finish=every_component, on_data=_bind_to_data, ensemble=True, keep_samples=False
    )


def outliers() -> Metric:
    """Share of observations outside the ensemble's range, relative to a reliable ensemble.

    This is the sum of the shares of the lowest and the highest rank, divided by 2 / (M + 1): 1 for
    reliable ensembles of any size, above 1 for too small a spread or a bias. (Buizza and Palmer
    1998 report the percentage of outliers, without this division.)
    """
    return Metric(needs_data, finish=every_component, on_data=_outliers_on, ensemble=True)
