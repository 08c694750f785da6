"""What a training by gradient descent is put together from: loss, optimiser, compiled parts."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from stp.core.errors import StpError
from stp.core.options import require, whole
from stp.options.named import load
from stp.options.train import TrainOptions


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


def loss_of(
    model: nn.Module, options: TrainOptions, context: int, name: str
) -> Callable[[Tensor, int], Tensor]:
    """What is minimised: of clips (B, T, C, H, W) in a step, a scalar."""
    if options.loss is None:
        own: Callable[[Tensor, int], Tensor] = model.loss  # type: ignore[assignment]
        return own
    if hasattr(model, "validation_errors"):
        raise StpError(
            f"train.loss is {options.loss!r}, but {name} is not trained by comparing frames",
            expected="no train.loss for this model",
            remedy="take it out of the configuration",
        )
    compare = load("train.loss", "losses", options.loss)

    def loss(clips: Tensor, step: int) -> Tensor:
        if hasattr(model, "outputs"):
            predicted, observed = model.outputs(clips, step)  # type: ignore[operator]
        else:
            predicted = model(clips[:, :context], clips.shape[1] - context)
            observed = clips[:, context:]
        scalar: Tensor = compare(predicted.float(), observed)
        return scalar

    return loss


def compile_parts(model: nn.Module) -> None:
    """Compile the parts of a network; what holds them together stays Python."""
    for part in model.children():
        if isinstance(part, (nn.ModuleList, nn.ModuleDict)):
            compile_parts(part)
        else:
            part.compile()


def optimizer_of(model: nn.Module, options: TrainOptions) -> torch.optim.Optimizer:
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[options.optimizer]
    return kind(model.parameters(), lr=options.lr, weight_decay=options.weight_decay)
