"""Measure memory that a computation needs and that a device has free, and refuse too large work."""

import os
import resource
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.profiler import ProfilerActivity, profile

from stp.core.errors import StpError

CUDA_METHOD = "torch's peak of allocated memory on the GPU"
CPU_METHOD = (
    "weights and other tensors that were there, and the peak of what torch's allocator gave out "
    "beyond them (torch.profiler)"
)


def peak(run: Callable[[], object], device: torch.device, tensors: Iterable[Tensor]) -> int:
    """Peak memory of tensors and workspaces during a computation, in bytes.

    Args:
        run: the computation, as a function.
        device: device of the computation.
        tensors: tensors that exist before it; the profiler of a CPU does not see these.
    """
    if device.type == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        run()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated()
    before = sum(storage.nbytes() for storage in _storages(tensors).values())
    profiler = profile(activities=[ProfilerActivity.CPU], profile_memory=True)
    with _silence_stderr():
        profiler.start()
    run()
    with _silence_stderr():
        profiler.stop()
    results: Any = profiler.profiler.kineto_results  # type: ignore[union-attr]
    changes = [(e.start_ns(), e.nbytes()) for e in results.events() if e.name() == "[memory]"]
    changes.sort(key=lambda change: change[0])
    return before + max(accumulate((nbytes for _, nbytes in changes), initial=0))


def process_peak() -> int:
    """Peak main memory of this process since its start, with libraries, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def activation_bytes(model: nn.Module, loss: Callable[[], Tensor]) -> int:
    """Memory of the activations that are kept from a loss until its backward pass, in bytes.

    With the weights, gradients and moments of the optimiser, it is the least memory of a training
    step.

    Args:
        model: the network; its tensors may lack values (torch's device ``meta``).
        loss: function that computes the loss.
    """
    weights = set(_storages([*model.parameters(), *model.buffers()]))
    storages: dict[int, Any] = {}

    def keep(tensor: Tensor) -> Tensor:
        # Kept alive, so that no other storage gets the same address.
        storages.setdefault(tensor.untyped_storage()._cdata, tensor.untyped_storage())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor), _FusedAttention():
        loss()
    return sum(storage.nbytes() for key, storage in storages.items() if key not in weights)


class _FusedAttention(TorchFunctionMode):
    """Makes attention of meta tensors keep the same tensors as a fused kernel on real devices.

    For meta tensors, torch keeps a matrix of all pairs. Fused kernels require four dimensions and
    no mask.
    """

    def __torch_function__(
        self, function: Any, types: Any, given: tuple[Any, ...] = (), named: Any = None
    ) -> Any:
        if function is F.scaled_dot_product_attention and set(named or {}) <= {"scale"}:
            is_fused = len(given) == 3 and given[0].is_meta and given[0].ndim == 4
            function = _fused_attention if is_fused else function
        return function(*given, **(named or {}))


def _fused_attention(*tensors: Tensor, scale: float | None = None) -> Tensor:
    output, _ = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*tensors, scale=scale)
    return output


def free_memory(device: torch.device) -> int | None:
    """Free memory of a device in bytes; None if unknown."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info()[0]
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    free = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")]
    with suppress(OSError, ValueError):  # the limit of a container
        free.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(free, default=None)


def require_free_memory(needed: int, device: torch.device, work: str, remedy: str) -> None:
    """Refuse a computation that needs more memory than is free on a device.

    Args:
        needed: required memory, bytes.
        device: the device.
        work: name of the computation, for the error, such as ``a training step on 16 clips``.
        remedy: advice in the error.

    Raises:
        StpError: there is not enough free memory.
    """
    free = free_memory(device)
    if free is not None and needed > free:
        raise StpError(
            f"{work} needs more than {needed / 1e9:.1f} GB of memory",
            expected=f"at most the {free / 1e9:.1f} GB that are free",
            remedy=remedy,
        )


@contextmanager
def out_of_memory(work: str, remedy: str) -> Iterator[None]:
    """Context manager: convert torch's errors about exhausted memory to an error with advice.

    Args:
        work: name of the computation, for the error, such as ``a training step on 16 clips``.
        remedy: advice in the error.

    Raises:
        StpError: the computation did not fit into memory.
    """
    try:
        yield
    except RuntimeError as error:
        # On a CPU, only the text tells a lack of memory.
        if not isinstance(error, torch.OutOfMemoryError) and "allocate memory" not in str(error):
            raise
        raise StpError(
            f"{work} does not fit into memory",
            expected=str(error).partition(".")[0],
            remedy=remedy,
        ) from error


def _storages(tensors: Iterable[Tensor]) -> dict[int, Any]:
    storages = (tensor.untyped_storage() for tensor in tensors)
    return {storage._cdata: storage for storage in storages}


@contextmanager
def _silence_stderr() -> Iterator[None]:
    """Hide messages of the profiler's library about its start and end."""
    sys.stderr.flush()
    stderr, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(nowhere)
