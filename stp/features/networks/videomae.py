"""Features of VideoMAE (Ge et al. 2024, arXiv 2404.12391), which depend more on motion than I3D's.

Clips are converted to the form of the network's training data (`prepare`). The authors of the
metric resize frames with another filter, so the last digits of values differ from theirs.
"""

import numpy as np
import torch

from stp.metrics.networks.i3d import resize
from stp.metrics.networks.state import read_verified
from stp.metrics.networks.trunks import DEVIATION, MEAN
from stp.metrics.networks.videomae import FRAMES, SIZE, read_videomae
from stp.metrics.perceptual import Embed, Weights
from stp.models.compute import set_up_compute

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
        with (
            set_up_compute(weights.device, weights.threads, "float32") as compute,
            torch.inference_mode(),
        ):
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
    """Convert clips to normalised inputs of the network.

    Of T frames, 16 are used: the first, the last, and evenly spaced ones between them. Frames are
    resized bilinearly to 224 x 224, as TensorFlow 1 does by default; frames that are not square are
    distorted, not cropped. The channel of grey frames is repeated. Values are normalised with the
    means and standard deviations of ImageNet's channels.

    Args:
        clips: clips (N, T, C, H, W), with T of 16 or more and C of 1 or 3; values are clipped to
            [0, 1].
        device: device of the result.

    Returns:
        inputs, float32 (N, 3, 16, 224, 224).
    """
    chosen = np.linspace(0, clips.shape[1] - 1, FRAMES).round().astype(int)
    chosen_frames = np.ascontiguousarray(clips[:, chosen], dtype=np.float32)
    frames = resize(torch.from_numpy(chosen_frames).to(device).clamp(0, 1), SIZE)
    mean, deviation = (torch.tensor(v, device=device)[:, None, None] for v in (MEAN, DEVIATION))
    return ((frames.expand(-1, -1, 3, -1, -1) - mean) / deviation).transpose(1, 2)
