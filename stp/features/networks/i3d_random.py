"""I3D with random weights, for tests and demonstrations; it is not trained.

The layers are those of I3D (`stp.metrics.networks.i3d`), the weights are drawn with a seed
(`stp.metrics.networks.random_weights`). Frames keep their size and are not resized to 224 x 224, so
that clips of 32 x 32 pixels take milliseconds; the last maps are averaged over space.
"""

import numpy as np
import torch
from torch import nn

from stp.metrics.networks import i3d
from stp.metrics.networks.random_weights import draw
from stp.metrics.perceptual import Embed
from stp.models.compute import set_up_compute

LAYERS = ("logits", "pooled")
SHORTEST = i3d.SHORTEST
BATCH_FRAMES = 256
"""Number of frames per batch."""


def embed_random(seed: int, layer: str, device: str = "auto", threads: int = 1) -> Embed:
    """Make the function that computes features of clips through I3D with random weights.

    Args:
        seed: seed of the weights.
        layer: one of ``LAYERS``.
        device: "auto", "cpu" or "cuda".
        threads: number of CPU threads.

    Returns:
        a function from clips float32 (N, T, C, H, W) in [0, 1], C is 1 or 3, to features float64
        (N, D).
    """
    network = draw(i3d.I3D(), seed)
    assert isinstance(network, i3d.I3D)
    network.avg_pool = nn.AvgPool3d((2, 1, 1), stride=1)

    def features(clips: np.ndarray) -> np.ndarray:
        batch = max(1, BATCH_FRAMES // clips.shape[1])
        with set_up_compute(device, threads, "float32") as compute, torch.inference_mode():
            on_device = network.to(compute.device)
            parts = [
                on_device(_to_inputs(clips[start : start + batch]).to(compute.device), layer)
                for start in range(0, len(clips), batch)
            ]
            return np.concatenate([part.double().cpu().numpy() for part in parts])

    return features


def _to_inputs(clips: np.ndarray) -> torch.Tensor:
    """Map clips in [0, 1], clipped to it, to inputs in [-1, 1], (N, 3, T, H, W)."""
    frames = torch.from_numpy(np.ascontiguousarray(clips, dtype=np.float32)).clamp(0, 1) * 2 - 1
    return frames.transpose(1, 2).expand(-1, 3, -1, -1, -1)
