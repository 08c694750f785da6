"""Feature layers of three ImageNet classifiers, in torchvision's order and with its names.

LPIPS compares the outputs of some of these layers, called taps. As in the authors' package, they
are the last ReLU before each change of resolution (AlexNet, VGG-16), and the outputs of seven
stages (SqueezeNet 1.1).
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from stp.metrics.networks.state import State, load

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and deviation of the channels of ImageNet, as torchvision states them."""


class Fire(nn.Module):
    """Fire module: a narrow 1 x 1 convolution, then parallel 1 x 1 and 3 x 3 convolutions.

    From SqueezeNet (Iandola et al. 2016).
    """

    def __init__(self, channels: int, narrow: int, wide: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(channels, narrow, 1)
        self.expand1x1 = nn.Conv2d(narrow, wide, 1)
        self.expand3x3 = nn.Conv2d(narrow, wide, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """Map (N, channels, H, W) to (N, 2 * wide, H, W)."""
        x = self.squeeze(x).relu()
        return torch.cat([self.expand1x1(x).relu(), self.expand3x3(x).relu()], dim=1)


class Taps(NamedTuple):
    """Layers of a network whose outputs LPIPS compares.

    Attributes:
        layers: indices of the layers.
        channels: number of channels of each layer's output.
        smallest: height and width of the smallest frame for which the last of these layers has an
            output, pixels.
    """

    layers: tuple[int, ...]
    channels: tuple[int, ...]
    smallest: int


TAPS = {
    "alexnet": Taps((1, 4, 7, 9, 11), (64, 192, 384, 256, 256), 31),
    "squeezenet": Taps((1, 4, 7, 9, 10, 11, 12), (64, 128, 256, 384, 384, 512, 512), 17),
    "vgg16": Taps((3, 8, 15, 22, 29), (64, 128, 256, 512, 512), 16),
}


class Trunk(nn.Module):
    """The feature layers of a network up to the last tap (layer whose output LPIPS compares).

    Args:
        name: name of the network: alexnet, squeezenet (1.1) or vgg16.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.taps = TAPS[name]
        layers = {"alexnet": _alexnet, "squeezenet": _squeezenet, "vgg16": _vgg16}[name]()
        self.features = nn.Sequential(*layers[: self.taps.layers[-1] + 1])

    def forward(self, x: Tensor) -> list[Tensor]:
        """Map normalised frames (N, 3, H, W) to the output at each tap, (N, channels, h, w)."""
        taps = []
        for index, layer in enumerate(self.features):
            x = layer(x)
            if index in self.taps.layers:
                taps.append(x)
        return taps


def read_trunk(name: str, state: State) -> Trunk:
    """Build the feature layers of a network, up to the last one that LPIPS compares.

    Args:
        name: name of the network: alexnet, squeezenet (1.1) or vgg16.
        state: weights of the whole classifier or of its feature layers, by torchvision's names,
            such as ``features.0.weight``; tensors of other layers are ignored.

    Raises:
        StpError: the weights are not those of this network.
    """
    trunk = Trunk(name)
    last = TAPS[name].layers[-1]
    used = {
        key: tensor
        for key, tensor in state.items()
        if not key.startswith("classifier.")
        and not (key.startswith("features.") and int(key.split(".")[1]) > last)
    }
    load(trunk, used, name)
    return trunk.eval().requires_grad_(False)


def _alexnet() -> Sequence[nn.Module]:
    return [
        nn.Conv2d(3, 64, 11, stride=4, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(),
        nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(),
        nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(),
    ]  # fmt: skip


def _squeezenet() -> Sequence[nn.Module]:
    pool = nn.MaxPool2d(3, 2, ceil_mode=True)
    return [
        nn.Conv2d(3, 64, 3, stride=2), nn.ReLU(), pool,
        Fire(64, 16, 64), Fire(128, 16, 64), pool,
        Fire(128, 32, 128), Fire(256, 32, 128), pool,
        Fire(256, 48, 192), Fire(384, 48, 192), Fire(384, 64, 256), Fire(512, 64, 256),
    ]  # fmt: skip


def _vgg16() -> Sequence[nn.Module]:
    return vgg_layers(2, 2, 3, 3, 3)


def vgg_layers(*convolutions: int) -> Sequence[nn.Module]:
    """The layers of VGG before its last pool.

    Args:
        convolutions: number of convolutions in each of the five blocks.
    """
    layers: list[nn.Module] = []
    channels = 3
    for stage, (width, count) in enumerate(
        zip((64, 128, 256, 512, 512), convolutions, strict=True)
    ):
        layers += [nn.MaxPool2d(2, 2)] if stage else []
        for _ in range(count):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
            channels = width
    return layers
