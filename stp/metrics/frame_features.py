"""Features of a video, computed from a network's feature maps of its frames.

Shape letters: T frames, H x W pixels, h x w locations of a map, K channels of a map. The first
frames are observed (context), the others are predicted. Each of the three features is a vector of K
numbers for each frame (Somraj et al. 2022, section 4): motion-compensated similarity (MCS),
rescaled frame differences (RFD), and simple spatial averages (SSA), their baseline.

The argument ``form`` selects between ``released``, the behaviour of the published code, and
``written``, the definition in the text of the paper.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

Form = Literal["released", "written"]
PARTS = ("ssa", "mcs", "mcs_written", "rfd", "rfd_written")
"""Features that `features_of` computes; `stp.opinions.network_features.PARTS` describes them."""
EPSILON = 1e-15
"""Added to the product of two norms, so that a location or channel of zeros has the similarity
0."""


def motion_compensated_similarity(maps: np.ndarray, context: int, form: Form) -> np.ndarray:
    """Compare each frame with the last observed one after motion compensation (MCS).

    Each location of the last observed frame is matched to the location of the other frame with the
    most similar channels (the first one in case of ties). Each channel is then compared over all
    matched locations.

    Args:
        maps: feature maps of T frames, with K channels at h x w locations, float (T, h, w, K).
        context: number of observed frames.
        form: frames to compare: ``released``, all T, as the published code does; ``written``, only
            the predicted frames, as the paper defines it.

    Returns:
        cosine similarities of each channel, float64: (T, K) if ``released``, (T - context, K) if
        ``written``.
    """
    flat = maps.reshape(len(maps), -1, maps.shape[-1]).astype(np.float64)
    reference = flat[context - 1]
    length = np.linalg.norm(reference, axis=1)
    size = np.linalg.norm(reference, axis=0)
    frames = flat if form == "released" else flat[context:]
    similarities = np.empty((len(frames), flat.shape[-1]))
    for number, frame in enumerate(frames):
        similar = reference @ frame.T
        similar /= length[:, None] * np.linalg.norm(frame, axis=1) + EPSILON
        moved = frame[similar.argmax(axis=1)]
        product = np.einsum("lk,lk->k", reference, moved)
        similarities[number] = product / (size * np.linalg.norm(moved, axis=0) + EPSILON)
    return similarities


def rescaled_differences(video: np.ndarray, form: Form) -> np.ndarray:
    """Rescale differences of adjacent frames to 0..255, as pictures (RFD).

    Args:
        video: frames, uint8 (T, H, W, C).
        form: range that is mapped to 0..255: ``released``, from the smallest to the largest
            difference over all channels of the video, as in the published code; ``written``, from
            the smallest to the largest difference of each channel, as the paper defines it.

    Returns:
        rescaled differences, truncated to integers, uint8 (T - 1, H, W, C); zero for a static
        video.
    """
    away = np.diff(video.astype(np.int16), axis=0)
    axes = None if form == "released" else (0, 1, 2)
    low = away.min(axis=axes, keepdims=True)
    span = away.max(axis=axes, keepdims=True) - low
    return np.asarray((away - low) * 255.0 / np.maximum(span, 1)).astype(np.uint8)


def spatial_means(maps: np.ndarray) -> np.ndarray:
    """Average feature maps over locations: float (T, h, w, K) to float64 (T, K).

    For the maps of a video's frames, Somraj et al. 2022 call this simple spatial averaging (SSA).
    """
    return np.asarray(maps.mean(axis=(1, 2), dtype=np.float64))


def of_differences(maps: np.ndarray, form: Form) -> np.ndarray:
    """Average the feature maps of frame differences over locations (RFD).

    The differences of adjacent frames, rescaled to pictures by `rescaled_differences`, are given to
    the network, which makes a map of each.

    Args:
        maps: feature maps of the T - 1 rescaled differences of a video of T frames, with K channels
            at h x w locations, float (T - 1, h, w, K).
        form: ``released``, zeros are prepended for the first frame, as in the published code;
            ``written``, they are not, as the paper defines it.

    Returns:
        means, float64: (T, K) if ``released``, (T - 1, K) if ``written``.
    """
    means = spatial_means(maps)
    return means if form == "written" else np.concatenate([np.zeros_like(means[:1]), means])


def features_of(
    frames: np.ndarray,
    maps_of: Callable[[np.ndarray], np.ndarray],
    context: int,
    names: Sequence[str],
    seen: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Compute the named features of one video.

    Args:
        frames: frames, uint8 (T, H, W, 3).
        maps_of: function that computes the feature maps of frames, with K channels at h x w
            locations, float (T, h, w, K).
        context: number of observed frames.
        names: names of the features: "ssa" (means over locations), "mcs" (motion-compensated
            similarity) and "rfd" (rescaled differences), as the published code computes them;
            "mcs_written" and "rfd_written", as the paper defines them.
        seen: feature maps of ``frames``; None to compute them.

    Returns:
        features by name, K numbers for each frame: float64 (T, K); for "mcs_written" (T - context,
        K), the predicted frames; for "rfd_written" (T - 1, K), the differences of adjacent frames.
    """
    maps = maps_of(frames) if seen is None else seen
    features = {}
    if "ssa" in names:
        features["ssa"] = spatial_means(maps)
    if "mcs" in names or "mcs_written" in names:
        similar = motion_compensated_similarity(maps, context, "released")
        features |= {"mcs": similar, "mcs_written": similar[context:]}
    forms: tuple[tuple[str, Form], ...] = (("rfd", "released"), ("rfd_written", "written"))
    for name, form in forms:
        if name in names:
            features[name] = of_differences(maps_of(rescaled_differences(frames, form)), form)
    return {name: features[name] for name in names}
