"""Networks that compute feature maps of frames, the basis of measures of quality.

Frames keep their size, unless they are too small for a network: they are then enlarged bilinearly
until the shorter side is large enough. Weights and normalisation of frames are torchvision's; the
released code of PVQA uses those of Keras, which differ.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from stp.core.errors import StpError
from stp.metrics.lpips import Lpips, compare
from stp.metrics.networks import c3d
from stp.metrics.networks.i3d import resize
from stp.metrics.networks.inception import (
    SIZE,
    Inception,
    entropy,
    read_classifier,
    read_inception,
)
from stp.metrics.networks.resnet import read_resnet50
from stp.metrics.networks.state import State, load
from stp.metrics.networks.trunks import DEVIATION, MEAN, TAPS, vgg_layers

Maps = Callable[[np.ndarray], np.ndarray]
"""Function from frames, uint8 (T, H, W, 3), to maps, float32 (T, h, w, K); fewer maps if the
network processes clips."""
BATCH = 8
"""Number of frames per batch."""


@dataclass(frozen=True)
class FeatureMaps:
    """Functions of a network for measures of quality; frames are uint8 (T, H, W, 3).

    Attributes:
        channels: number of channels K of the last maps.
        maps: function of frames that returns the last feature maps.
        compared: function of frames that returns the maps used to compare predicted and true
            frames.
        lpips: function of predicted and true frames, (1, T, 3, H, W) in [0, 1] each, that returns
            their perceptual distance; None if no weights of LPIPS exist for the network.
        entropies: function of frames that returns the entropy of each frame's class probabilities,
            nats, (T,); None without a classifier.
        is_of_clips: whether a map belongs to several frames, as in a network of clips.
    """

    channels: int
    maps: Maps
    compared: Maps
    lpips: Callable[[np.ndarray, np.ndarray], float] | None = None
    entropies: Callable[[np.ndarray], np.ndarray] | None = None
    is_of_clips: bool = False


@dataclass(frozen=True)
class MapNetwork:
    """Properties of a network that computes feature maps.

    Attributes:
        channels: number of channels of the last maps.
        smallest: smallest height or width of a frame that the network accepts, pixels.
        enlarged_to: length of the shorter side to which smaller frames are enlarged, pixels.
        is_symmetric: whether frames are scaled to [-1, 1]; if not, they are normalised by mean and
            standard deviation of ImageNet's channels.
    """

    channels: int
    smallest: int
    enlarged_to: int = 0
    is_symmetric: bool = False


NETWORKS = {
    **{name: MapNetwork(taps.channels[-1], taps.smallest) for name, taps in TAPS.items()},
    "vgg19": MapNetwork(512, 32),
    "resnet50": MapNetwork(2048, 32),
    "inception": MapNetwork(2048, 32, enlarged_to=75, is_symmetric=True),
    "c3d": MapNetwork(c3d.FEATURES, 1),  # resizes frames by itself
}


def check_size(network: str, smallest: int, remedy: str) -> None:
    """Refuse videos that are too small for a network.

    Args:
        network: name of the network in `NETWORKS`.
        smallest: smallest height or width of the videos, pixels.
        remedy: last part of the error message: what the user can do, such as "leave out this clip".

    Raises:
        StpError: the videos are smaller than the network allows.
    """
    if smallest < NETWORKS[network].smallest:
        raise StpError(
            f"{network} looks at videos of {smallest} pixels",
            expected=f"at least {NETWORKS[network].smallest}",
            remedy=remedy,
        )


def open_feature_maps(name: str, state: State, device: torch.device) -> FeatureMaps:
    """Build a network from its weights.

    Args:
        name: name of the network in `NETWORKS`.
        state: weights of the network, with torchvision's names; for C3D see
            `stp.metrics.networks.c3d`.
        device: device of the network.

    Raises:
        StpError: the weights are those of another network.
    """
    about = NETWORKS[name]
    if name in TAPS:
        network = Lpips(name, state).to(device)
        maps = _maps(lambda x: network.trunk(x)[-1], about, device)
        return FeatureMaps(
            about.channels, maps, maps, lambda x, y: float(compare(network, x, y).mean())
        )
    if name == "c3d":
        looking = c3d.read_c3d(state).to(device).maps
        return FeatureMaps(about.channels, looking, looking, is_of_clips=True)
    if name == "vgg19":
        vgg = _Vgg19(state).to(device)
        maps = _maps(lambda x: F.max_pool2d(vgg(x), 2, 2), about, device)
        return FeatureMaps(about.channels, maps, _maps(vgg, about, device))
    if name == "resnet50":
        maps = _maps(read_resnet50(state).to(device), about, device)
    else:
        inception: Inception = read_inception(state).to(device)
        maps = _maps(inception.maps, about, device)
        entropies = _entropies(inception, read_classifier(state), device)
        return FeatureMaps(about.channels, maps, maps, entropies=entropies)
    return FeatureMaps(about.channels, maps, maps)


class _Vgg19(nn.Module):
    """VGG-19 (Simonyan and Zisserman 2015) up to the fourth convolution of its fifth block.

    Compared maps are taken after the activation, as in Ledig et al. (2017), whom the paper cites;
    features are computed from the pool that follows.
    """

    def __init__(self, state: State) -> None:
        super().__init__()
        self.features = nn.Sequential(*vgg_layers(2, 2, 4, 4, 4))
        used = {key: tensor for key, tensor in state.items() if not key.startswith("classifier.")}
        load(self, used, "VGG-19")
        self.eval().requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        maps: Tensor = self.features(x)
        return maps


def _maps(network: Callable[[Tensor], Any], about: MapNetwork, device: torch.device) -> Maps:
    mean, deviation = (torch.tensor(v, device=device)[:, None, None] for v in (MEAN, DEVIATION))

    def maps(frames: np.ndarray) -> np.ndarray:
        parts = []
        for part in torch.from_numpy(np.ascontiguousarray(frames)).split(BATCH):
            scaled = part.to(device).permute(0, 3, 1, 2).float().div(255)
            shorter = min(scaled.shape[-2:])
            if shorter < about.enlarged_to:
                height, width = (-(-s * about.enlarged_to // shorter) for s in scaled.shape[-2:])
                scaled = F.interpolate(scaled, (height, width), mode="bilinear")
            normalised = scaled * 2 - 1 if about.is_symmetric else (scaled - mean) / deviation
            parts.append(network(normalised).permute(0, 2, 3, 1).cpu().numpy())
        return np.concatenate(parts)

    return maps


def _entropies(
    network: Inception, classifier: nn.Linear | None, device: torch.device
) -> Callable[[np.ndarray], np.ndarray] | None:
    """Make a function that computes the entropy of each frame's class probabilities, nats, (T,).

    Frames are resized to the size used in training, without keeping their aspect ratio.
    """
    if classifier is None:
        return None
    last = classifier.to(device)

    def entropies(frames: np.ndarray) -> np.ndarray:
        parts = []
        for part in torch.from_numpy(np.ascontiguousarray(frames)).split(BATCH):
            pictures = resize(part.to(device).permute(0, 3, 1, 2).float().div(255), SIZE) * 2 - 1
            parts.append(entropy(last(network(pictures)).double()).cpu().numpy())
        return np.concatenate(parts)

    return entropies
