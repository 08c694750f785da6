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
"""What some kinds of features need besides the predicted frames, by kind."""


def values(database: Database, features: NetworkFeatures | None) -> np.ndarray | Unavailable:
    """Concatenate the features of each video, of all kinds that the measure uses.

    `stp.opinions.network_features.PARTS` describes the kinds, which it calls parts. Two examples
    are ``mcs`` (similarities of the feature maps of all frames with those of the last observed
    frame) and ``lpips`` (LPIPS of predicted and true frames). ``mse``, ``cosine`` and ``lpips``
    need the true future; ``entropy`` needs a network that classifies frames.

    Args:
        database: the rated videos.
        features: features that the network computed of these videos, and the kinds that the measure
            uses; None if the weights of the network are missing.

    Returns:
        float64 (number of videos, number of features of all kinds together). `Unavailable`, with
        the reason, if the weights are missing or a kind cannot be computed, for example since the
        true future is missing.
    """
    if features is None:
        return Unavailable("the weights of the network are missing (see `stp list weights`)")
    parts = [features.parts[name] for name in features.names]
    for name, part in zip(features.names, parts, strict=True):
        if not np.isfinite(part).all():
            needed = NEEDS.get(name, "maps of single frames")
            return Unavailable(f"{name} needs {needed}, which the videos or the network lack")
    return np.concatenate(parts, axis=1).astype(np.float64)
