"""Features of I3D, with which FVD is defined (Unterthiner et al. 2018, arXiv 1812.01717).

Preprocessing as in the authors' code (``google-research/frechet_video_distance``): frames are
squashed to 224 x 224 by the bilinear resize of TensorFlow 1 and scaled to [-1, 1], grey frames get
three equal channels.
"""

import numpy as np
import torch

from stp.metrics.networks import i3d
from stp.metrics.networks.state import State, read_verified
from stp.metrics.perceptual import Embed, Weights
from stp.models.compute import set_up_compute

LAYERS = ("logits", "pooled")
"""Layers: logits of the actions; and the 1,024 values from which they are computed (``avg_pool``),
which are means over the remaining time steps."""

SHORTEST = i3d.SHORTEST

BATCH_FRAMES = {"cpu": 32, "cuda": 512}
"""Number of frames per batch; a frame takes about 25 MB in the first layers."""


def embed(weights: Weights, layer: str) -> Embed:
    """Make the function that computes features of clips through I3D.

    Args:
        weights: weights file with its checksums, and device and threads of the network.
        layer: one of ``LAYERS``.

    Returns:
        a function from clips float32 (N, T, C, H, W) in [0, 1] to features float64 (N, D).

    Raises:
        StpError: the file differs from its declared checksums, or does not contain weights of I3D.
    """
    state, _ = read_verified(weights.path, weights.declared)
    with set_up_compute(weights.device, weights.threads, "float32") as compute:
        looking = embed_with(state, str(compute.device), layer)

    def features(clips: np.ndarray) -> np.ndarray:
        with set_up_compute(weights.device, weights.threads, "float32"):
            return looking(clips)

    return features


def embed_with(state: State, device: str, layer: str = "logits") -> Embed:
    """Load weights into I3D, and make the function that computes features.

    Args:
        state: tensors of the weights, by name.
        device: "cpu" or "cuda".
        layer: one of ``LAYERS``.

    Returns:
        a function from clips float32 (N, T, C, H, W) in [0, 1] to features float64 (N, D).
    """
    network = i3d.read_i3d(state).to(device)

    def features(clips: np.ndarray) -> np.ndarray:
        batch = max(1, BATCH_FRAMES.get(torch.device(device).type, 32) // clips.shape[1])
        with torch.inference_mode():
            parts = [
                network(i3d.prepare(clips[start : start + batch], device), layer).double().cpu()
                for start in range(0, len(clips), batch)
            ]
        return np.concatenate([part.numpy() for part in parts])

    return features
