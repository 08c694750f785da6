"""Difference of the gradients of predicted and true frames (full reference).

As in the loss of Mathieu et al. (2016), absolute differences of neighbouring pixels along both axes
are compared; here the exponent is 1, and differences are averaged. Brightness is 0 to 255.
"""

import numpy as np

from stp.opinions.measures import Unavailable
from stp.opinions.measures.full_reference import of_videos
from stp.opinions.prepared import Database


def values(database: Database, features: None = None) -> np.ndarray | Unavailable:
    """Compute the mean difference between gradients of predicted and true frames, for each video.

    Differences are averaged over frames, pixels and channels.

    Args:
        database: the rated videos.
        features: always None. Measures with a network get its features here.

    Returns:
        float64 (number of videos, 1), or `Unavailable` if a true future is unknown.
    """
    return of_videos(database, _difference)


def _difference(x: np.ndarray, y: np.ndarray) -> float:
    parts = (
        np.abs(np.abs(np.diff(x, axis=axis)) - np.abs(np.diff(y, axis=axis))).mean(dtype=float)
        for axis in (-2, -1)
    )
    return 255 * float(sum(parts))
