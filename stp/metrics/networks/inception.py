"""Inception-v3 (Szegedy et al. 2016, arXiv 1512.00567) up to its last pool, and its classifier.

Layers are named as in torchvision. The weights are TensorFlow's release for ImageNet, which expects
pictures in [-1, 1]. FID is often computed with other weights of this network, and other pools; the
two kinds of values are not comparable.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from stp.metrics.networks.state import State, load

SIZE = 299
"""Height and width of the pictures that the network was trained on."""

FEATURES = 2048
CLASSES = 1000
"""Number of classes of ImageNet."""
BATCH_NORM_EPSILON = 1e-3
CLASSIFIER = "fc."
LEFT_OUT = ("AuxLogits.", CLASSIFIER)
"""Names of the two classifiers; `read_classifier` reads the second one."""


class Unit(nn.Module):
    """Block of a convolution, batch normalisation and ReLU.

    Args:
        channels: number of input channels.
        out: number of output channels.
        kernel: height and width of the kernel, pixels.
        stride: distance of output positions, pixels of the input.
        padded: whether zeros around the picture keep its size (for a stride of 1).
    """

    def __init__(
        self,
        channels: int,
        out: int,
        kernel: tuple[int, int] = (1, 1),
        stride: int = 1,
        *,
        padded: bool = True,
    ) -> None:
        super().__init__()
        padding = (kernel[0] // 2, kernel[1] // 2) if padded else 0
        self.conv = nn.Conv2d(channels, out, kernel, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(out, eps=BATCH_NORM_EPSILON)

    def forward(self, x: Tensor) -> Tensor:
        """Map (N, channels, H, W) to (N, out, H', W'); stride and padding determine H' and W'."""
        return F.relu(self.bn(self.conv(x)), inplace=True)


def _strided_unit(channels: int, out: int) -> Unit:
    return Unit(channels, out, (3, 3), 2, padded=False)


def _mean(x: Tensor) -> Tensor:
    return F.avg_pool2d(x, 3, stride=1, padding=1)


def _max(x: Tensor) -> Tensor:
    return F.max_pool2d(x, 3, stride=2)


class Mixed5(nn.Module):
    """Block with four parallel branches: 1 x 1, 5 x 5, two 3 x 3, and mean pool with 1 x 1.

    Args:
        channels: number of input channels.
        pooled: number of output channels of the branch with the mean pool.
    """

    def __init__(self, channels: int, pooled: int) -> None:
        super().__init__()
        self.branch1x1 = Unit(channels, 64)
        self.branch5x5_1, self.branch5x5_2 = Unit(channels, 48), Unit(48, 64, (5, 5))
        self.branch3x3dbl_1, self.branch3x3dbl_2 = Unit(channels, 64), Unit(64, 96, (3, 3))
        self.branch3x3dbl_3 = Unit(96, 96, (3, 3))
        self.branch_pool = Unit(channels, pooled)

    def forward(self, x: Tensor) -> Tensor:
        """Map (N, channels, H, W) to (N, 224 + pooled, H, W)."""
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        five = self.branch5x5_2(self.branch5x5_1(x))
        return torch.cat([self.branch1x1(x), five, double, self.branch_pool(_mean(x))], 1)


class Mixed6a(nn.Module):
    """Block that halves height and width, with parallel branches: 3 x 3, two 3 x 3, and a pool."""

    def __init__(self) -> None:
        super().__init__()
        self.branch3x3 = _strided_unit(288, 384)
        self.branch3x3dbl_1, self.branch3x3dbl_2 = Unit(288, 64), Unit(64, 96, (3, 3))
        self.branch3x3dbl_3 = _strided_unit(96, 96)

    def forward(self, x: Tensor) -> Tensor:
        """Map (N, 288, H, W) to (N, 768, (H - 1) // 2, (W - 1) // 2)."""
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return torch.cat([self.branch3x3(x), double, _max(x)], 1)


class Mixed6(nn.Module):
    """Block with four parallel branches: 1 x 1, 7 x 7, two 7 x 7, and mean pool with 1 x 1.

    Each 7 x 7 convolution is done as two successive convolutions, 1 x 7 and 7 x 1. Input and output
    have 768 channels.

    Args:
        narrow: number of channels between the convolutions of the two 7 x 7 branches.
    """

    def __init__(self, narrow: int) -> None:
        super().__init__()
        lying, standing = (1, 7), (7, 1)
        self.branch1x1 = Unit(768, 192)
        self.branch7x7_1, self.branch7x7_2 = Unit(768, narrow), Unit(narrow, narrow, lying)
        self.branch7x7_3 = Unit(narrow, 192, standing)
        self.branch7x7dbl_1, self.branch7x7dbl_2 = Unit(768, narrow), Unit(narrow, narrow, standing)
        self.branch7x7dbl_3 = Unit(narrow, narrow, lying)
        self.branch7x7dbl_4 = Unit(narrow, narrow, standing)
        self.branch7x7dbl_5 = Unit(narrow, 192, lying)
        self.branch_pool = Unit(768, 192)

    def forward(self, x: Tensor) -> Tensor:
        """Map (N, 768, H, W) to the same shape."""
        seven = self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x)))
        double = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        double = self.branch7x7dbl_5(self.branch7x7dbl_4(double))
        return torch.cat([self.branch1x1(x), seven, double, self.branch_pool(_mean(x))], 1)


class Mixed7a(nn.Module):
    """Block that halves height and width, with parallel branches: 3 x 3, 7 x 7, and a pool."""

    def __init__(self) -> None:
        super().__init__()
        self.branch3x3_1, self.branch3x3_2 = Unit(768, 192), _strided_unit(192, 320)
        self.branch7x7x3_1, self.branch7x7x3_2 = Unit(768, 192), Unit(192, 192, (1, 7))
        self.branch7x7x3_3, self.branch7x7x3_4 = Unit(192, 192, (7, 1)), _strided_unit(192, 192)

    def forward(self, x: Tensor) -> Tensor:
        """Map (N, 768, H, W) to (N, 1280, (H - 1) // 2, (W - 1) // 2)."""
        seven = self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x)))
        return torch.cat(
            [self.branch3x3_2(self.branch3x3_1(x)), self.branch7x7x3_4(seven), _max(x)], 1
        )


class Mixed7(nn.Module):
    """Block with four parallel branches; two end with 1 x 3 and 3 x 1 convolutions in parallel.

    Args:
        channels: number of input channels.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        lying, standing = (1, 3), (3, 1)
        self.branch1x1 = Unit(channels, 320)
        self.branch3x3_1 = Unit(channels, 384)
        self.branch3x3_2a, self.branch3x3_2b = Unit(384, 384, lying), Unit(384, 384, standing)
        self.branch3x3dbl_1, self.branch3x3dbl_2 = Unit(channels, 448), Unit(448, 384, (3, 3))
        self.branch3x3dbl_3a, self.branch3x3dbl_3b = Unit(384, 384, lying), Unit(384, 384, standing)
        self.branch_pool = Unit(channels, 192)

    def forward(self, x: Tensor) -> Tensor:
        """Map (N, channels, H, W) to (N, 2048, H, W)."""
        three = self.branch3x3_1(x)
        double = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        branches = [self.branch1x1(x), self.branch3x3_2a(three), self.branch3x3_2b(three)]
        branches += [self.branch3x3dbl_3a(double), self.branch3x3dbl_3b(double)]
        return torch.cat([*branches, self.branch_pool(_mean(x))], 1)


class Inception(nn.Module):
    """The network Inception-v3 (Szegedy et al. 2016) without its classifier.

    It maps pictures in [-1, 1] to 2048 features (`forward`), the means over space of its feature
    maps (`maps`). The weights are random until `read_inception` loads others. The child modules are
    in the order of computation.
    """

    def __init__(self) -> None:
        super().__init__()
        self.Conv2d_1a_3x3 = _strided_unit(3, 32)
        self.Conv2d_2a_3x3 = Unit(32, 32, (3, 3), padded=False)
        self.Conv2d_2b_3x3 = Unit(32, 64, (3, 3))
        self.maxpool1 = nn.MaxPool2d(3, 2)
        self.Conv2d_3b_1x1 = Unit(64, 80)
        self.Conv2d_4a_3x3 = Unit(80, 192, (3, 3), padded=False)
        self.maxpool2 = nn.MaxPool2d(3, 2)
        self.Mixed_5b, self.Mixed_5c = Mixed5(192, 32), Mixed5(256, 64)
        self.Mixed_5d = Mixed5(288, 64)
        self.Mixed_6a = Mixed6a()
        self.Mixed_6b, self.Mixed_6c = Mixed6(128), Mixed6(160)
        self.Mixed_6d, self.Mixed_6e = Mixed6(160), Mixed6(192)
        self.Mixed_7a = Mixed7a()
        self.Mixed_7b, self.Mixed_7c = Mixed7(1280), Mixed7(2048)

    def maps(self, x: Tensor) -> Tensor:
        """Map pictures (N, 3, H, W) in [-1, 1], H and W >= 75, to feature maps (N, 2048, h, w)."""
        for part in self.children():
            x = part(x)
        return x

    def forward(self, x: Tensor) -> Tensor:
        """Map pictures (N, 3, 299, 299) in [-1, 1] to means over space (N, 2048)."""
        return self.maps(x).mean(dim=(2, 3))


def read_inception(state: State) -> Inception:
    """Build Inception-v3 without its classifier from the weights of the published network.

    Args:
        state: tensors of the network by name, with torchvision's names. Those of its two
            classifiers may be included, and are ignored.

    Returns:
        the network, which computes features of pictures; its weights are fixed.

    Raises:
        StpError: the weights are not those of this network.
    """
    network = Inception()
    used = {key: tensor for key, tensor in state.items() if not key.startswith(LEFT_OUT)}
    load(network, used, "Inception-v3")
    return network.eval().requires_grad_(False)


def read_classifier(state: State) -> nn.Linear | None:
    """Build the last layer, which maps means over space (N, 2048) to logits (N, 1000).

    Args:
        state: tensors of the network by name, with torchvision's names.

    Returns:
        the layer; None if ``state`` has no weights for it.

    Raises:
        StpError: the weights are not those of this network.
    """
    used = {
        key.removeprefix(CLASSIFIER): tensor
        for key, tensor in state.items()
        if key.startswith(CLASSIFIER)
    }
    if not used:
        return None
    classifier = nn.Linear(FEATURES, CLASSES)
    load(classifier, used, "the classifier of Inception-v3")
    return classifier.eval().requires_grad_(False)


def entropy(logits: Tensor) -> Tensor:
    """Entropy of the class probabilities of pictures, nats, 0 to log 1000, (N,).

    Args:
        logits: outputs of the classifier, (N, 1000).
    """
    logarithms = logits.log_softmax(dim=1)
    return -(logarithms.exp() * logarithms).sum(dim=1)
