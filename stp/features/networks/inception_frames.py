"""Features of Inception-v3 of each frame, averaged over the clip.

The Frechet distance between these features is the baseline "average FID" of Unterthiner et al.
(2018, section 4.1). Weights are torchvision's. Frames are squashed to 299 x 299 by the bilinear
resize of TensorFlow 1, as the authors' code does for I3D, and scaled to [-1, 1]; grey frames get
three equal channels. Layers are summaries over time of the 2,048 values of the last pooling, as in
`stp.features.networks.squeezenet_frames`.
"""

import numpy as np
import torch

from stp.features.networks.squeezenet_frames import LAYERS, SHORTEST, over_time
from stp.metrics.networks.i3d import resize
from stp.metrics.networks.inception import SIZE, Inception, read_inception
from stp.metrics.networks.state import read_verified
from stp.metrics.perceptual import Embed, Weights
from stp.models.compute import set_up_compute

__all__ = ["LAYERS", "SHORTEST", "embed"]

BATCH_FRAMES = {"cpu": 8, "cuda": 128}
"""Number of frames per batch."""


def embed(weights: Weights, layer: str) -> Embed:
    """Make the function that computes features of clips through Inception-v3.

    Args:
        weights: weights file with its checksums, and device and threads of the network.
        layer: summary over the frames of a clip, one of ``LAYERS``, such as ``means``.

    Returns:
        a function from clips float32 (N, T, C, H, W) in [0, 1], C is 1 or 3, to features float64
        (N, 2048).

    Raises:
        StpError: the file differs from its declared checksums, or does not contain weights of
            Inception-v3.
    """
    state, _ = read_verified(weights.path, weights.declared)
    network = read_inception(state)

    def features(clips: np.ndarray) -> np.ndarray:
        with (
            set_up_compute(weights.device, weights.threads, "float32") as compute,
            torch.inference_mode(),
        ):
            on_device = network.to(compute.device)
            parts = [
                over_time(_of_frames(on_device, clip, compute.device), layer) for clip in clips
            ]
        return np.stack(parts)

    return features


def _of_frames(network: Inception, clip: np.ndarray, device: torch.device) -> np.ndarray:
    """Features of each frame of a clip in [0, 1], clipped to it: float64 (T, 2048)."""
    batch = BATCH_FRAMES.get(device.type, BATCH_FRAMES["cpu"])
    frames = torch.from_numpy(np.ascontiguousarray(clip, dtype=np.float32)).to(device).clamp(0, 1)
    parts = [
        network(resize(part, SIZE).expand(-1, 3, -1, -1) * 2 - 1).double().cpu().numpy()
        for part in frames.split(batch)
    ]
    return np.concatenate(parts)
