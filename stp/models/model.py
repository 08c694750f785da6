"""A model of frames: the class that all of them inherit from, and the check of what they return.

A model has two methods to write, `ForecastModel.forward` and `ForecastModel.loss`, and the second
only if it is trained on something else than the squared error of its forecast. Everything else that
a training, a prediction or a measurement asks of a model is a method or an attribute here, with a
default that holds for most models.

Arrays of other shapes than those they are compared with can often be compared as well, because a
side of length 1 is repeated; the result is a number that means nothing. So whatever a model returns
is looked at before anything is computed from it.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stp.core.errors import StpError

AXES = "clips, lead times, channels, height, width"


class WholeBatch(NamedTuple):
    """What all parts of a batch have in common, for draws that concern the batch as a whole.

    Attributes:
        clips: of the whole batch.
        first: number of the first clip of this part, from 0.
        seed: for random numbers of the batch; the same in all of its parts.
    """

    clips: int
    first: int
    seed: int


class ForecastModel(nn.Module, ABC):
    """A network, or a rule, that forecasts the frames after a few.

    Frames are normalised. B is the number of clips, T_in of context frames, T_out of lead times in
    training; C, H and W are channels, height and width of a frame.

    The constructor of a subclass is called with ``(shape, context, horizon, **options)``: shape
    (C, H, W), T_in, T_out, and the options of the configuration.

    Args:
        context: number of context frames T_in.

    Attributes:
        is_sampled: forecasts are drawn: `forward` has an argument ``member``, from 0, and draws
            another forecast for each. They depend on the clip, a seed and the member alone.
        needs_phase: `forward` has arguments ``phase``, of the first context frames, int64 (B,),
            such as the month of the year, and ``interval``, phases from one frame to the next.
        needs_lead_times: `forward` has an argument ``lead_times``, a list of ``horizon`` lead times
            from 1, and forecasts these instead of the first ones.
        leads: of models that need lead times, those to draw from in training: each clip has one of
            them in an epoch, only the frame of that lead time is read after the context, and `loss`
            and `outputs` are given the lead times of the clips, int64 (B,). Empty: a training shows
            all frames.
        criterion: what epochs are compared by, as a sentence, if it is not the squared error of
            forecasts because one takes too long: then no forecast is made while training,
            `validation_errors` returns what is compared, and ``train.loss`` is refused.
        recompute: set to true by ``runtime.recompute``: activations should be computed again in the
            backward pass, with the same result, instead of being kept.
        whole_batch: what is set before each part of a batch (``runtime.micro_batch`` and
            ``runtime.gpus`` divide them). None: the clips are a whole batch.
    """

    is_sampled: bool = False
    needs_phase: bool = False
    needs_lead_times: bool = False
    leads: Sequence[int] = ()
    criterion: str | None = None
    recompute: bool = False
    whole_batch: WholeBatch | None = None

    def __init__(self, context: int) -> None:
        super().__init__()
        self.context = context
        self.register_forward_hook(_check)

    @abstractmethod
    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        """Forecast. In evaluation a forecast is deterministic, and depends on its own clip alone.

        Args:
            frames: context (B, T_in, C, H, W).
            horizon: number of lead times, from 1; it may differ from that of the training.

        Returns:
            (B, horizon, C, H, W).
        """

    def loss(self, clip: Tensor, step: int) -> Tensor:
        """What a training step minimises: by default the mean squared error of `outputs`.

        Args:
            clip: (B, T_in + T_out, C, H, W).
            step: training iteration, from 0.

        Returns:
            a scalar in float32, a mean over the clips.
        """
        predicted, observed = self.outputs(clip, step)
        return F.mse_loss(predicted.float(), observed)

    def outputs(self, clip: Tensor, step: int) -> tuple[Tensor, Tensor]:
        """What ``train.loss`` compares: by default the forecast and the frames after the context.

        For models that are trained on more than their forecast. Of models that draw forecasts,
        `drawn_forecast` is asked instead.

        Args:
            clip: (B, T_in + T_out, C, H, W).
            step: training iteration, from 0.

        Returns:
            predicted and observed frames of one shape, (B, T, C, H, W).
        """
        context, future = clip[:, : self.context], clip[:, self.context :]
        return self(context, future.shape[1]), future

    def drawn_forecast(self, frames: Tensor, horizon: int, values: int) -> tuple[Tensor, Tensor]:
        """A forecast for ``train.loss`` of a model that draws it, and a term to add to any loss.

        For models that draw codes; by default a forecast, and 0.

        Args:
            frames: context (B, T_in, C, H, W).
            horizon: number of lead times.
            values: number of values of a frame that are compared.

        Returns:
            the forecast (B, horizon, C, H, W), and a scalar such as the weighted divergence of the
            codes for each compared value.
        """
        return self(frames, horizon), frames.new_zeros(())

    def validation_errors(self, clips: Tensor, **told: Any) -> Tensor:
        """Squared errors whose mean is the criterion of an epoch; see also `criterion`.

        Args:
            clips: (B, T_in + T_out, C, H, W).
            told: further arguments of `forward`.

        Returns:
            of any shape, the same each time; by default of the forecast, (B, T_out, C, H, W).
        """
        context, future = clips[:, : self.context], clips[:, self.context :]
        forecast: Tensor = self(context, future.shape[1], **told)
        return (forecast.double() - future).square()

    def parts(self, frames: Tensor, horizon: int) -> Iterator[Tensor]:
        """Make the forecast of `forward` in parts of consecutive lead times, (B, t, C, H, W).

        Forecasts that are scored while they are made then need only the memory of one part.
        """
        yield self(frames, horizon)

    @property
    def has_parts(self) -> bool:
        """Whether forecasts are made in several parts: whether a subclass has `parts`."""
        return type(self).parts is not ForecastModel.parts

    def begin_epoch(self, epoch: int) -> None:
        """Called before each step with the number of its epoch, from 0."""

    def fit(self, batches: Iterable[tuple[Tensor, Tensor]], phases: int) -> None:
        """Fit the model in one pass over the training clips (``fit: closed_form``).

        Args:
            batches: pairs of clips (B, T, C, H, W), overwritten by the next batch, and the phase
                of their first frames (B,).
            phases: number of phases in a cycle, >= 1.

        Raises:
            StpError: the model has no such fit.
        """
        raise StpError(
            f"{file_of(self)}: {self.implementation.__name__} cannot be fitted in closed form",
            expected="a method fit(batches, phases)",
            remedy="write it, or correct fit in the configuration of the model",
        )

    def from_published(self, tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Turn weights as they were published into a state_dict of this model.

        Args:
            tensors: of the file that ``weights`` names.

        Raises:
            StpError: they are those of another model.
        """
        return tensors

    @property
    def implementation(self) -> type[nn.Module]:
        """The class that errors name: where to correct what the model returns."""
        return type(self)


def file_of(model: ForecastModel) -> Path | str:
    """The file that a model is written in."""
    try:
        return Path(inspect.getfile(model.implementation))
    except (OSError, TypeError):  # of a notebook
        return model.implementation.__name__


def require_parts(
    model: ForecastModel, parts: Iterator[Tensor], frames: Tensor, leads: int
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
            f"{file_of(model)}: all that parts() of {model.implementation.__name__} returns has "
            f"{made} lead times",
            expected=f"{leads}, as it is asked for",
            remedy="correct parts() there",
        )


def require_shape(model: ForecastModel, found: object, shape: Sequence[int], method: str) -> None:
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
        f"{file_of(model)}: {method}() of {model.implementation.__name__} returns {came}",
        expected=f"a tensor of shape {tuple(shape)}: {AXES}",
        remedy=f"correct {method}() there",
    )


def try_forecast(model: ForecastModel, frames: Tensor, leads: int, **told: Any) -> None:
    """Ask for a forecast before a training begins, and leave all as it was.

    Models that are validated without forecasts take long for one, and are not asked.

    Args:
        model: the network.
        frames: context of any values, (B, T_in, C, H, W).
        leads: number of lead times.
        told: what else it is given.

    Raises:
        StpError: it has another shape.
    """
    if model.criterion is not None:
        return
    is_training = model.training
    model.eval()
    with torch.no_grad():  # what a model keeps for later needs to be fit for gradients
        model(frames, leads, **told)
    model.train(is_training)


def _check(model: ForecastModel, given: tuple[Any, ...], forecast: object) -> None:
    """Refuse what ``model(frames, horizon)`` returns unless it is a forecast of the frames."""
    if len(given) == 2:
        frames, horizon = given
        require_shape(model, forecast, (frames.shape[0], horizon, *frames.shape[2:]), "forward")


def _kind(found: object) -> str:
    shape = getattr(found, "shape", None)
    return type(found).__name__ + (f" of shape {tuple(shape)}" if shape is not None else "")
