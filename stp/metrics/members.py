"""Means over the members of an ensemble of what each of them scores."""

import numpy as np

from stp.metrics.comparison import Comparison, on_data
from stp.metrics.metric import Metric


def of_members(metric: Metric) -> Metric:
    """A convention that scores each member and takes the mean, whatever a recipe scores else.

    Of one forecast it is the convention itself.

    Args:
        metric: one whose values are means of statistics, so that the order of means is no matter.
    """

    def bind(own: Metric, compared: Comparison) -> Metric:
        bound = on_data(metric, compared)

        def statistics(
            predicted: np.ndarray, observed: np.ndarray, *numbers: np.ndarray
        ) -> np.ndarray:
            def made(frames: np.ndarray) -> np.ndarray:
                return frames if bound.transform is None else bound.transform(frames, observed)

            truth = made(observed)
            members = (made(predicted[:, m]) for m in range(predicted.shape[1]))
            each = (bound.statistics(member, truth, *numbers) for member in members)
            return np.asarray(sum(each) / predicted.shape[1])

        return own._replace(
            statistics=statistics,
            series=bound.series,
            components=bound.components,
            reason=bound.reason,
        )

    return metric._replace(on_data=bind, ensemble=True)  # transforms are made here
