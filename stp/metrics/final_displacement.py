"""Distance between predicted and true position of people at the last lead time (FDE)."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from stp.metrics.displacement import displacement
from stp.metrics.metric import Metric


def _last_position_only(statistics: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    def of_the_last(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        return statistics(predicted[:, -1:], observed[:, -1:])

    return of_the_last


def final_displacement(*, over: Literal["scenarios", "people"]) -> Metric:
    """Mean distance between predicted and true position at the last lead time, metres.

    Args:
        over: unit of the mean: "scenarios", the means over the people of each scenario, so that all
            scenarios have equal weight; "people", all people of all scenarios, with equal weights.
    """
    metric = displacement(over=over)
    return metric._replace(
        statistics=_last_position_only(metric.statistics), independent_leads=False
    )
