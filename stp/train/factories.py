"""What a training by gradient descent is put together from: loss, optimiser, compiled parts."""

import inspect
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from stp.core.errors import StpError, nearest
from stp.core.options import require, whole
from stp.data.prepared import Prepared
from stp.models.model import ForecastModel, file_of, require_shape
from stp.options.named import load
from stp.options.train import LOW_RATE, TrainOptions


def micro_batch(asked: Any, batch: int, model: nn.Module) -> int:
    """Clips that are computed at once; the gradient is that of the whole batch all the same."""
    if asked is None:
        return batch
    require(whole(asked, 1), "runtime.micro_batch", asked, "a whole number from 1")
    norms = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
    if asked < batch and any(isinstance(module, norms) for module in model.modules()):
        raise StpError(
            f"runtime.micro_batch is {asked}: this model normalises over its batch of {batch}",
            expected="a batch that is computed at once, or the results would be others",
            remedy="share it between GPUs (runtime.gpus), or train with a smaller batch_size",
        )
    return int(min(asked, batch))


def too_large(label: str, clips: int, recomputes: bool) -> StpError:
    """What to say where the memory of the device does not hold a step.

    Args:
        label: model and dataset.
        clips: computed at once.
        recomputes: activations are computed again in the backward pass already.
    """
    cheaper = "" if recomputes else "runtime.recompute: true, or "
    return StpError(
        f"{label}: the memory of the device does not hold a step on {clips} clips",
        expected="enough memory for a forward and a backward pass on them",
        remedy=f"set {cheaper}runtime.micro_batch to {max(1, clips // 2)} (the same gradient "
        "in more passes), or runtime.gpus to more devices",
    )


@torch.no_grad()
def move_average(kept: nn.Module, model: nn.Module, decay: float) -> None:
    """Move kept weights a little towards those of a step; counters are taken over.

    Args:
        kept: the weights that are averaged.
        model: those of the step.
        decay: share of theirs that the kept weights take, as ``train.ema``.
    """
    now = model.state_dict()
    for name, average in kept.state_dict().items():
        if average.is_floating_point():
            average.lerp_(now[name], decay)
        else:
            average.copy_(now[name])


def target_channels(targets: Sequence[str], data: Prepared | None) -> list[int] | None:
    """Numbers of the channels that a training compares, in the order of the data; None for all.

    Raises:
        StpError: the data have no such channels.
    """
    if not targets or data is None:
        return None
    names = list(data.attrs.get("variables") or [])
    if unknown := [name for name in targets if name not in names]:
        raise StpError(
            f"train.targets: {data.folder} has no channel {', '.join(unknown)}",
            expected=f"names among {', '.join(names) or 'none: its channels have no names'}",
            remedy=nearest(unknown[0], names),
        )
    return [number for number, name in enumerate(names) if name in targets]


def loss_of(
    model: ForecastModel, options: TrainOptions, context: int, name: str, data: Prepared | None
) -> Callable[..., Tensor]:
    """What is minimised: of clips (B, T, C, H, W) in a step, a scalar.

    A loss that options name takes the place of the errors that a model is trained for, and not of
    what its codes add to them (``drawn_forecast``). Of models that draw lead times (`leads`), it
    takes those of the clips as well.

    Args:
        model: the network.
        options: of the training.
        context: number of frames that the model sees.
        name: of the model, for errors.
        data: for losses of some channels or on some grid; None where options name none of these.

    Raises:
        StpError: the model is trained otherwise, or always forecasts the same where a loss compares
            several forecasts.
    """
    if options.loss is None:
        return _own_loss(model)
    if model.criterion is not None:
        raise StpError(
            f"train.loss is {options.loss!r}, but {name} is not trained by comparing frames",
            expected="no train.loss for this model",
            remedy="take it out of the configuration",
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
            remedy="take train.loss out of its configuration",
        )

    def loss(clips: Tensor, step: int, *leads: Tensor) -> Tensor:
        seen, observed = clips[:, :context], clips[:, context:]
        compared = observed.shape[2] if channels is None else len(channels)
        values = compared * observed[0, 0, 0].numel()
        if members is not None:
            found = [_drawn(model, seen, observed.shape[1], values) for _ in range(members)]
            drawn, terms = zip(*found, strict=True)
            predicted, term = torch.stack(drawn, dim=1), torch.stack(terms).mean()
        elif model.is_sampled:
            predicted, term = _drawn(model, seen, observed.shape[1], values)
        else:
            predicted, observed = model.outputs(clips, step, *leads)
            require_shape(model, predicted, observed.shape, "outputs")
            term = seen.new_zeros(())
        if channels is not None:
            predicted, observed = predicted[..., channels, :, :], observed[..., channels, :, :]
        scalar: Tensor = compare(predicted.float(), observed)
        return scalar + term

    return loss


def _own_loss(model: ForecastModel) -> Callable[..., Tensor]:
    """The loss that a model brings along; a first one that repeats values to compare is refused."""
    is_first = True

    def loss(*given: Any) -> Tensor:
        nonlocal is_first
        if not is_first:
            return model.loss(*given)
        is_first = False
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "Using a target size")  # says torch of other shapes
            try:
                return model.loss(*given)
            except UserWarning as warning:
                raise StpError(
                    f"{file_of(model)}: loss() of {model.implementation.__name__} compares frames "
                    f"of different shapes ({str(warning).partition('. ')[0]})",
                    expected="forecasts of the shape of the frames that came",
                    remedy="correct loss() there",
                ) from warning

    return loss


def against_divergence(
    model: ForecastModel, options: TrainOptions, updates: int, rate: float
) -> str:
    """What to do about a loss or forecasts that are not finite, or a loss that explodes.

    Args:
        model: the network.
        options: of the training.
        updates: of its weights before.
        rate: learning rate of the latest one.
    """
    look = f"look for a logarithm, a root or a division in {file_of(model)}, and at the data"
    if updates == 0:
        return f"no weight has been changed yet, so no option of the training helps: {look}"
    wider = "" if options.precision == "float32" else ", compute in float32 (train.precision)"
    if rate <= LOW_RATE:
        return f"the learning rate is too low to be the reason: {look}{wider}"
    return (
        f"use a lower learning rate (train.lr), clip the gradient (train.clip_norm: 1){wider}; "
        f"train.explodes says what is too large. If that does not help, {look}"
    )


def copy_of(model: nn.Module) -> dict[str, Tensor]:
    """Weights of a model, on the CPU, that no later step changes."""
    return {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}


def _drawn(model: ForecastModel, seen: Tensor, horizon: int, values: int) -> tuple[Tensor, Tensor]:
    """A forecast (B, horizon, C, H, W), and what the model adds to any loss of `values` a frame."""
    forecast, term = model.drawn_forecast(seen, horizon, values)
    require_shape(model, forecast, (len(seen), horizon, *seen.shape[2:]), "drawn_forecast")
    return forecast, term


def put_channels_last(model: nn.Module) -> None:
    """Store filters of two dimensions with their channels beside each other; others stay."""
    for weights in model.parameters():
        if weights.dim() == 4:  # torch has no such format for other ranks
            weights.data = weights.data.contiguous(memory_format=torch.channels_last)


def compile_parts(model: nn.Module) -> None:
    """Compile the parts of a network, reproducibly where trainings settle that; what holds them
    together stays Python.
    """
    # The compiler must be told apart: see stp.models.compute.settle.
    torch.use_deterministic_algorithms(torch.are_deterministic_algorithms_enabled())
    for part in model.children():
        if isinstance(part, (nn.ModuleList, nn.ModuleDict)):
            compile_parts(part)
        else:
            part.compile()


def optimizer_of(model: nn.Module, options: TrainOptions) -> torch.optim.Optimizer:
    """The optimiser that ``train.optimizer`` names, for all parameters of a model."""
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[options.optimizer]
    return kind(model.parameters(), lr=options.lr, weight_decay=options.weight_decay)
