"""Bias of each variable: predicted minus observed value, in its units; 0 is best."""

from stp.metrics.comparison import Comparison
from stp.metrics.globe import moments
from stp.metrics.latitude import per_variable, weights_of
from stp.metrics.metric import Metric, every_component, needs_data


def _bind_to_data(metric: Metric, compared: Comparison) -> Metric:
    bound = per_variable(metric, compared)
    weights = weights_of(compared.data)
    if weights is None:
        return bound
    return bound._replace(statistics=lambda p, o: moments(p, o, o, weights)[0].swapaxes(1, 2))


def bias() -> Metric:
    """Mean error of each variable, weighted by the cosine of latitude (ChaosBench, equation S2).

    The bias of an ensemble mean is the mean bias of the members (equation S15).
    """
    return Metric(needs_data, finish=every_component, on_data=_bind_to_data)
