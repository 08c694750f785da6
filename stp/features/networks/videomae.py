"""Features of VideoMAE (Ge et al. 2024, arXiv 2404.12391), which depend more on motion than I3D's.

Clips are converted to the form of the training data of the network: 16 frames (evenly spaced ones
of longer clips), squashed to 224 x 224 by the bilinear resize of TensorFlow 1 as for I3D, and
normalised like ImageNet's pictures; grey frames get three equal channels. The authors of the metric
resize with another filter, so the last digits of values differ from theirs.
"""

import numpy as np
import torch

from stp.metrics.networks.i3d import resize
from stp.metrics.networks.state import read_verified
from stp.metrics.networks.trunks import DEVIATION, MEAN
from stp.metrics.networks.videomae import FRAMES, SIZE, read_videomae
from stp.metrics.perceptual import Embed, Weights
from stp.models.compute import settle

LAYERS = ("pooled",)
"""Layers: the normalised mean of all tokens."""
SHORTEST = FRAMES
BATCH = {"cpu": 1, "cuda": 16}
"""Number of clips per batch."""


def embed(weights: Weights, layer: str) -> Embed:
    """Make the function that computes features of clips through VideoMAE.

    Args:
        weights: weights file with its checksums, and device and threads of the network.
        layer: one of ``LAYERS``.

    Returns:
        a function from clips float32 (N, T, C, H, W) in [0, 1], with C of 1 or 3 and T >= 16, to
        features float64 (N, D), where D is the width of the network.

    Raises:
        StpError: the file differs from its declared checksums, or does not contain weights of
            VideoMAE.
    """
    state, _ = read_verified(weights.path, weights.declared)
    network = read_videomae(state)

    def features(clips: np.ndarray) -> np.ndarray:
        with settle(weights.device, weights.threads, "float32") as compute, torch.inference_mode():
            on_device = network.to(compute.device)
            batch = BATCH.get(compute.device.type, BATCH["cpu"])
            parts = [
                on_device(prepare(clips[start : start + batch], compute.device))
                .double()
                .cpu()
                .numpy()
                for start in range(0, len(clips), batch)
            ]
        return np.concatenate(parts)

    return features


def prepare(clips: np.ndarray, device: torch.device) -> torch.Tensor:
    """Map clips (N, T, C, H, W) in [0, 1] to normalised inputs (N, 3, 16, 224, 224)."""
    chosen = np.linspace(0, clips.shape[1] - 1, FRAMES).round().astype(int)
    chosen_frames = np.ascontiguousarray(clips[:, chosen], dtype=np.float32)
    frames = resize(torch.from_numpy(chosen_frames).to(device).clamp(0, 1), SIZE)
    mean, deviation = (torch.tensor(v, device=device)[:, None, None] for v in (MEAN, DEVIATION))
    return ((frames.expand(-1, -1, 3, -1, -1) - mean) / deviation).transpose(1, 2)
