"""Count parameters and multiply-adds of a network, without computing forecasts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from stp.models.create import create
from stp.profiling.forecasts import parts

PRODUCTS = ("aten.bmm", "aten.baddbmm")
"""Matrix products of activations with activations: attention."""


@dataclass(frozen=True)
class Size:
    """Parameters of a network, and multiply-adds for one clip.

    Multiply-adds of convolutions and matrix products are counted by torch.utils.flop_counter;
    normalisation, activations and resampling by interpolation do not count. One multiply-add is two
    floating-point operations.

    Attributes:
        parameters: number of parameters.
        context: number of multiply-adds that are computed once for each forecast.
        evaluation: number of multiply-adds of one evaluation of the network.
        evaluations: number of evaluations of the network in one forecast.
        attention: number of those multiply-adds of an evaluation that multiply activations with
            each other.
    """

    parameters: int
    context: int
    evaluation: int
    evaluations: int
    attention: int

    @property
    def forecast(self) -> int:
        """Number of multiply-adds of one forecast."""
        return self.context + self.evaluations * self.evaluation


def parameters(recipe: Mapping[str, Any]) -> int:
    """Count the parameters of a network, given its recipe (see `size`)."""
    with torch.device("meta"):
        return sum(weights.numel() for weights in create(recipe).parameters())


def size(recipe: Mapping[str, Any]) -> Size:
    """Count parameters and multiply-adds of a network.

    Tensors have shapes but no values (torch's device ``meta``), so this needs no memory.

    Args:
        recipe: recipe of the network, as for `stp.models.create`.
    """
    with torch.device("meta"):
        # Without gradients the counter puts no hooks on weights.
        model = create(recipe).eval().requires_grad_(False)
        frames = torch.empty(1, recipe["context"], *recipe["shape"])
    forecast_parts = parts(model, recipe["context"], recipe["horizon"])
    prepared, in_context = None, 0
    with torch.no_grad():
        if (once := forecast_parts.context) is not None:
            multiply_adds, prepared = _count_multiply_adds(lambda: once(frames))
            in_context = sum(multiply_adds.values())
        multiply_adds, _ = _count_multiply_adds(lambda: forecast_parts.evaluate(frames, prepared))
    return Size(
        parameters=sum(weights.numel() for weights in model.parameters()),
        context=in_context,
        evaluation=sum(multiply_adds.values()) // forecast_parts.together,
        evaluations=forecast_parts.evaluations,
        attention=sum(multiply_adds.get(name, 0) for name in PRODUCTS) // forecast_parts.together,
    )


def _count_multiply_adds(run: Callable[[], object]) -> tuple[dict[str, int], Any]:
    with FlopCounterMode(display=False) as counter:
        result = run()
    counts = counter.get_flop_counts().get("Global", {})
    return {str(operator): flops // 2 for operator, flops in counts.items()}, result
