"""Read hyperparameters, as papers list them, from the modules of a network."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import torch
from torch import Tensor, nn

from stp.models.create import create
from stp.models.fno import SpectralConvolution
from stp.models.halving import halve
from stp.models.resnet import Bottleneck
from stp.plan.checked_config import Json

Kind = TypeVar("Kind", bound=nn.Module)


def read(recipe: Json, names: Iterable[str]) -> list[str]:
    """Build a network, and read hyperparameters from its modules.

    Args:
        recipe: recipe of a training, which names the model and its options.
        names: names of hyperparameters, such as "channels" (keys of `OF_NETWORK`).

    Returns:
        the value of each hyperparameter as text, in the order of the names, e.g. "64, 128, 256".
    """
    # On the device "meta", some operations would load torch's compiler, which takes longer.
    network = create(recipe)
    return [OF_NETWORK[name](network) for name in names]


def _series(numbers: Iterable[int]) -> str:
    """Join the numbers of several layers with commas; equal numbers appear once."""
    return ", ".join(map(str, dict.fromkeys(numbers)))


def _find_modules(network: nn.Module, kind: type[Kind], part: str = "") -> list[Kind]:
    return [m for m in network.get_submodule(part).modules() if isinstance(m, kind)]


def _kernel(network: nn.Module, kind: type[nn.Conv2d | nn.ConvTranspose2d], part: str) -> str:
    sizes = {m.kernel_size for m in _find_modules(network, kind, part)}
    return " or ".join(" x ".join(map(str, size)) for size in sorted(sizes))


def _activation(network: nn.Module) -> str:
    names = {
        f"LeakyReLU({m.negative_slope:g})" if isinstance(m, nn.LeakyReLU) else type(m).__name__
        for m in _find_modules(network, nn.Module)
        if isinstance(m, nn.LeakyReLU | nn.ReLU | nn.GELU | nn.Sigmoid)
    }
    return ", ".join(sorted(names))


def _pooling(_: nn.Module) -> str:
    side = 8
    halved: Tensor = halve(torch.zeros(1, 1, side, side))
    return " x ".join(str(side // length) for length in halved.shape[-2:])


def _spectral(network: nn.Module) -> str:
    layers = _find_modules(network, SpectralConvolution)
    return _series((layers[0].low.shape[0], *(layer.low.shape[1] for layer in layers)))


def _local(network: nn.Module) -> str:
    modules = network.named_modules()
    layers = [m for n, m in modules if n.endswith(".local") and isinstance(m, nn.Conv2d)]
    return _series((layers[0].in_channels, *(layer.out_channels for layer in layers)))


def _backbone(network: nn.Module) -> str:
    # Three convolutions in each block, one before, and the layer that a classifier has behind.
    return f"ResNet-{3 * len(_find_modules(network, Bottleneck)) + 2}"


OF_NETWORK: dict[str, Callable[[nn.Module], str]] = {
    "channels": lambda n: _series(m.out_channels for m in _find_modules(n, nn.Conv2d, "encoder")),
    "encoder_kernel": lambda n: _kernel(n, nn.Conv2d, "encoder"),
    "decoder_kernel": lambda n: _kernel(n, nn.ConvTranspose2d, ""),
    "pooling": _pooling,
    "batch_norm": lambda n: str(bool(_find_modules(n, nn.BatchNorm2d))),
    "backbone": _backbone,
    "decoder_channels": lambda n: _series(
        m.out_channels for m in _find_modules(n, nn.ConvTranspose2d)
    ),
    "decoder_activation": lambda n: _activation(n.get_submodule("decoder")),
    "activation": _activation,
    "local_channels": _local,
    "spectral_channels": _spectral,
    "fourier_modes": lambda n: ", ".join(
        map(str, _find_modules(n, SpectralConvolution)[0].low.shape[2:4])
    ),
    "parameters": lambda n: f"{sum(weights.numel() for weights in n.parameters()):,}",
}
"""Functions that read a hyperparameter, by its name after ``network.`` in suites."""
