"""The base class of all models of frames, and the check of the shapes that they return.

A model implements `ForecastModel.forward`, and `ForecastModel.loss` if it is trained on anything
but the squared error of its forecast. All other methods and attributes that trainings, predictions
and measurements use have defaults here that fit most models.

Shapes are checked because arrays of different shapes can often be compared all the same, by
broadcasting, with meaningless results.
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
    """The batch that a part belongs to, for random numbers that concern the batch as a whole.

    Attributes:
        clips: number of clips of the whole batch.
        first: number of the first clip of this part, from 0.
        seed: seed of random numbers of the batch, the same in all of its parts.
    """

    clips: int
    first: int
    seed: int


class ForecastModel(nn.Module, ABC):
    """A network or a rule that forecasts the frames that follow a context.

    Frames are normalised. Shape letters: B clips, T_in context frames, T_out lead times in
    training; C, H and W are channels, height and width of a frame.

    The constructor of a subclass is called with ``(shape, context, horizon, **options)``: shape
    (C, H, W), T_in, T_out, and the options of the configuration.

    Args:
        context: number of context frames T_in.

    Attributes:
        is_sampled: whether forecasts are drawn: `forward` has an argument ``member``, from 0, and
            draws a different forecast for each. A forecast depends on its clip, a seed and the
            member alone.
        needs_phase: whether `forward` has the arguments ``phase``, the phase of the first context
            frames, int64 (B,), such as the month of the year, and ``interval``, the number of
            phases between two frames.
        needs_lead_times: whether `forward` has an argument ``lead_times``, a list of ``horizon``
            lead times from 1, which are forecast instead of the first ones.
        leads: lead times to draw from in training, for models that need lead times. Each clip has
            one of them in an epoch, only the frame at that lead time is read after the context, and
            `loss` and `outputs` are given the lead times of the clips, int64 (B,). Empty: a
            training shows all frames.
        criterion: description, as a sentence, of the criterion by which epochs are compared where
            this is not the squared error of forecasts, because a forecast takes too long. Then none
            is made while training, `validation_errors` returns the criterion, and ``train.loss`` is
            refused.
        recompute: whether activations should be computed again in the backward pass, with the same
            result, instead of being kept (``runtime.recompute``).
        whole_batch: the batch that the next clips are a part of (``runtime.micro_batch`` and
            ``runtime.gpus`` divide batches). None: the clips are a whole batch.
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
        """Forecast frames. In evaluation a forecast is deterministic and depends on its clip alone.

        Args:
            frames: context (B, T_in, C, H, W).
            horizon: number of lead times, from 1; it may differ from that of the training.

        Returns:
            (B, horizon, C, H, W).
        """

    def loss(self, clip: Tensor, step: int) -> Tensor:
        """The loss of a training step: by default the mean squared error of `outputs`.

        Args:
            clip: context and later frames, (B, T_in + T_out, C, H, W).
            step: training iteration, from 0.

        Returns:
            a float32 scalar, the mean over the clips.
        """
        predicted, observed = self.outputs(clip, step)
        return F.mse_loss(predicted.float(), observed)

    def outputs(self, clip: Tensor, step: int) -> tuple[Tensor, Tensor]:
        """The frames that ``train.loss`` compares: by default forecast and truth after the context.

        Overridden by models that are trained on more than their forecast. For models that draw
        forecasts `drawn_forecast` is called instead.

        Args:
            clip: context and later frames, (B, T_in + T_out, C, H, W).
            step: training iteration, from 0.

        Returns:
            predicted and observed frames of one shape, (B, T, C, H, W).
        """
        context, future = clip[:, : self.context], clip[:, self.context :]
        return self(context, future.shape[1]), future

    def drawn_forecast(self, frames: Tensor, horizon: int, values: int) -> tuple[Tensor, Tensor]:
        """A drawn forecast for ``train.loss``, and a term to add to any loss.

        Overridden by models that draw latent codes; by default a forecast and 0.

        Args:
            frames: context (B, T_in, C, H, W).
            horizon: number of lead times.
            values: number of values of a frame that are compared.

        Returns:
            the forecast (B, horizon, C, H, W), and a scalar, such as the weighted divergence of the
            codes per compared value.
        """
        return self(frames, horizon), frames.new_zeros(())

    def validation_errors(self, clips: Tensor, **arguments: Any) -> Tensor:
        """Squared errors whose mean is the criterion of an epoch; see also `criterion`.

        Args:
            clips: context and later frames, (B, T_in + T_out, C, H, W).
            arguments: further arguments of `forward`.

        Returns:
            reproducible errors of any shape; by default of the forecast, (B, T_out, C, H, W).
        """
        context, future = clips[:, : self.context], clips[:, self.context :]
        forecast: Tensor = self(context, future.shape[1], **arguments)
        return (forecast.double() - future).square()

    def parts(self, frames: Tensor, horizon: int) -> Iterator[Tensor]:
        """The forecast of `forward` in parts of consecutive lead times, (B, t, C, H, W).

        A forecast that is scored while it is computed then needs the memory of one part only.
        """
        yield self(frames, horizon)

    @property
    def has_parts(self) -> bool:
        """Whether the class overrides `parts`, so that forecasts come in several parts."""
        return type(self).parts is not ForecastModel.parts

    def begin_epoch(self, epoch: int) -> None:
        """Hook that is called before each step with the number of its epoch, from 0."""

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
        """Convert published weights to a state_dict of this model.

        Args:
            tensors: tensors of the file that ``weights`` names, by name.

        Raises:
            StpError: the weights are those of another model.
        """
        return tensors

    @property
    def implementation(self) -> type[nn.Module]:
        """The class that errors name, in which the model is implemented."""
        return type(self)


def file_of(model: ForecastModel) -> Path | str:
    """The source file of a model; the name of its class in a notebook."""
    try:
        return Path(inspect.getfile(model.implementation))
    except (OSError, TypeError):  # defined in a notebook
        return model.implementation.__name__


def require_parts(
    model: ForecastModel, parts: Iterator[Tensor], frames: Tensor, leads: int
) -> Iterator[Tensor]:
    """Check the shapes of the parts of a forecast, (B, t, C, H, W), and pass them on.

    Args:
        model: the model, for errors.
        parts: parts of its forecast, of consecutive lead times.
        frames: context of the forecast, (B, T_in, C, H, W).
        leads: number of lead times of all parts together.

    Raises:
        StpError: a part has another shape, or there are too few or too many lead times.
    """
    count = 0
    for part in parts:
        steps = part.shape[1] if isinstance(part, Tensor) and part.ndim == 5 else 1
        count += steps
        require_shape(model, part, (frames.shape[0], steps, *frames.shape[2:]), "parts")
        if count > leads:
            break
        yield part
    if count != leads:
        raise StpError(
            f"{file_of(model)}: parts() of {model.implementation.__name__} returns {count} lead "
            "times",
            expected=f"{leads} lead times in all parts together",
            remedy="correct parts() there",
        )


def require_shape(model: ForecastModel, result: object, shape: Sequence[int], method: str) -> None:
    """Refuse a result of a model unless it is a tensor of the expected shape.

    Args:
        model: the model, for errors.
        result: return value of the method.
        shape: expected shape.
        method: name of the method.

    Raises:
        StpError: `result` is no tensor of this shape.
    """
    if isinstance(result, Tensor) and tuple(result.shape) == tuple(shape):
        return
    kind = f"shape {tuple(result.shape)}" if isinstance(result, Tensor) else f"a {_kind(result)}"
    raise StpError(
        f"{file_of(model)}: {method}() of {model.implementation.__name__} returns {kind}",
        expected=f"a tensor of shape {tuple(shape)}: {AXES}",
        remedy=f"correct {method}() there",
    )


def try_forecast(model: ForecastModel, frames: Tensor, leads: int, **arguments: Any) -> None:
    """Check the shape of a forecast before a training begins; the model is left as it was.

    Models with a `criterion` are not tried, because one forecast of theirs takes long.

    Args:
        model: the network.
        frames: context (B, T_in, C, H, W), whose values do not matter.
        leads: number of lead times.
        arguments: further arguments of `forward`.

    Raises:
        StpError: the forecast has another shape.
    """
    if model.criterion is not None:
        return
    is_training = model.training
    model.eval()
    with torch.no_grad():  # not inference mode: tensors that a model caches must allow gradients
        model(frames, leads, **arguments)
    model.train(is_training)


def _check(model: ForecastModel, arguments: tuple[Any, ...], forecast: object) -> None:
    if len(arguments) == 2:
        frames, horizon = arguments
        require_shape(model, forecast, (frames.shape[0], horizon, *frames.shape[2:]), "forward")


def _kind(result: object) -> str:
    shape = getattr(result, "shape", None)
    return type(result).__name__ + (f" of shape {tuple(shape)}" if shape is not None else "")
