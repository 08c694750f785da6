"""How sharp the predicted frames are: without reference, and without network."""

import numpy as np

from stp.opinions.prepared import Database


def values(database: Database, seen: None = None) -> np.ndarray:
    """Logarithm of the mean squared difference of neighbours in the predicted frames, (V, 1)."""
    found = []
    for video in database.videos():
        frames = video.predicted[database.context :].mean(axis=-1, dtype=np.float32)
        power = sum(float(np.square(np.diff(frames, axis=a)).mean()) for a in (-2, -1))
        found.append(np.log(power + 1e-3))
    return np.array(found)[:, None]
