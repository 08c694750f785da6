"""Choose device, threads and precision of networks, and make computations reproducible."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from stp.core.errors import StpError


@dataclass(frozen=True)
class Compute:
    """Device, number of threads and precision of a network's computations.

    Attributes:
        device: device that holds the network.
        threads: number of CPU threads of one operation.
        requested: precision in the recipe, "bf16" or "float32".
        used: precision in use, "bf16" or "float32".
        why: reason for the precision in use, in words.
    """

    device: torch.device
    threads: int
    requested: str
    used: str
    why: str

    def autocast(self) -> AbstractContextManager[Any]:
        """Context manager: run operations in the precision `used`."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.used == "bf16")

    def describe(self) -> dict[str, Any]:
        """Name of the device, number of threads and precisions, to be stored with a result."""
        name = torch.cuda.get_device_name() if self.device.type == "cuda" else "cpu"
        return {
            "device": name,
            "threads": self.threads,
            "precision": {"requested": self.requested, "used": self.used, "why": self.why},
        }


@contextmanager
def set_up_compute(requested: str, threads: int, precision: str) -> Iterator[Compute]:
    """Context manager: choose device and precision, and make computations reproducible.

    Results repeat exactly on machines of the same type with the same number of threads.

    Args:
        requested: "auto" (a GPU if there is one), "cpu" or "cuda".
        threads: number of CPU threads per operation, >= 1.
        precision: "bf16" (mixed precision, if the device supports it) or "float32".

    Raises:
        StpError: the device does not exist, or has no free memory.
    """
    if requested not in ("auto", "cpu", "cuda"):
        raise StpError(
            f"runtime setting device is {requested!r}",
            expected="auto, cpu or cuda",
            remedy="change runtime.device in the scale file",
        )
    if requested == "cuda" and not torch.cuda.is_available():
        raise StpError(
            "runtime setting device is 'cuda', but torch finds no GPU",
            expected="a GPU, its driver and a CUDA build of torch",
            remedy="set runtime.device to auto or cpu, or run on a machine with a GPU",
        )
    use_gpu = requested == "cuda" or (requested == "auto" and torch.cuda.is_available())
    device = torch.device("cuda" if use_gpu else "cpu")
    compute = Compute(device, threads, precision, *_precision(device, precision))
    before = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    # Needed by deterministic matrix products on a GPU; read when CUDA starts.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.set_num_threads(threads)
    # As `use_deterministic_algorithms`, which tells the compiler too: importing that takes as long
    # as importing torch, and few training runs compile (they tell it themselves).
    torch.set_deterministic_debug_mode("error")
    # This debugging aid of deterministic mode writes every new tensor twice.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.backends.cudnn.allow_tf32 = False  # float32 shall mean float32
    try:
        yield compute
    except RuntimeError as error:
        # On a CPU, running out of memory is only known by its text.
        if not isinstance(error, torch.OutOfMemoryError) and "allocate memory" not in str(error):
            raise
        raise StpError(
            f"the memory of the device ({compute.describe()['device']}) is used up",
            expected=str(error).partition(".")[0],
            remedy="use a device with more memory or nothing else running on it, or a smaller "
            "batch_size (a smaller training batch is another protocol)",
        ) from error
    finally:
        torch.set_num_threads(before[0])
        torch.set_deterministic_debug_mode(before[1])


def _precision(device: torch.device, requested: str) -> tuple[str, str]:
    if requested == "float32":
        return "float32", "as requested"
    if device.type == "cpu":
        return "float32", "most CPUs only emulate bf16"
    if not torch.cuda.is_bf16_supported(including_emulation=False):
        return "float32", "this GPU does not compute in bf16"
    return "bf16", "as requested"
