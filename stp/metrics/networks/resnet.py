"""ResNet-50 (He et al. 2016, arXiv 1512.03385) up to its last feature maps.

Layers are named as in torchvision. As there, the 3 x 3 convolution of a block halves the size (a
variant called v1.5); in the paper and in Keras, the first 1 x 1 convolution does.
"""

import torch
from torch import Tensor, nn

from stp.metrics.networks.state import State, load

FEATURES = 2048
BLOCKS = (3, 4, 6, 3)
"""Numbers of blocks of the four stages."""
GROWTH = 4


class Bottleneck(nn.Module):
    """Residual block: 1 x 1, 3 x 3 and 1 x 1 convolutions, whose output is added to the input.

    Args:
        channels: number of channels of the input.
        narrow: number of channels between the convolutions; the output has 4 times as many.
        stride: stride of the 3 x 3 convolution.
    """

    def __init__(self, channels: int, narrow: int, stride: int) -> None:
        super().__init__()
        wide = GROWTH * narrow
        self.conv1 = nn.Conv2d(channels, narrow, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(narrow)
        self.conv2 = nn.Conv2d(narrow, narrow, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(narrow)
        self.conv3 = nn.Conv2d(narrow, wide, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(wide)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or channels != wide:
            shortcut = nn.Conv2d(channels, wide, 1, stride, bias=False)
            self.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(wide))

    def forward(self, x: Tensor) -> Tensor:
        """Map (N, channels, h, w) to (N, 4 * narrow, h / stride, w / stride).

        Here, ``channels``, ``narrow`` and ``stride`` are the arguments of the class.
        """
        y = self.bn1(self.conv1(x)).relu()
        y = self.bn2(self.conv2(y)).relu()
        return torch.relu(self.bn3(self.conv3(y)) + self.downsample(x))


class ResNet50(nn.Module):
    """The network ResNet-50, initially with random weights."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.maxpool = nn.MaxPool2d(3, 2, padding=1)
        channels = 64
        for number, blocks in enumerate(BLOCKS, start=1):
            narrow = 32 << number
            stage = []
            for block in range(blocks):
                stride = 2 if number > 1 and block == 0 else 1
                stage.append(Bottleneck(channels, narrow, stride))
                channels = GROWTH * narrow
            self.add_module(f"layer{number}", nn.Sequential(*stage))

    def forward(self, x: Tensor) -> Tensor:
        """Map normalised pictures (N, 3, H, W) to (N, 2048, H / 32, W / 32)."""
        x = self.maxpool(self.bn1(self.conv1(x)).relu())
        for number in range(1, len(BLOCKS) + 1):
            x = self.get_submodule(f"layer{number}")(x)
        return x


def read_resnet50(state: State) -> ResNet50:
    """Build ResNet-50 from torchvision's weights of the whole classifier.

    Raises:
        StpError: the weights are not those of this network.
    """
    network = ResNet50()
    used = {key: tensor for key, tensor in state.items() if not key.startswith("fc.")}
    load(network, used, "ResNet-50")
    return network.eval().requires_grad_(False)
