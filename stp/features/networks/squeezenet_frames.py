"""Features of SqueezeNet 1.1 of each frame, averaged over the clip.

The baseline of Unterthiner et al. (2018, section 4.1) is such an average of Inception's features;
SqueezeNet takes its place here, because its weights are small. Frames keep their size and are
normalised like ImageNet's pictures; the last 512 maps are averaged over space.

- ``means``: the mean over frames, which does not depend on the order of the frames.
- ``differences``: the mean absolute difference of consecutive frames, for each feature.
- ``signed_differences``: the mean difference of consecutive frames, (last - first) / (T - 1), which
  depends on the first and the last frame only. The paper does not say which of the two kinds of
  differences it means.
"""

import numpy as np
import torch

from stp.metrics.networks.random_weights import draw
from stp.metrics.networks.state import read_verified
from stp.metrics.networks.trunks import DEVIATION, MEAN, Trunk, read_trunk
from stp.metrics.perceptual import Embed, Weights
from stp.models.compute import set_up_compute

LAYERS = ("means", "differences", "signed_differences")
SHORTEST = 2


def embed(weights: Weights, layer: str) -> Embed:
    """Make the function that computes features of clips, with weights of a file.

    Args:
        weights: weights file with its checksums, and device and threads of the network.
        layer: summary over the frames of a clip, one of ``LAYERS``, such as ``means``.

    Returns:
        a function from clips float32 (N, T, C, H, W) in [0, 1], C is 1 or 3, to features float64
        (N, 512).

    Raises:
        StpError: the file differs from its declared checksums, or does not contain weights of
            SqueezeNet.
    """
    state, _ = read_verified(weights.path, weights.declared)
    return embed_with(read_trunk("squeezenet", state), layer, weights.device, weights.threads)


def embed_random(seed: int, layer: str, device: str = "auto", threads: int = 1) -> Embed:
    """Make the function that computes features, with random weights for tests and demonstrations.

    Args:
        seed: seed of the weights.
        layer: name of the layer, one of ``LAYERS``.
        device: "auto", "cpu" or "cuda".
        threads: number of CPU threads.

    Returns:
        a function from clips float32 (N, T, C, H, W) in [0, 1], C is 1 or 3, to features float64
        (N, 512).
    """
    network = draw(Trunk("squeezenet"), seed)
    assert isinstance(network, Trunk)
    return embed_with(network, layer, device, threads)


def embed_with(network: Trunk, layer: str, device: str, threads: int) -> Embed:
    """Make the function that computes features of clips through a given SqueezeNet.

    Args:
        network: layers of SqueezeNet with their weights.
        layer: summary over the frames of a clip, one of ``LAYERS``.
        device: "auto", "cpu" or "cuda".
        threads: number of CPU threads.

    Returns:
        a function from clips float32 (N, T, C, H, W) in [0, 1], C is 1 or 3, to features float64
        (N, 512).
    """

    def features(clips: np.ndarray) -> np.ndarray:
        with set_up_compute(device, threads, "float32") as compute, torch.inference_mode():
            on_device = network.to(compute.device)
            parts = [_of_frames(on_device, clip, compute.device) for clip in clips]
        return np.stack([over_time(part, layer) for part in parts])

    return features


def over_time(frames: np.ndarray, layer: str) -> np.ndarray:
    """Summarise the features of the T frames of a clip in one vector.

    Args:
        frames: features of the frames, (T, number of features).
        layer: summary, one of ``LAYERS``, such as ``means``.

    Returns:
        summary, (number of features,).
    """
    if layer == "signed_differences":
        return np.asarray((frames[-1] - frames[0]) / (len(frames) - 1))
    if layer == "differences":
        frames = np.abs(np.diff(frames, axis=0))
    # Sums of sorted numbers depend on no order, not even in their last bits.
    return np.asarray(np.sort(frames, axis=0).mean(axis=0))


def _of_frames(network: Trunk, clip: np.ndarray, device: torch.device) -> np.ndarray:
    """Features of each frame of a clip, float64 (T, 512)."""
    frames = torch.from_numpy(np.ascontiguousarray(clip, dtype=np.float32)).to(device).clamp(0, 1)
    mean, deviation = (torch.tensor(v, device=device)[:, None, None] for v in (MEAN, DEVIATION))
    maps = network((frames.expand(-1, 3, -1, -1) - mean) / deviation)[-1]
    return np.asarray(maps.double().mean(dim=(2, 3)).cpu().numpy())
