"""Base class of all models of frames, and checks of the shapes that models return.

A model implements `ForecastModel.forward` and, unless it is trained on the squared error of its
forecast, `ForecastModel.loss`. All other methods and attributes have defaults that fit most models.

Shapes are checked because broadcasting often allows arrays of different shapes to be compared, with
meaningless results.
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
    """The batch to which a micro-batch belongs (a part of it that is computed at once).

    Models need it for random numbers that concern the whole batch.

    Attributes:
        clips: number of clips in the whole batch.
        first: index in the batch of the first clip of the micro-batch, from 0.
        seed: seed of the batch's random numbers, the same in all of its micro-batches.
    """

    clips: int
    first: int
    seed: int


class ForecastModel(nn.Module, ABC):
    """Base class of networks and rules that forecast the frames after a context.

    Frames are normalised. Shape letters: B clips, T_in context frames, T_out lead times in
    training; C, H and W are channels, height and width of a frame.

    The constructor of a subclass is called with ``(shape, context, horizon, **options)``: shape
    (C, H, W), T_in, T_out, and the options of the configuration. It passes only ``context`` on to
    the constructor of this class.

    Args:
        context: number of context frames T_in.

    Attributes:
        is_sampled: whether forecasts are random draws: `forward` then has an argument ``member``,
            from 0, and draws a different forecast for each member. A forecast depends only on its
            clip, a seed and the member.
        needs_phase: whether `forward` has the arguments ``phase`` (phase of the first frame of each
            clip, a position in a cycle, such as the calendar month, counted from 0, int64 (B,)) and
            ``interval`` (number of phases from one frame to the next).
        needs_lead_times: whether `forward` has an argument ``lead_times``, a list of ``horizon``
            lead times, from 1, to forecast in place of the first ones.
        leads: lead times to draw from in training, for models that need lead times. In each epoch,
            one lead time is drawn for each clip, only the frame at that lead time is read after the
            context, and `loss` and `outputs` get the lead times of the clips, int64 (B,). Empty if
            training runs use all frames.
        criterion: sentence that describes the validation error, for models whose forecasts take too
            long to compute in training, such as diffusion models. No forecast is then computed in
            training, `validation_errors` returns the described error, and ``train.loss`` is
            refused. None: the squared error of forecasts.
        recompute: whether to recompute activations in the backward pass, with the same result, in
            place of storing them (``runtime.recompute``).
        whole_batch: batch to which the next clips belong, if they are a part of a batch
            (``runtime.micro_batch`` and ``runtime.gpus`` divide batches); None if they are a whole
            batch.
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
        """Forecast the frames that follow the context.

        In evaluation mode, a forecast must be deterministic and depend only on its clip.

        Args:
            frames: context (B, T_in, C, H, W).
            horizon: number of lead times, >= 1, which may differ from the horizon in training.

        Returns:
            forecast, (B, horizon, C, H, W).
        """

    def loss(self, clip: Tensor, step: int) -> Tensor:
        """Compute the loss of a training step; by default the mean squared error of `outputs`.

        Args:
            clip: context and later frames, (B, T_in + T_out, C, H, W).
            step: training iteration, from 0.

        Returns:
            loss, a float32 scalar, averaged over clips.
        """
        predicted, observed = self.outputs(clip, step)
        return F.mse_loss(predicted.float(), observed)

    def outputs(self, clip: Tensor, step: int) -> tuple[Tensor, Tensor]:
        """Compute the frames that ``train.loss`` compares; by default forecast and truth.

        Models that are trained on more than their forecast override this method. For models that
        draw forecasts, `drawn_forecast` is called instead.

        Args:
            clip: context and later frames, (B, T_in + T_out, C, H, W).
            step: training iteration, from 0.

        Returns:
            predicted and observed frames with equal shapes, (B, T, C, H, W).
        """
        context, future = clip[:, : self.context], clip[:, self.context :]
        return self(context, future.shape[1]), future

    def drawn_forecast(self, frames: Tensor, horizon: int, values: int) -> tuple[Tensor, Tensor]:
        """Draw a forecast for ``train.loss``, and compute a term to add to the loss.

        Models with latent codes override this method; by default the term is 0.

        Args:
            frames: context (B, T_in, C, H, W).
            horizon: number of lead times.
            values: number of values of a frame that ``train.loss`` compares: C * H * W, or fewer if
                it compares only some channels.

        Returns:
            the forecast, (B, horizon, C, H, W), and the term, a scalar, such as the weighted
            divergence of latent codes, divided by ``values``.
        """
        return self(frames, horizon), frames.new_zeros(())

    def validation_errors(self, clips: Tensor, **arguments: Any) -> Tensor:
        """Compute errors whose mean is the validation error of an epoch; see also `criterion`.

        Args:
            clips: context and later frames, (B, T_in + T_out, C, H, W).
            arguments: further arguments of `forward`.

        Returns:
            reproducible errors of any shape; by default squared errors of the forecast, (B, T_out,
            C, H, W).
        """
        context, future = clips[:, : self.context], clips[:, self.context :]
        forecast: Tensor = self(context, future.shape[1], **arguments)
        return (forecast.double() - future).square()

    def parts(self, frames: Tensor, horizon: int) -> Iterator[Tensor]:
        """Yield the forecast of `forward` in parts: a few consecutive lead times at a time.

        If a forecast is scored while it is computed, only one part is then in memory. By default,
        the whole forecast is one part.

        Args:
            frames: context (B, T_in, C, H, W).
            horizon: number of lead times of all parts together.

        Yields:
            a part of t lead times, (B, t, C, H, W); t may differ between parts.
        """
        yield self(frames, horizon)

    @property
    def has_parts(self) -> bool:
        """Whether the class overrides `parts`, so that it may yield a few lead times at a time.

        If not, the whole forecast is one part, and must fit into memory.
        """
        return type(self).parts is not ForecastModel.parts

    def begin_epoch(self, epoch: int) -> None:
        """Tell the model the epoch of the next training step; by default, this does nothing.

        It is called before every step, so many times with the same epoch.

        Args:
            epoch: index of the epoch, from 0.
        """

    def fit(self, batches: Iterable[tuple[Tensor, Tensor]], phases: int) -> None:
        """Fit the model in one pass over the training clips (``fit: closed_form``).

        A phase is a position in a cycle, counted from 0. Monthly data with a cycle of a year have
        12 phases, the calendar months. The reader of a dataset sets the cycle; without one, there
        is a single phase.

        Args:
            batches: for each batch of clips, a pair of tensors: normalised frames of context and
                horizon, float32 (B, T_in + T_out, C, H, W), which the next batch overwrites; and
                the phase of the first frame of each clip, int64 (B,).
            phases: number of phases in the cycle, >= 1.

        Raises:
            StpError: the model has no closed-form fit.
        """
        raise StpError(
            f"{file_of(self)}: {self.implementation.__name__} cannot be fitted in closed form",
            expected="a method fit(batches, phases)",
            remedy="write it, or correct fit in the configuration of the model",
        )

    def from_published(self, tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Convert published weights to a state_dict of this model.

        Args:
            tensors: tensors of the weights file, by name.

        Raises:
            StpError: the weights are those of another model.
        """
        return tensors

    @property
    def implementation(self) -> type[nn.Module]:
        """Class that implements the model, to be named in errors: by default the model's own."""
        return type(self)


def file_of(model: ForecastModel) -> Path | str:
    """Source file of a model; in a notebook, the name of its class."""
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
        parts: parts of the forecast, with consecutive lead times.
        frames: context of the forecast, (B, T_in, C, H, W).
        leads: expected number of lead times of all parts together.

    Raises:
        StpError: a part has the wrong shape, or there are too few or too many lead times.
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
    """Refuse a result of a model that is not a tensor with the expected shape.

    Args:
        model: the model, for errors.
        result: return value of the method.
        shape: expected shape.
        method: name of the model's method, for errors.

    Raises:
        StpError: `result` is not a tensor with this shape.
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
    """Check the shape of a forecast before a training run begins, without changing the model.

    Models with a `criterion` are skipped. They are those, such as diffusion models, whose forecasts
    take so long that training runs do without them (`ForecastModel.criterion`).

    Args:
        model: the network.
        frames: context (B, T_in, C, H, W); the values do not matter.
        leads: number of lead times.
        arguments: further arguments of `forward`.

    Raises:
        StpError: the forecast has the wrong shape.
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
