"""Frechet video distance (Unterthiner et al. 2018, arXiv 1812.01717).

The Frechet distance (stp.metrics.frechet) between the logits that I3D gives to observed and to
predicted clips: section 2 and equation 2 of the paper, preprocessing as in the authors' code
(``google-research/frechet_video_distance``): frames are squashed to 224 x 224 by the bilinear
resize of TensorFlow 1 and scaled to [-1, 1], grey ones get three equal channels.

The value depends on the number of clips: compare at equal N only. I3D needs 9 frames.
"""

import numpy as np
import torch

from stp.metrics import frechet
from stp.metrics.networks import i3d
from stp.metrics.networks.state import State, read_verified
from stp.metrics.perceptual import Embed, SetDistance, Weights
from stp.models.compute import settle

PADDED = 10
"""Frames that PredBench's code fills shorter clips up to."""

GREY = 0.5
"""What is filled in; zero once frames are scaled to [-1, 1]."""

BATCH_FRAMES = {"cpu": 32, "cuda": 512}
"""Frames that are looked at together: about 25 MB each in the first layers."""


def embed(weights: Weights) -> Embed:
    """Make what computes features (see `SetDistance`)."""
    state, _ = read_verified(weights.path, weights.declared)
    with settle(weights.device, weights.threads, "float32") as compute:
        logits = logits_of(state, str(compute.device))

    def features(clips: np.ndarray) -> np.ndarray:
        with settle(weights.device, weights.threads, "float32"):
            return logits(clips)

    return features


def logits_of(state: State, device: str) -> Embed:
    """Put weights into the network.

    Returns:
        a function from clips float32 (N, T, C, H, W) in [0, 1] to logits float64 (N, 400).
    """
    network = i3d.read_i3d(state).to(device)

    def logits(clips: np.ndarray) -> np.ndarray:
        batch = max(1, BATCH_FRAMES.get(torch.device(device).type, 32) // clips.shape[1])
        with torch.inference_mode():
            parts = [
                network(i3d.prepare(clips[start : start + batch], device)).double().cpu().numpy()
                for start in range(0, len(clips), batch)
            ]
        return np.concatenate(parts)

    return logits


def frames_only(context: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """The clips without their context."""
    return frames


def after_context(context: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """The clips behind their context."""
    return np.concatenate([context, frames], axis=1)


def padded(context: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """The clips without their context, filled up to ten frames with grey behind the end."""
    lacking = max(0, PADDED - frames.shape[1])
    return np.pad(frames, ((0, 0), (0, lacking), (0, 0), (0, 0), (0, 0)), constant_values=GREY)


predicted_only = SetDistance("i3d", embed, frames_only, i3d.SHORTEST, frechet.distance)
"""Of the predicted frames: PredBench's code."""

with_context = SetDistance("i3d", embed, after_context, i3d.SHORTEST, frechet.distance)
"""Of context and predicted frames together: the paper (section 4, 2 + 14 frames of BAIR)."""

zero_padded = SetDistance("i3d", embed, padded, i3d.SHORTEST, frechet.distance)
"""Of the predicted frames, padded: PredBench's code for Human3.6M and CityScapes."""
