"""Distance between predicted and true position of people at the last lead time (FDE)."""

from collections.abc import Callable

import numpy as np

from stp.metrics import displacement


def _last(statistics: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    def of_the_last(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        return statistics(predicted[:, -1:], observed[:, -1:])

    return of_the_last


by_scenario = displacement.by_scenario._replace(
    statistics=_last(displacement.by_scenario.statistics), independent_leads=False
)
"""Mean over people, then over scenarios (Atlas, section III)."""

by_person = displacement.by_person._replace(
    statistics=_last(displacement.by_person.statistics), independent_leads=False
)
"""Mean over all people of all scenarios."""
