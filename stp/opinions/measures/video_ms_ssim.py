"""Multi-scale structural similarity of the predicted frames (full reference).

The formula is that of `stp.metrics.ms_ssim`. Its five scales need frames of 176 pixels. Here three
scales are used, with weights divided by their sum, so that the smallest videos of PVQA (64 pixels)
have a value too. The paper does not say how it treats them.
"""

import numpy as np

from stp.metrics.ms_ssim import multi_scale_similarity, smallest_side
from stp.opinions.measures import Unavailable
from stp.opinions.measures.full_reference import of_videos
from stp.opinions.prepared import Database

SCALES = 3


def values(database: Database, features: None = None) -> np.ndarray | Unavailable:
    """Compute the MS-SSIM between each predicted video and its true future.

    It is averaged over frames and channels.

    Args:
        database: the rated videos.
        features: always None. Measures with a network get its features here.

    Returns:
        float64 (number of videos, 1), or `Unavailable` if a video is too small or a true future is
        unknown.
    """
    sides = database.table["height"].to_pylist() + database.table["width"].to_pylist()
    if min(sides) < smallest_side(SCALES):
        return Unavailable(
            f"videos of {min(sides)} pixels; {SCALES} scales need {smallest_side(SCALES)}"
        )

    def compare(x: np.ndarray, y: np.ndarray) -> float:
        similarity = multi_scale_similarity(x[None], y[None], data_range=1.0, scales=SCALES)
        return float(similarity.mean())

    return of_videos(database, compare)
