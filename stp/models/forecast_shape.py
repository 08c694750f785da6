"""Whether a model's forecasts have the shape of what they are compared with.

Arrays of other shapes can often be compared as well, because a side of length 1 is repeated; what
comes of it is a number that means nothing. So whatever a model returns is looked at before anything
is computed from it.
"""

import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from stp.core.errors import StpError

AXES = "clips, lead times, channels, height, width"


def require_forecast(model: nn.Module, forecast: object, frames: Tensor, leads: int) -> None:
    """Refuse what is no forecast of some frames.

    Args:
        model: whose file is named.
        forecast: what it returns.
        frames: that it was shown, (B, T_in, C, H, W).
        leads: number of lead times T that it was asked for.

    Raises:
        StpError: it is no tensor (B, T, C, H, W).
    """
    require_shape(model, forecast, (frames.shape[0], leads, *frames.shape[2:]), "forward")


def require_parts(
    model: nn.Module, parts: Iterator[Tensor], frames: Tensor, leads: int
) -> Iterator[Tensor]:
    """Pass on a forecast in parts of consecutive lead times, (B, t, C, H, W).

    Args:
        model: whose file is named.
        parts: that it makes.
        frames: that it was shown, (B, T_in, C, H, W).
        leads: number of lead times of all parts together.

    Raises:
        StpError: a part has another shape, or there are too few or too many lead times.
    """
    made = 0
    for part in parts:
        steps = part.shape[1] if isinstance(part, Tensor) and part.ndim == 5 else 1
        made += steps
        require_shape(model, part, (frames.shape[0], steps, *frames.shape[2:]), "parts")
        if made > leads:
            break
        yield part
    if made != leads:
        raise StpError(
            f"{file_of(model)}: all that parts() of {type(model).__name__} returns has {made} lead "
            "times",
            expected=f"{leads}, as it is asked for",
            remedy="correct parts() there",
        )


def require_shape(model: nn.Module, found: object, shape: Sequence[int], method: str) -> None:
    """Refuse frames of another shape than they should have.

    Args:
        model: whose file is named.
        found: frames that it returns.
        shape: that they should have.
        method: of the model that returns them.

    Raises:
        StpError: they are no tensor of this shape.
    """
    if isinstance(found, Tensor) and tuple(found.shape) == tuple(shape):
        return
    came = f"shape {tuple(found.shape)}" if isinstance(found, Tensor) else f"a {_kind(found)}"
    raise StpError(
        f"{file_of(model)}: {method}() of {type(model).__name__} returns {came}",
        expected=f"a tensor of shape {tuple(shape)}: {AXES}",
        remedy=f"correct {method}() there",
    )


def watch(model: nn.Module) -> None:
    """Look at the forecasts of a model from now on, whoever asks for them by ``model(frames,
    leads)``: losses, validations, predictions."""
    model.register_forward_hook(_check)


def try_forecast(model: nn.Module, frames: Tensor, leads: int, **told: Any) -> None:
    """Ask for a forecast before a training begins, and leave all as it was.

    Models that are validated without forecasts (``validation_errors``) take long for one, and are
    not asked.

    Args:
        model: the network, as `watch` has it.
        frames: context of any values, (B, T_in, C, H, W).
        leads: number of lead times.
        told: what else it is given.

    Raises:
        StpError: it has another shape.
    """
    if hasattr(model, "validation_errors"):
        return
    is_training = model.training
    model.eval()
    with torch.no_grad():  # what a model keeps for later needs to be fit for gradients
        model(frames, leads, **told)
    model.train(is_training)


def file_of(model: nn.Module) -> Path | str:
    """The file that a model is written in."""
    try:
        return Path(inspect.getfile(type(model)))
    except (OSError, TypeError):  # of a notebook
        return type(model).__name__


def _check(model: nn.Module, given: tuple[Any, ...], forecast: object) -> None:
    if len(given) == 2:
        require_forecast(model, forecast, *given)


def _kind(found: object) -> str:
    shape = getattr(found, "shape", None)
    return type(found).__name__ + (f" of shape {tuple(shape)}" if shape is not None else "")
