"""Bias of each variable: predicted less observed, in its units; 0 is right."""

import numpy as np

from stp.metrics.comparison import Comparison
from stp.metrics.globe import Area, by_group
from stp.metrics.latitude import per_variable, weights_of
from stp.metrics.metric import Metric, every_component, needs_data


def _errors(area: Area, predicted: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray]:
    error = area.difference(predicted, observed)
    return (area.mean(error),)


def _on(metric: Metric, compared: Comparison) -> Metric:
    bound = per_variable(metric, compared)
    weights = weights_of(compared.data)
    if weights is None:
        return bound
    return bound._replace(statistics=lambda p, o: by_group(_errors, p, o, weights, 1))


weighted = Metric(needs_data, finish=every_component, on_data=_on)
"""Mean of the errors, weighted by the cosine of latitude (ChaosBench, equation S2). The mean of an
ensemble has the mean bias of its members (equation S15)."""
