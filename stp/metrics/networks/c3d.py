"""C3D (Tran et al. 2015, arXiv 1412.0767) up to its last convolution.

Layers are named as in the weights of DavideA/c3d-pytorch (Sports-1M). As in the code of that
repository, frames are RGB from 0 to 255, and no mean is subtracted.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from stp.metrics.networks.state import State, load

SIZE = 112
"""Height and width to which frames are resized bilinearly, regardless of their aspect ratio."""
FEATURES = 512
CHANNELS = {
    "conv1": (3, 64),
    "conv2": (64, 128),
    "conv3a": (128, 256),
    "conv3b": (256, 256),
    "conv4a": (256, 512),
    "conv4b": (512, 512),
    "conv5a": (512, 512),
    "conv5b": (512, 512),
}
TWICE = (2, 2, 2)
POOLED = {"conv1": (1, 2, 2), "conv2": TWICE, "conv3b": TWICE, "conv4b": TWICE}
"""Sizes of the pools after convolutions; the first pool keeps the length in time."""


class C3D(nn.Module):
    """The 3-D convolutional network C3D (Tran et al. 2015) without its classifier.

    It maps clips, RGB from 0 to 255, to feature maps with 512 channels (`forward`). `maps` does the
    same for frames of any size. The weights are random until `read_c3d` loads others.
    """

    def __init__(self) -> None:
        super().__init__()
        for name, (inputs, outputs) in CHANNELS.items():
            self.add_module(name, nn.Conv3d(inputs, outputs, 3, padding=1))

    def forward(self, x: Tensor) -> Tensor:
        """Map clips (N, 3, T, H, W), RGB 0 to 255, to maps (N, 512, T / 8, H / 16, W / 16)."""
        for name in CHANNELS:
            x = self.get_submodule(name)(x).relu()
            if name in POOLED:
                x = F.max_pool3d(x, POOLED[name])
        return x

    def maps(self, frames: np.ndarray) -> np.ndarray:
        """Compute the feature maps of a clip, whose frames are resized to 112 x 112 pixels.

        Args:
            frames: frames, RGB, uint8 (T, H, W, 3).

        Returns:
            feature maps, float32 (T / 8, 7, 7, 512).
        """
        device = next(self.parameters()).device
        clip = torch.from_numpy(np.ascontiguousarray(frames)).to(device).permute(0, 3, 1, 2).float()
        clip = F.interpolate(clip, (SIZE, SIZE), mode="bilinear", antialias=True)
        maps: Tensor = self(clip.transpose(0, 1)[None])[0]
        return np.asarray(maps.permute(1, 2, 3, 0).cpu().numpy())


def read_c3d(state: State) -> C3D:
    """Build C3D from the weights of the published network, without its classifier.

    Args:
        state: tensors of the network by name, with the names of DavideA/c3d-pytorch. Those of the
            classifier (its last layers, ``fc...``) may be included, and are ignored.

    Returns:
        the network, which computes feature maps of clips; its weights are fixed.

    Raises:
        StpError: the weights are not those of this network.
    """
    network = C3D()
    load(network, {key: value for key, value in state.items() if not key.startswith("fc")}, "C3D")
    return network.eval().requires_grad_(False)
