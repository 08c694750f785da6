"""What a network sees of videos: any of the parts that `stp.opinions.seen` names, side by side."""

import numpy as np

from stp.opinions.measures import Unavailable
from stp.opinions.prepared import Database
from stp.opinions.seen import Seen


def values(database: Database, seen: Seen | None) -> np.ndarray | Unavailable:
    """The parts that were asked for, (V, D); unavailable without weights or true futures."""
    if seen is None:
        return Unavailable("the weights of the network are not there (see `stp weights`)")
    parts = [seen.parts[name] for name in seen.wanted]
    for name, part in zip(seen.wanted, parts, strict=True):
        if not np.isfinite(part).all():
            return Unavailable(
                f"{name} needs the true futures, or maps of frames, which are not there"
            )
    return np.concatenate(parts, axis=1).astype(np.float64)
