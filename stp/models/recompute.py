"""Recompute activations in the backward pass, to save memory."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def run_block(block: Callable[..., Any], *inputs: Any, again: bool) -> Any:
    """Apply a block of a network, optionally with recomputation in the backward pass.

    Args:
        block: function that depends on its inputs only; in the second run, dropout draws the same
            random numbers.
        inputs: inputs of the block; they stay in memory for the backward pass.
        again: whether to store no activations, and run the block a second time in the backward
            pass.

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
    """Context manager: discard updates of batch norm statistics, so that each batch counts once."""
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
