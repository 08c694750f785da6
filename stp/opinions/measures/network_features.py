"""Features of videos: any of the parts that `stp.opinions.network_features` names, side by side."""

import numpy as np

from stp.opinions.measures import Unavailable
from stp.opinions.network_features import Seen
from stp.opinions.prepared import Database

NEEDS = {
    **dict.fromkeys(("mse", "cosine", "lpips"), "the true futures"),
    "entropy": "the classifier of the network",
}
"""What a part is made from, if not from maps of frames."""


def values(database: Database, seen: Seen | None) -> np.ndarray | Unavailable:
    """The parts that were asked for, (V, D); unavailable without what they are made from."""
    if seen is None:
        return Unavailable("the weights of the network are not there (see `stp list weights`)")
    parts = [seen.parts[name] for name in seen.wanted]
    for name, part in zip(seen.wanted, parts, strict=True):
        if not np.isfinite(part).all():
            lacking = NEEDS.get(name, "maps of single frames")
            return Unavailable(f"{name} needs {lacking}, and there is nothing of it")
    return np.concatenate(parts, axis=1).astype(np.float64)
