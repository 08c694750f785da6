"""Build conventions (exact definitions of metrics) from recipes.

A recipe defines a convention by the name of a function and options.
"""

import importlib
from collections.abc import Mapping
from typing import Any

from stp.core.errors import ConfigurationError, StpError
from stp.metrics.metric import Convention, Metric
from stp.options.conventions import COMPOSITIONS, ROOM, function_of, module_of


def build(name: str, definition: Mapping[str, Any]) -> Convention:
    """Build a convention (one exact definition of a metric) from its definition in a recipe.

    Args:
        name: name of the convention, for errors.
        definition: name of a function in ``stp.metrics``, and its options, such as
            ``{"function": "ssim", "data_range": 2}``. Four options can be added to any function
            that needs no network:

            - ``region``: name of the part of the globe that is scored, such as ``tropics``
              (`stp.metrics.regions`);
            - ``windows``: lead times over which frames are averaged before they are compared, such
              as ``weeks`` (`stp.metrics.weeks`);
            - ``members``: how an ensemble is scored: ``mean_of_scores`` or ``score_of_mean``
              (`stp.metrics.members`);
            - ``batch``: number of samples in a batch; the value is the mean of the means of batches
              (`stp.metrics.batches`).

    Raises:
        StpError: the function does not exist, or its options are wrong.
    """
    module, function = module_of(definition), function_of(definition)[1]
    try:
        make = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"{name}: there is no function {function} in {module} ({error})",
            expected="a function that returns a Metric",
        ) from None
    options = {key: value for key, value in definition.items() if key != "function"}
    composed = {key: options.pop(key) for key in COMPOSITIONS if key in options}
    try:
        metric: Convention = make(**options)
    except (TypeError, KeyError) as error:
        raise ConfigurationError(
            f"{name}: {function} cannot have these options ({error})",
            expected=f"those of {module}.{function}, or {', '.join(COMPOSITIONS)}",
        ) from None
    if not isinstance(metric, Convention):
        raise StpError(f"{name}: {module}.{function} does not return a convention")
    for key, value in composed.items():
        if not isinstance(metric, Metric):
            raise StpError(
                f"{name}: option {key} for a convention that uses a network",
                expected="options of the function only",
                remedy=f"take {key} out of the convention",
            )
        composition = importlib.import_module(f"{ROOM}.{COMPOSITIONS[key]}")
        composed_metric: Metric = composition.compose(metric, value)
        metric = composed_metric
    return metric
