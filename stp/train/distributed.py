"""Data-parallel training: several processes train one network, each on a share of every batch.

The launcher (stp.run.cluster.launch) starts the processes and gives them the address of torch's TCP
store, through which they find each other. Gradients and statistics of batch norms are computed over
all clips of the batch, so the result equals that of one process, except for the order of additions
and the random numbers inside a step (each process has its own stream).
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed
from torch import Tensor, nn
from torch.distributed.nn.functional import all_reduce  # unlike the plain one, differentiable

from stp.core.errors import StpError

TIMEOUT = timedelta(minutes=30)
"""Longest wait for other processes: longer than their slowest step or validation."""


@dataclass(frozen=True)
class Ranks:
    """The rank of this process, from 0, and the number of processes that train the model."""

    rank: int = 0
    size: int = 1

    def add_gradients(
        self, parameters: Iterable[Tensor], loss: Tensor, stop: bool
    ) -> tuple[float, bool]:
        """Replace the gradients by their sums over all processes.

        This is one all-reduce of a flat buffer, which also contains the loss and the request to
        stop, so that all processes stop after the same step.

        Args:
            parameters: parameters of the network, with the gradients of ``loss``.
            loss: mean loss of this process's clips, times their share of the batch; a scalar.
            stop: whether this process was asked to stop.

        Returns:
            the loss of the whole batch, and whether any process was asked to stop.
        """
        if self.size == 1:
            return loss.item(), stop
        trained = [p for p in parameters if p.requires_grad]
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in trained]
        extra = torch.stack([loss.detach().float(), torch.full_like(loss.float(), float(stop))])
        flat = torch.cat([extra, *(gradient.flatten() for gradient in gradients)])
        torch.distributed.all_reduce(flat)
        total, stops = flat[:2].tolist()
        start = 2
        for parameter, gradient in zip(trained, gradients, strict=True):
            whole = flat[start : start + gradient.numel()].view_as(gradient)
            start += gradient.numel()
            # Parameters that no process used stay without gradient, as in one process.
            if parameter.grad is not None or whole.any():
                parameter.grad = whole
        return total, stops > 0

    def sum(self, *values: float) -> list[float]:
        """Sum each number over all processes, in double precision."""
        if self.size == 1:
            return list(values)
        on_gpu = torch.distributed.get_backend() == "nccl"
        sums = torch.tensor(values, dtype=torch.float64, device="cuda" if on_gpu else "cpu")
        torch.distributed.all_reduce(sums)
        return [float(value) for value in sums]


class _SharedBatchNorm(nn.BatchNorm2d):
    """Batch normalisation with statistics over the clips of all processes, on any device.

    torch's SyncBatchNorm works on GPUs only.
    """

    def forward(self, frames: Tensor) -> Tensor:
        """Normalise frames (B, C, H, W)."""
        if not self.training:
            return super().forward(frames)
        wide = frames.float()
        count = torch.tensor(float(wide.numel() // wide.shape[1]), device=wide.device)
        torch.distributed.all_reduce(count)
        mean = all_reduce(wide.sum((0, 2, 3))) / count
        centred = wide - mean[:, None, None]
        variance = all_reduce(centred.square().sum((0, 2, 3))) / count
        with torch.no_grad():
            assert self.running_mean is not None and self.running_var is not None
            assert self.num_batches_tracked is not None and self.momentum is not None
            self.num_batches_tracked += 1
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * count / (count - 1), self.momentum)
        normal = centred * (variance + self.eps).rsqrt()[:, None, None]
        return normal * self.weight[:, None, None] + self.bias[:, None, None]


def share_batch_norms(network: nn.Module) -> None:
    """Let all batch norms of a network use statistics over the clips of all processes."""
    for module in network.modules():
        if type(module) is nn.BatchNorm2d:
            module.__class__ = _SharedBatchNorm


def check_shared_norms(network: nn.Module) -> None:
    """Refuse batch norms that `share_batch_norms` does not replace.

    Raises:
        StpError: the network has such a norm.
    """
    for module in network.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm3d)):
            raise StpError(
                f"{type(module).__name__} would normalise each process's share of a batch alone",
                expected="nn.BatchNorm2d, or norms of single clips",
                remedy="train in one process (runtime.gpus: 1), or with another norm",
            )


@contextmanager
def join(address: dict[str, Any] | None, device: str) -> Iterator[Ranks]:
    """Context manager: connect the processes of a training run.

    Args:
        address: ``rank`` (number of this process, from 0), ``size`` (number of processes) and
            ``local_rank`` (number of this process on its machine); ``host`` and ``port`` of torch's
            TCP store, through which processes find each other. None for a single process.
        device: device of the network: auto, cpu or cuda.

    Yields:
        rank of this process and number of processes; with a single process, 0 and 1.
    """
    if address is None:
        yield Ranks()
        return
    on_gpu = device != "cpu" and torch.cuda.is_available()
    if on_gpu:
        torch.cuda.set_device(address["local_rank"] % torch.cuda.device_count())
    store = torch.distributed.TCPStore(address["host"], address["port"], timeout=TIMEOUT)
    torch.distributed.init_process_group(
        "nccl" if on_gpu else "gloo",
        store=store,
        rank=address["rank"],
        world_size=address["size"],
        timeout=TIMEOUT,
    )
    try:
        yield Ranks(address["rank"], address["size"])
    finally:
        torch.distributed.destroy_process_group()
