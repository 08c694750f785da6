"""Means over the members of an ensemble of what each of them scores."""

import numpy as np

from stp.core.errors import StpError
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


def of_mean(metric: Metric) -> Metric:
    """A convention that scores the mean of the members, whatever a recipe scores else.

    Args:
        metric: of one forecast.
    """

    def bind(own: Metric, compared: Comparison) -> Metric:
        bound = on_data(metric, compared)

        def statistics(
            predicted: np.ndarray, observed: np.ndarray, *numbers: np.ndarray
        ) -> np.ndarray:
            mean = predicted.mean(axis=1, dtype=np.float64).astype(predicted.dtype)
            truth = observed
            if bound.transform is not None:
                mean, truth = bound.transform(mean, observed), bound.transform(observed, observed)
            return bound.statistics(mean, truth, *numbers)

        return own._replace(
            statistics=statistics,
            series=bound.series,
            components=bound.components,
            reason=bound.reason,
        )

    return metric._replace(on_data=bind, ensemble=True)


def compose(metric: Metric, members: str) -> Metric:
    """The mean of the scores of all members, or the score of their mean.

    Args:
        metric: of one forecast.
        members: "mean_of_scores" or "score_of_mean".

    Raises:
        StpError: something else, or the convention is one of ensembles already.
    """
    made = {"mean_of_scores": of_members, "score_of_mean": of_mean}
    if members not in made or metric.ensemble:
        raise StpError(
            f"members: {members!r} of a convention of {'ensembles' if metric.ensemble else 'one'}",
            expected=f"{' or '.join(made)}, of a convention of one forecast",
            remedy="correct the convention",
        )
    return made[members](metric)
