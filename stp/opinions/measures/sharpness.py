"""Sharpness of the predicted frames: a baseline that needs neither true frames nor a network."""

import numpy as np

from stp.opinions.prepared import Database


def values(database: Database, features: None = None) -> np.ndarray:
    """Compute the sharpness of each video, float64 (number of videos, 1).

    It is the logarithm of the mean squared difference of neighbouring pixels in predicted frames.
    """
    sharpnesses = []
    for video in database.videos():
        frames = video.predicted[database.context :].mean(axis=-1, dtype=np.float32)
        power = sum(float(np.square(np.diff(frames, axis=a)).mean()) for a in (-2, -1))
        sharpnesses.append(np.log(power + 1e-3))
    return np.array(sharpnesses)[:, None]
