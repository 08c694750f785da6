"""The authors' package lpips, with weights that are given to it: it must not download its own."""

import functools
import importlib
import sys
import warnings
from typing import Any

import pytest
import torch

_KEPT: list[Any] = []
"""What defines an operator has to stay alive."""


@functools.cache
def lpips() -> Any:
    """Import the package.

    A torchvision for CUDA beside a torch for the CPU lacks operators that it only registers; the
    package needs none of them.
    """
    try:
        return importlib.import_module("lpips")
    except RuntimeError:
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "DEF")
        for operator in ("nms", "qnms"):
            library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _KEPT.append(library)
        return importlib.import_module("lpips")


@functools.cache
def _network(name: str) -> Any:
    """With weights that are not drawn, since they are given to it: VGG's classifier is large."""
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        for draw in ("kaiming_normal_", "kaiming_uniform_", "normal_", "uniform_"):
            patch.setattr(torch.nn.init, draw, lambda tensor, *_, **__: tensor)
        return lpips().LPIPS(net=name, pnet_rand=True, verbose=False).eval()


def reference(name: str, state: dict[str, torch.Tensor]) -> Any:
    """The package's network with these weights.

    Args:
        name: alex, squeeze or vgg.
        state: weights of the feature layers, in order.

    Returns:
        a module from two batches of frames in [-1, 1] to (N, 1, 1, 1).
    """
    made = _network(name)
    own = made.net.state_dict()
    assert [v.shape for v in own.values()] == [v.shape for v in state.values()]
    made.net.load_state_dict(dict(zip(own, state.values(), strict=True)))
    return made
