"""Parameters and multiply-adds of the networks of Table 19, without measurements."""

from typing import Any

from stp.core.job import Report, silent
from stp.plan.config import Config
from stp.plan.profiled_networks import network
from stp.profiling import DATASET
from stp.profiling.measure import describe_size
from stp.profiling.published import published
from stp.profiling.size import size
from stp.profiling.table19 import as_published


def count(config: Config, report: Report = silent) -> dict[str, Any]:
    """Count the networks of the table, in its order.

    Returns:
        ``size`` and ``as_published`` of each network, as in a measurement.

    Raises:
        StpError: the published values are damaged.
    """
    names = list(published(config))
    counts = {}
    for number, name in enumerate(names):
        report(name, number, len(names))
        recipe = network(config, name, DATASET)
        counted = size(recipe)
        counts[name] = {
            "size": describe_size(counted),
            "as_published": vars(as_published(recipe, counted)),
        }
    return counts
