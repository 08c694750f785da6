"""Predict people's opinion of a video from features that a network computes of it.

The features are some of `stp.opinions.network_features.PARTS`, side by side.
"""

import numpy as np

from stp.opinions.measures import Unavailable
from stp.opinions.network_features import NetworkFeatures
from stp.opinions.prepared import Database

NEEDS = {
    **dict.fromkeys(("mse", "cosine", "lpips"), "the true futures"),
    "entropy": "the classifier of the network",
}
"""Input of parts that are not computed from maps of frames."""


def values(database: Database, features: NetworkFeatures | None) -> np.ndarray | Unavailable:
    """Concatenate the parts of the network's features that the measure uses, for each video.

    Returns:
        float64 (number of videos, number of features), or `Unavailable` if the weights of the
        network or the input of a part are missing.
    """
    if features is None:
        return Unavailable("the weights of the network are missing (see `stp list weights`)")
    parts = [features.parts[name] for name in features.names]
    for name, part in zip(features.names, parts, strict=True):
        if not np.isfinite(part).all():
            needed = NEEDS.get(name, "maps of single frames")
            return Unavailable(f"{name} needs {needed}, which the videos or the network lack")
    return np.concatenate(parts, axis=1).astype(np.float64)
