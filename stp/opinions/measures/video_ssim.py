"""Structural similarity of the predicted frames, as in `stp.metrics.ssim` (full reference)."""

import numpy as np

from stp.metrics.ssim import structural_similarity
from stp.opinions.measures import Unavailable
from stp.opinions.measures.full_reference import of_videos
from stp.opinions.prepared import Database


def values(database: Database, features: None = None) -> np.ndarray | Unavailable:
    """Compute the SSIM between each predicted video and its true future.

    It is averaged over frames and channels.

    Args:
        database: the rated videos.
        features: always None. Measures with a network get its features here.

    Returns:
        float64 (number of videos, 1), or `Unavailable` if a true future is unknown.
    """
    return of_videos(
        database,
        lambda x, y: float(structural_similarity(x[None], y[None], data_range=1.0).mean()),
    )
