"""Metrics of ensembles: the mean of the members' scores, or the score of the ensemble mean."""

import numpy as np

from stp.core.errors import ConfigurationError
from stp.metrics.comparison import Comparison, on_data
from stp.metrics.metric import Metric


def of_members(metric: Metric) -> Metric:
    """Make a metric of ensembles whose value is the mean of the members' scores.

    For single forecasts, the value is that of ``metric`` itself.

    Args:
        metric: a metric of single forecasts whose values are means of statistics, so that the order
            of the means over members and over samples does not matter.
    """

    def bind(own: Metric, compared: Comparison) -> Metric:
        bound = on_data(metric, compared)

        def statistics(
            predicted: np.ndarray, observed: np.ndarray, *numbers: np.ndarray
        ) -> np.ndarray:
            def transformed(frames: np.ndarray) -> np.ndarray:
                return frames if bound.transform is None else bound.transform(frames, observed)

            truth = transformed(observed)
            members = (transformed(predicted[:, m]) for m in range(predicted.shape[1]))
            each = (bound.statistics(member, truth, *numbers) for member in members)
            return np.asarray(sum(each) / predicted.shape[1])

        return own._replace(
            statistics=statistics,
            series=bound.series,
            components=bound.components,
            reason=bound.reason,
        )

    return metric._replace(on_data=bind, ensemble=True)  # `statistics` applies the transform


def of_mean(metric: Metric) -> Metric:
    """Make a metric of ensembles whose value is the score of the ensemble mean.

    Args:
        metric: a metric of single forecasts.
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
    """Make a metric of ensembles from a metric of single forecasts.

    Args:
        metric: a metric of single forecasts.
        members: "mean_of_scores", the mean of the members' scores; "score_of_mean", the score of
            the ensemble mean.

    Raises:
        StpError: `members` is another text, or the convention is already one for ensembles.
    """
    compositions = {"mean_of_scores": of_members, "score_of_mean": of_mean}
    if members not in compositions or metric.ensemble:
        raise ConfigurationError(
            f"members: {members!r} of a convention of {'ensembles' if metric.ensemble else 'one'}",
            expected=f"{' or '.join(compositions)}, of a convention of one forecast",
        )
    return compositions[members](metric)
