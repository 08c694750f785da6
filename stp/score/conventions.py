"""From the name of a convention to its code: ``ssim.range2`` is ``range2`` of stp.metrics.ssim.

Metrics that one suite alone needs lie in its folder of `stp.suites`.
"""

import difflib
import importlib

from stp.core import leaves
from stp.core.errors import StpError
from stp.metrics.agreement import Agreement
from stp.metrics.metric import Metric
from stp.metrics.perceptual import LearnedMetric, SetDistance

Convention = Metric | LearnedMetric | SetDistance | Agreement
ROOM = "stp.metrics"
EVERY = "every"
"""The metric of all conventions of a module whose YAML alone tells them apart."""


def find(name: str) -> Convention:
    """The metric behind ``<metric>.<choice>``.

    Raises:
        StpError: there is none; names the nearest.
    """
    module, _, choice = name.partition(".")
    if module in _modules():
        attributes = vars(importlib.import_module(leaves.module_of(ROOM, module)))
        metric = attributes.get(choice, attributes.get(EVERY))
        if isinstance(metric, Convention):
            return metric
    known = [f"{module}.{choice}" for module in _modules() for choice in choices(module)]
    of_the_module = [other for other in known if other.startswith(f"{module}.")]
    near = difflib.get_close_matches(name, known, n=3) or of_the_module
    raise StpError(
        f"unknown convention {name!r}",
        expected=", ".join(known),
        remedy=f"did you mean {' or '.join(near)}?" if near else "choose one of these",
    )


def choices(module: str) -> list[str]:
    """Names of the conventions in one module of metrics, sorted."""
    attributes = vars(importlib.import_module(leaves.module_of(ROOM, module)))
    return sorted(name for name, value in attributes.items() if isinstance(value, Convention))


def _modules() -> list[str]:
    return leaves.names_in(ROOM)
