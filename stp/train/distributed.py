"""Several processes that train one network: each computes its share of every batch.

The launcher (stp.launch) starts the processes and names a TCP store where they meet. Gradients
are averaged over all clips of the batch, so the result is that of one process up to the order
of additions, and the draws of what is random inside a step (one stream per process).
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed
from torch import Tensor

TIMEOUT = timedelta(minutes=30)
"""How long a process waits for the others: longer than their slowest step or validation."""


@dataclass(frozen=True)
class Ranks:
    """The processes of a training, and which of them this is."""

    rank: int = 0
    size: int = 1

    def average_gradients(
        self, parameters: Iterable[Tensor], share: float, loss: Tensor, stop: bool
    ) -> tuple[float, bool]:
        """Replace the gradients by their mean over all clips of the batch.

        One all-reduce of one flat buffer, which carries the loss and the wish to stop as well,
        so that all processes stop after the same step.

        Args:
            parameters: of the network; gradients of this process are the mean over its clips.
            share: part of the batch that this process computed; all shares add up to 1.
            loss: of this share, a scalar.
            stop: does this process want to stop?

        Returns:
            the loss of the whole batch, and whether any process wants to stop.
        """
        if self.size == 1:
            return loss.item(), stop
        trained = [p for p in parameters if p.requires_grad]
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in trained]
        extra = torch.stack([loss.detach().float(), torch.full_like(loss.float(), stop / share)])
        flat = torch.cat([extra, *(g.flatten() for g in gradients)]) * share
        torch.distributed.all_reduce(flat)
        total, stops = flat[:2].tolist()
        start = 2
        for parameter, gradient in zip(trained, gradients, strict=True):
            mean = flat[start : start + gradient.numel()].view_as(gradient)
            start += gradient.numel()
            # What no process used stays without gradient, as in one process.
            if parameter.grad is not None or mean.any():
                parameter.grad = mean
        return total, stops > 0.5

    def sum(self, *values: float) -> list[float]:
        """Add numbers over all processes, in double precision."""
        if self.size == 1:
            return list(values)
        on_gpu = torch.distributed.get_backend() == "nccl"
        sums = torch.tensor(values, dtype=torch.float64, device="cuda" if on_gpu else "cpu")
        torch.distributed.all_reduce(sums)
        return [float(value) for value in sums]


@contextmanager
def join(place: dict[str, Any] | None, device: str) -> Iterator[Ranks]:
    """Meet the other processes, until the end of the block.

    Args:
        place: ``rank``, ``size``, ``local_rank`` (number of the process on its machine), ``host``
            and ``port`` of the store; None for a process of its own.
        device: auto, cpu or cuda.
    """
    if place is None:
        yield Ranks()
        return
    on_gpu = device != "cpu" and torch.cuda.is_available()
    if on_gpu:
        torch.cuda.set_device(place["local_rank"] % torch.cuda.device_count())
    store = torch.distributed.TCPStore(place["host"], place["port"], timeout=TIMEOUT)
    torch.distributed.init_process_group(
        "nccl" if on_gpu else "gloo",
        store=store,
        rank=place["rank"],
        world_size=place["size"],
        timeout=TIMEOUT,
    )
    try:
        yield Ranks(place["rank"], place["size"])
    finally:
        torch.distributed.destroy_process_group()
