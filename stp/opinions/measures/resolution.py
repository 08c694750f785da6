"""Predict people's opinion of a video from its size alone, without its pixels: a baseline.

Sizes are encoded as one column each (one-hot). Linear regression on them therefore predicts the
mean opinion of the training videos of the same size.
"""

import numpy as np

from stp.opinions.measures.source_dataset import groups
from stp.opinions.prepared import Database


def values(database: Database, features: None = None) -> np.ndarray:
    """Encode the size of each video: a column for each size, 1 for videos of this size, else 0.

    Args:
        database: the rated videos.
        features: always None. Measures with a network get its features here.

    Returns:
        float64 (number of videos, number of sizes).
    """
    sizes = (database.table[name].to_pylist() for name in ("height", "width"))
    return groups([f"{height} x {width}" for height, width in zip(*sizes, strict=True)])
