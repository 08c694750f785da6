"""Sharpness of the predicted frames: a baseline that needs neither true frames nor a network."""

import numpy as np

from stp.opinions.prepared import Database


def values(database: Database, features: None = None) -> np.ndarray:
    """Compute the sharpness of the predicted frames of each video.

    It is the logarithm of the mean squared difference of neighbouring pixels.

    Args:
        database: the rated videos.
        features: always None. Measures with a network get its features here.

    Returns:
        float64 (number of videos, 1).
    """
    sharpnesses = []
    for video in database.videos():
        frames = video.predicted[database.context :].mean(axis=-1, dtype=np.float32)
        power = sum(float(np.square(np.diff(frames, axis=a)).mean()) for a in (-2, -1))
        sharpnesses.append(np.log(power + 1e-3))
    return np.array(sharpnesses)[:, None]
