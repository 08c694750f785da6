"""Build the parts of a training run by gradient descent, such as loss and optimiser."""

import inspect
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from stp.core.errors import StpError, suggest_name
from stp.core.options import require, whole
from stp.data.prepared import Prepared
from stp.models.model import ForecastModel, file_of, require_shape
from stp.options.named import load
from stp.options.train import LOW_RATE, TrainOptions


def micro_batch(requested: Any, batch: int, model: nn.Module) -> int:
    """Choose how many clips of a batch to compute at once, which does not change the gradient.

    Args:
        requested: setting ``micro_batch``, 1..batch; None for the whole batch.
        batch: number of clips in a batch.
        model: the network.

    Raises:
        StpError: `requested` is out of range, or the model normalises over its batch.
    """
    if requested is None:
        return batch
    require(whole(requested, 1), "runtime.micro_batch", requested, "a whole number from 1")
    norms = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
    if requested < batch and any(isinstance(module, norms) for module in model.modules()):
        raise StpError(
            f"runtime.micro_batch is {requested}: this model normalises over its batch of {batch}",
            expected="a batch that is computed at once, since results would differ",
            remedy="share it between GPUs (runtime.gpus), or train with a smaller batch_size",
        )
    return int(min(requested, batch))


def too_large(label: str, clips: int, recomputes: bool) -> StpError:
    """Make the error for a training step that exceeds the memory of the device.

    Args:
        label: names of model and dataset.
        clips: number of clips that are computed at once.
        recomputes: whether activations are computed again in the backward pass.
    """
    cheaper = "" if recomputes else "runtime.recompute: true, or "
    return StpError(
        f"{label}: a step on {clips} clips exceeds the memory of the device",
        remedy=f"set {cheaper}runtime.micro_batch to {max(1, clips // 2)} (the same gradient "
        "in more passes), or runtime.gpus to more devices",
    )


@torch.no_grad()
def move_average(kept: nn.Module, model: nn.Module, rate: float) -> None:
    """Update an exponential moving average of weights: (1 - rate) * kept + rate * model.

    Integers, such as counters, are copied.

    Args:
        kept: network with the averaged weights, updated in place.
        model: network with the latest weights.
        rate: weight of the latest weights, from 0 to 1 (``train.ema``). What the literature calls
            "decay" is the weight of the previous average, here 1 - rate.
    """
    latest = model.state_dict()
    for name, average in kept.state_dict().items():
        if average.is_floating_point():
            average.lerp_(latest[name], rate)
        else:
            average.copy_(latest[name])


def target_channels(targets: Sequence[str], data: Prepared | None) -> list[int] | None:
    """Indices of the channels that loss and validation compare, in the order of the data.

    Args:
        targets: names of these channels (``train.targets``); empty for all.
        data: prepared data; None if it is unknown.

    Returns:
        the indices; None for all channels.

    Raises:
        StpError: the data have no channel with a given name.
    """
    if not targets or data is None:
        return None
    names = list(data.attrs.get("variables") or [])
    if unknown := [name for name in targets if name not in names]:
        raise StpError(
            f"train.targets: {data.folder} has no channel {', '.join(unknown)}",
            expected=f"names among {', '.join(names) or 'none: its channels have no names'}",
            remedy=suggest_name(unknown[0], names),
        )
    return [number for number, name in enumerate(names) if name in targets]


def loss_of(
    model: ForecastModel, options: TrainOptions, context: int, name: str, data: Prepared | None
) -> Callable[..., Tensor]:
    """Build the loss function of a training run.

    Unless the configuration sets ``train.loss``, it is the model's own loss. If it does, the named
    loss replaces the error terms of the model's own loss. The divergence term of latent codes,
    which `ForecastModel.drawn_forecast` returns, is still added.

    Args:
        model: the network.
        options: options of the training.
        context: number of context frames.
        name: name of the model, for errors.
        data: prepared data, for losses that depend on channels or grid; None for other losses.

    Returns:
        a function that returns the loss of a batch, a scalar. Its arguments are the clips, (B, T,
        C, H, W), and the number of the training step, from 0. If lead times are drawn in training
        (attribute `ForecastModel.leads`), a third argument is the lead time of each clip, int64
        (B,).

    Raises:
        StpError: ``train.loss`` is set, but does not suit the model. Either no forecast is computed
            in its training (`ForecastModel.criterion`), as for diffusion models; or the loss
            compares several forecasts of a clip, and the model is deterministic.
    """
    if options.loss is None:
        return _own_loss(model)
    if model.criterion is not None:
        raise StpError(
            f"train.loss is {options.loss!r}, but {name} is not trained by comparing frames",
            remedy="remove train.loss from the configuration of the model",
        )
    compare = load("train.loss", "losses", options.loss)
    parameters = inspect.signature(compare).parameters
    channels = target_channels(options.targets, data)
    if "data" in parameters and data is not None:
        compare = partial(compare, data=data if channels is None else data.only(np.array(channels)))
    members = parameters["members"].default if "members" in parameters else None
    if members is not None and not model.is_sampled:
        raise StpError(
            f"train.loss is {options.loss!r}, which compares {members} forecasts of each clip, but "
            f"those of {name} are all the same",
            expected="a model that draws its forecasts (is_sampled), such as vae",
            remedy="remove train.loss from its configuration",
        )

    def loss(clips: Tensor, step: int, *leads: Tensor) -> Tensor:
        frames, observed = clips[:, :context], clips[:, context:]
        compared = observed.shape[2] if channels is None else len(channels)
        values = compared * observed[0, 0, 0].numel()
        if members is not None:
            draws = [
                _draw_forecast(model, frames, observed.shape[1], values) for _ in range(members)
            ]
            drawn, terms = zip(*draws, strict=True)
            predicted, term = torch.stack(drawn, dim=1), torch.stack(terms).mean()
        elif model.is_sampled:
            predicted, term = _draw_forecast(model, frames, observed.shape[1], values)
        else:
            predicted, observed = model.outputs(clips, step, *leads)
            require_shape(model, predicted, observed.shape, "outputs")
            term = frames.new_zeros(())
        if channels is not None:
            predicted, observed = predicted[..., channels, :, :], observed[..., channels, :, :]
        scalar: Tensor = compare(predicted.float(), observed)
        return scalar + term

    return loss


def _own_loss(model: ForecastModel) -> Callable[..., Tensor]:
    """The model's own loss; its first call raises an error if it compares different shapes."""
    is_first = True

    def loss(*arguments: Any) -> Tensor:
        nonlocal is_first
        if not is_first:
            return model.loss(*arguments)
        is_first = False
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "Using a target size")  # torch, of different shapes
            try:
                return model.loss(*arguments)
            except UserWarning as warning:
                raise StpError(
                    f"{file_of(model)}: loss() of {model.implementation.__name__} compares frames "
                    f"of different shapes ({str(warning).partition('. ')[0]})",
                    expected="forecasts of the shape of the observed frames",
                    remedy="correct loss() there",
                ) from warning

    return loss


def against_divergence(
    model: ForecastModel, options: TrainOptions, updates: int, rate: float
) -> str:
    """Advise a user whose training diverged: the last part of the error's text.

    It names options that may help, such as a lower learning rate, or says that the code of the
    model and the data are more likely to be wrong.

    Args:
        model: the network.
        options: options of the training.
        updates: number of previous updates.
        rate: learning rate of the latest update.
    """
    look = f"look for a logarithm, a root or a division in {file_of(model)}, and at the data"
    if updates == 0:
        return f"before the first update, no option of the training helps: {look}"
    wider = "" if options.precision == "float32" else ", compute in float32 (train.precision)"
    if rate <= LOW_RATE:
        return f"the learning rate is too low to be the reason: {look}{wider}"
    return (
        f"use a lower learning rate (train.lr), clip the gradient (train.clip_norm: 1){wider}; "
        f"train.explodes says what is too large. If that does not help, {look}"
    )


def copy_of(model: nn.Module) -> dict[str, Tensor]:
    """Copy the weights of a model to the CPU, by name."""
    return {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}


def _draw_forecast(
    model: ForecastModel, frames: Tensor, horizon: int, values: int
) -> tuple[Tensor, Tensor]:
    forecast, term = model.drawn_forecast(frames, horizon, values)
    require_shape(model, forecast, (len(frames), horizon, *frames.shape[2:]), "drawn_forecast")
    return forecast, term


def put_channels_last(model: nn.Module) -> None:
    """Convert the weights of 2-D convolutions to torch's memory format channels_last."""
    for weights in model.parameters():
        if weights.dim() == 4:  # torch lacks this format for other ranks
            weights.data = weights.data.contiguous(memory_format=torch.channels_last)


def compile_parts(model: nn.Module) -> None:
    """Compile each child module of a network with torch; the code between them stays Python."""
    # `settle` does not tell the compiler about deterministic algorithms.
    torch.use_deterministic_algorithms(torch.are_deterministic_algorithms_enabled())
    for part in model.children():
        if isinstance(part, (nn.ModuleList, nn.ModuleDict)):
            compile_parts(part)
        else:
            part.compile()


def optimizer_of(model: nn.Module, options: TrainOptions) -> torch.optim.Optimizer:
    """Build the optimiser that ``train.optimizer`` names, for all parameters of a model."""
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[options.optimizer]
    return kind(model.parameters(), lr=options.lr, weight_decay=options.weight_decay)
