"""Measures that compare predicted frames with the true future (full reference).

They measure the distance of a prediction from the true future, so a good prediction of another
possible future has a large distance too. Frames are never resized; values are averaged over the
predicted frames.
"""

from collections.abc import Callable

import numpy as np

from stp.opinions.measures import Unavailable
from stp.opinions.prepared import Database

Compare = Callable[[np.ndarray, np.ndarray], float]
"""Function from predicted and true frames after the context, float32 (T, 3, H, W) in [0, 1], to a
value."""


def of_videos(database: Database, compare: Compare) -> np.ndarray | Unavailable:
    """Compare each video with its true future.

    Args:
        database: the videos.
        compare: function from predicted and true frames, float32 (T, 3, H, W) in [0, 1] each, to
            the value of a video.

    Returns:
        values, float64 (number of videos, 1), or `Unavailable` if a true future is unknown.
    """
    missing = len(database) - int(
        np.sum(database.table["has_truth"].to_numpy(zero_copy_only=False))
    )
    if missing:
        return Unavailable(f"the true futures of {missing} of {len(database)} videos are missing")
    values = []
    for video in database.videos():
        assert video.truth is not None
        pair = (
            np.moveaxis(frames[database.context :], -1, 1).astype(np.float32) / 255
            for frames in (video.predicted, video.truth)
        )
        values.append(compare(*pair))
    return np.array(values, np.float64)[:, None]
