"""Parameters and multiply-adds of a network, counted without computing anything."""

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
    """What a network needs for one clip, whatever the machine.

    Multiply-adds are those of convolutions and matrix products, as torch.utils.flop_counter knows
    them; normalisation, activations and resampling by interpolation are left out. One multiply-add
    is two floating point operations.

    Attributes:
        parameters: their number.
        context: multiply-adds that are done once for each forecast.
        evaluation: multiply-adds of one evaluation of the network.
        evaluations: of the network in one forecast.
        attention: the part of `evaluation` that multiplies activations with each other.
    """

    parameters: int
    context: int
    evaluation: int
    evaluations: int
    attention: int

    @property
    def forecast(self) -> int:
        """Multiply-adds of one finished forecast."""
        return self.context + self.evaluations * self.evaluation


def parameters(recipe: Mapping[str, Any]) -> int:
    """Count the parameters of a network.

    Args:
        recipe: as for stp.models.create.
    """
    with torch.device("meta"):
        return sum(weights.numel() for weights in create(recipe).parameters())


def size(recipe: Mapping[str, Any]) -> Size:
    """Count parameters and multiply-adds of a network, on tensors without memory.

    Args:
        recipe: as for stp.models.create.
    """
    with torch.device("meta"):
        # Without gradients the counter puts no hooks on weights.
        model = create(recipe).eval().requires_grad_(False)
        frames = torch.empty(1, recipe["context"], *recipe["shape"])
    whole = parts(model, recipe["context"], recipe["horizon"])
    prepared, in_context = None, 0
    with torch.no_grad():
        if (once := whole.context) is not None:
            found, prepared = _counted(lambda: once(frames))
            in_context = sum(found.values())
        found, _ = _counted(lambda: whole.evaluate(frames, prepared))
    return Size(
        parameters=sum(weights.numel() for weights in model.parameters()),
        context=in_context,
        evaluation=sum(found.values()) // whole.together,
        evaluations=whole.evaluations,
        attention=sum(found.get(name, 0) for name in PRODUCTS) // whole.together,
    )


def _counted(run: Callable[[], object]) -> tuple[dict[str, int], Any]:
    with FlopCounterMode(display=False) as counter:
        result = run()
    found = counter.get_flop_counts().get("Global", {})
    return {str(operator): flops // 2 for operator, flops in found.items()}, result
