"""I3D: Inception-v1 inflated to three dimensions (Carreira and Zisserman 2017, arXiv 1705.07750).

This is the network ``deepmind/i3d-kinetics-400/1``, with which FVD is defined: all convolutions and
pools except the last use TensorFlow's padding SAME, batch normalisation adds 1e-3 to the variance,
and the outputs are the logits of 400 actions, averaged over the remaining time steps. Layers are
named as in piergiaj's port (``Mixed_3b.b1a.conv3d.weight``).
"""

import re

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from stp.core.errors import StpError
from stp.metrics.networks.state import State, load

SIZE = 224
"""Height and width of the frames that the network was trained on."""

SHORTEST = 9
"""Minimum number of frames of a clip: three strides leave ceil(T / 8) time steps, and the last pool
needs two."""

CLASSES = (400, 600)
"""Numbers of actions of Kinetics-400 and Kinetics-600."""
BATCH_NORM_EPSILON = 1e-3

MIXED = {
    "Mixed_3b": (192, 64, 96, 128, 16, 32, 32),
    "Mixed_3c": (256, 128, 128, 192, 32, 96, 64),
    "Mixed_4b": (480, 192, 96, 208, 16, 48, 64),
    "Mixed_4c": (512, 160, 112, 224, 24, 64, 64),
    "Mixed_4d": (512, 128, 128, 256, 24, 64, 64),
    "Mixed_4e": (512, 112, 144, 288, 32, 64, 64),
    "Mixed_4f": (528, 256, 160, 320, 32, 128, 128),
    "Mixed_5b": (832, 256, 160, 320, 32, 128, 128),
    "Mixed_5c": (832, 384, 192, 384, 48, 128, 128),
}
"""Channels of each block: input; 1 x 1; reduced and 3 x 3; reduced and 3 x 3; after the pool."""


def same_padding(length: int, kernel: int, stride: int) -> tuple[int, int]:
    """Numbers of zeros before and after an axis that give ceil(length / stride) outputs.

    This is TensorFlow's padding SAME. Unlike torch's, it depends on the length, and an odd number
    of zeros has its larger half after the axis.
    """
    total = max(kernel - stride if length % stride == 0 else kernel - length % stride, 0)
    return total // 2, total - total // 2


def _pad(x: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...], value: float) -> Tensor:
    pads: list[int] = []
    for length, k, s in zip(x.shape[:1:-1], kernel[::-1], stride[::-1], strict=True):
        pads += same_padding(length, k, s)  # F.pad counts axes from the last
    return F.pad(x, pads, value=value) if any(pads) else x


class Unit(nn.Module):
    """Block of a three-dimensional convolution with SAME padding, batch normalisation and ReLU."""

    def __init__(self, channels: int, out: int, kernel: int, stride: int = 1) -> None:
        super().__init__()
        self.conv3d = nn.Conv3d(channels, out, kernel, stride, bias=False)
        self.bn = nn.BatchNorm3d(out, eps=BATCH_NORM_EPSILON)

    def forward(self, x: Tensor) -> Tensor:
        """Map (N, channels, T, H, W) to (N, out, T', H', W'), with T' = ceil(T / stride) etc."""
        padded = _pad(x, self.conv3d.kernel_size, self.conv3d.stride, 0.0)
        return F.relu(self.bn(self.conv3d(padded)), inplace=True)


class Pool(nn.Module):
    """Maximum pool with SAME padding; padded values are never the maximum."""

    def __init__(self, kernel: tuple[int, ...], stride: tuple[int, ...]) -> None:
        super().__init__()
        self.kernel, self.stride = kernel, stride

    def forward(self, x: Tensor) -> Tensor:
        """Map (N, C, T, H, W) to (N, C, T', H', W'), with T' = ceil(T / stride) etc."""
        return F.max_pool3d(_pad(x, self.kernel, self.stride, -torch.inf), self.kernel, self.stride)


class Mixed(nn.Module):
    """Block of four parallel branches whose outputs are joined along the channels."""

    def __init__(self, *channels: int) -> None:
        super().__init__()
        inputs, pointwise, small1, wide1, small2, wide2, pooled = channels
        self.b0 = Unit(inputs, pointwise, 1)
        self.b1a, self.b1b = Unit(inputs, small1, 1), Unit(small1, wide1, 3)
        self.b2a, self.b2b = Unit(inputs, small2, 1), Unit(small2, wide2, 3)
        self.b3a, self.b3b = Pool((3, 3, 3), (1, 1, 1)), Unit(inputs, pooled, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Map (N, inputs, T, H, W) to (N, sum of the branches' channels, T, H, W)."""
        branches = [self.b0(x), self.b1b(self.b1a(x)), self.b2b(self.b2a(x)), self.b3b(self.b3a(x))]
        return torch.cat(branches, dim=1)


class Logits(nn.Module):
    """Linear layer, applied at every time step and pixel."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.conv3d = nn.Conv3d(1024, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Map (N, 1024, T, H, W) to (N, classes, T, H, W)."""
        logits: Tensor = self.conv3d(x)
        return logits


class I3D(nn.Module):
    """The network I3D, initially with random weights; children are in the order of computation.

    Args:
        classes: number of actions that the network distinguishes.
    """

    def __init__(self, classes: int = CLASSES[0]) -> None:
        super().__init__()
        wide, twice = (1, 3, 3), (1, 2, 2)
        self.Conv3d_1a_7x7 = Unit(3, 64, 7, stride=2)
        self.MaxPool3d_2a_3x3 = Pool(wide, twice)
        self.Conv3d_2b_1x1 = Unit(64, 64, 1)
        self.Conv3d_2c_3x3 = Unit(64, 192, 3)
        self.MaxPool3d_3a_3x3 = Pool(wide, twice)
        for name, channels in MIXED.items():
            if name == "Mixed_4b":
                self.MaxPool3d_4a_3x3 = Pool((3, 3, 3), (2, 2, 2))
            if name == "Mixed_5b":
                self.MaxPool3d_5a_2x2 = Pool((2, 2, 2), (2, 2, 2))
            self.add_module(name, Mixed(*channels))
        self.avg_pool = nn.AvgPool3d((2, 7, 7), stride=1)
        self.logits = Logits(classes)

    def forward(self, x: Tensor, layer: str = "logits") -> Tensor:
        """Map clips (N, 3, T, 224, 224) in [-1, 1], T >= 9, to mean logits (N, classes).

        With the layer ``pooled``, the result is the means (N, 1024) from which logits are computed.
        """
        for name, part in self.named_children():
            if name != "logits" or layer == "logits":
                x = part(x)
        return x.mean(dim=(2, 3, 4))


def read_i3d(state: State) -> I3D:
    """Build I3D from the weights of one of the public ports.

    Known tensor names are those of piergiaj's port (rgb_imagenet.pt, i3d_pretrained_400.pt), of
    hassony2's port (model_rgb.pth), and of TensorFlow's own checkpoints (the modules of TensorFlow
    Hub and the release deepmind/kinetics-i3d), with axes (T, H, W, in, out). Files with other
    names, such as TorchScript archives, must have the layers in the order of the network, with
    matching shapes. The scale of a normalisation is 1 if it is missing, as in the module of
    TensorFlow Hub.

    Raises:
        StpError: the weights are not those of I3D with 400 or 600 classes.
    """
    if any(key.startswith(_TENSORFLOW) for key in state):
        named = dict(_from_tensorflow(key, tensor) for key, tensor in state.items())
    else:
        named = {_piergiaj_name(key): tensor for key, tensor in state.items()}
    classes = {len(tensor) for tensor in state.values() if tensor.ndim == 1}
    network = I3D(next((n for n in CLASSES if n in classes), CLASSES[0]))
    own = network.state_dict()
    if not named.keys() & own.keys():
        named = _by_order(state, own)
    for key, tensor in own.items():
        if key.endswith("num_batches_tracked") or key.endswith("bn.weight"):
            named.setdefault(key, torch.ones_like(tensor))
    load(network, named, "I3D")
    return network.eval().requires_grad_(False)


_TENSORFLOW = "RGB/inception_i3d/"
_OF_TENSORFLOW = {
    "conv_3d/w": "conv3d.weight",
    "conv_3d/b": "conv3d.bias",
    "batch_norm/beta": "bn.bias",
    "batch_norm/moving_mean": "bn.running_mean",
    "batch_norm/moving_variance": "bn.running_var",
}
_PLACES = {
    "Branch_0/Conv3d_0a_1x1": "b0",
    "Branch_1/Conv3d_0a_1x1": "b1a",
    "Branch_1/Conv3d_0b_3x3": "b1b",
    "Branch_2/Conv3d_0a_1x1": "b2a",
    "Branch_2/Conv3d_0b_3x3": "b2b",
    "Branch_2/Conv3d_0a_3x3": "b2b",  # so called in Mixed_5b
    "Branch_3/Conv3d_0b_1x1": "b3b",
    "Logits/Conv3d_0c_1x1": "logits",
}


def _from_tensorflow(key: str, tensor: Tensor) -> tuple[str, Tensor]:
    """Convert a tensor of a TensorFlow checkpoint to our name and axes; others are unchanged."""
    layer, _, tensor_kind = key.removeprefix(_TENSORFLOW).rpartition("/")
    layer, _, group = layer.rpartition("/")
    kind = _OF_TENSORFLOW.get(f"{group}/{tensor_kind}")
    if kind is None or not key.startswith(_TENSORFLOW):
        return key, tensor
    for place, ours in _PLACES.items():
        layer = layer.replace(place, ours)
    if kind == "conv3d.weight":
        tensor = tensor.permute(4, 3, 0, 1, 2) if tensor.ndim == 5 else tensor
    else:
        tensor = tensor.flatten()  # (1, 1, 1, 1, C) of a normalisation
    return f"{layer.replace('/', '.')}.{kind}", tensor


_BRANCHES = {
    "branch_0": "b0",
    "branch_1.0": "b1a",
    "branch_1.1": "b1b",
    "branch_2.0": "b2a",
    "branch_2.1": "b2b",
    "branch_3.1": "b3b",
}


def _piergiaj_name(key: str) -> str:
    """Name in piergiaj's port of a tensor of hassony2's port; other names stay unchanged."""
    key = key.replace(".batch3d.", ".bn.").replace("conv3d_0c_1x1.", "logits.")
    key = re.sub(r"^(conv3d|mixed)_", lambda match: match[0].capitalize(), key)
    return re.sub(r"branch_\d(\.[01](?=\.(conv3d|bn)))?", lambda m: _BRANCHES.get(m[0], m[0]), key)


def _by_order(state: State, own: State) -> State:
    """Match tensors with unknown names to ours by their order.

    For each layer the tensors of the convolution come first, then those of the normalisation.
    """
    tensors = [tensor for tensor in state.values() if tensor.ndim]
    has_scale = len(tensors) == sum(tensor.ndim > 0 for tensor in own.values())
    keys = [
        key
        for key, tensor in own.items()
        if tensor.ndim and (has_scale or not key.endswith("bn.weight"))
    ]
    if len(keys) != len(tensors):
        raise StpError(
            f"these are no weights of I3D: {len(tensors)} tensors, the first is "
            f"{next(iter(state), 'missing')}",
            expected=f"{len(keys)} tensors, in the order of the network",
            remedy="use one of the files that config/weights.yaml declares",
        )
    return dict(zip(keys, tensors, strict=True))


def resize(frames: Tensor, size: int = SIZE) -> Tensor:
    """Resize frames bilinearly to a square, as TensorFlow 1 does by default.

    Pixel i of the result is sampled at i * old / new, without half-pixel centres, aligned corners
    or anti-aliasing. Frames that are not square are distorted, not cropped.

    Args:
        frames: frames, (..., H, W).
        size: height and width of the result, pixels.

    Returns:
        resized frames, (..., size, size).
    """
    for axis in (-1, -2):
        length = frames.shape[axis]
        if length == size:
            continue
        where = torch.arange(size, dtype=torch.float32, device=frames.device) * (length / size)
        low = where.floor().long().clamp(max=length - 1)
        high = (low + 1).clamp(max=length - 1)
        part = (where - low).to(frames.dtype)
        part = part if axis == -1 else part[:, None]
        first = frames.index_select(axis, low)
        frames = first + (frames.index_select(axis, high) - first) * part
    return frames


def prepare(clips: np.ndarray, device: torch.device | str = "cpu") -> Tensor:
    """Convert clips to inputs of the network.

    Args:
        clips: clips in [0, 1], float32 (N, T, C, H, W), C is 1 or 3; other values are clipped.
        device: device of the result.

    Returns:
        inputs in [-1, 1], float32 (N, 3, T, 224, 224).
    """
    frames = torch.from_numpy(np.ascontiguousarray(clips, dtype=np.float32)).to(device)
    frames = resize(frames.clamp(0, 1)) * 2 - 1
    return frames.transpose(1, 2).expand(-1, 3, -1, -1, -1)
