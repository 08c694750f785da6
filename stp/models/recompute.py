"""Recomputation of activations in the backward pass, which then need not be kept."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def run_block(block: Callable[..., Any], *inputs: Any, again: bool) -> Any:
    """Apply a block of a network, and optionally recompute it in the backward pass.

    Args:
        block: function of its inputs alone. Where it is run a second time, its dropout draws the
            same random numbers.
        inputs: inputs of the block, which are kept for the backward pass.
        again: whether to keep only the result of the block, and run it a second time in the
            backward pass.

    Returns:
        ``block(*inputs)``.
    """

    def contexts() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
        return nullcontext(), _statistics_kept(block)

    if again and torch.is_grad_enabled():
        return checkpoint(block, *inputs, use_reentrant=False, context_fn=contexts)
    return block(*inputs)


@contextmanager
def _statistics_kept(block: Callable[..., Any]) -> Iterator[None]:
    """Discard updates of the statistics of batch norms, so that each batch is counted only once."""
    modules = block.modules() if isinstance(block, nn.Module) else ()
    norms = [module for module in modules if isinstance(module, nn.modules.batchnorm._BatchNorm)]
    kept = [dict(norm.named_buffers()) for norm in norms]
    for norm, buffers in zip(norms, kept, strict=True):
        for name, buffer in buffers.items():
            setattr(norm, name, buffer.clone())
    try:
        yield
    finally:
        for norm, buffers in zip(norms, kept, strict=True):
            for name, buffer in buffers.items():
                setattr(norm, name, buffer)
