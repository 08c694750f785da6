"""Mean squared error of the predicted frames, of brightness 0 to 255 (full reference)."""

import numpy as np

from stp.opinions.measures import Unavailable
from stp.opinions.measures.full_reference import of_videos
from stp.opinions.prepared import Database


def values(database: Database, features: None = None) -> np.ndarray | Unavailable:
    """Compute the mean squared error of the predicted frames of each video.

    Errors are differences of brightness, 0 to 255, from the true frames. Their squares are averaged
    over frames, pixels and channels.

    Args:
        database: the rated videos.
        features: always None. Measures with a network get its features here.

    Returns:
        float64 (number of videos, 1), or `Unavailable` if a true future is unknown.
    """
    return of_videos(database, lambda x, y: float(np.square(255 * (x - y), dtype=float).mean()))
