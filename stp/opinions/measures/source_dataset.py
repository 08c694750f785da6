"""Predict people's opinion of a video from the dataset it comes from, not its pixels: a baseline.

Datasets are encoded as one column each (one-hot). Linear regression on them therefore predicts the
mean opinion of the training videos of the same dataset.
"""

import numpy as np

from stp.opinions.prepared import Database


def values(database: Database, features: None = None) -> np.ndarray:
    """Encode the dataset of each video: a column for each dataset, 1 for its videos, else 0.

    Args:
        database: the rated videos.
        features: always None. Measures with a network get its features here.

    Returns:
        float64 (number of videos, number of datasets).
    """
    return groups(database.table["dataset"].to_pylist())


def groups(names: list[str]) -> np.ndarray:
    """One-hot encode names: a row for each name, a column for each distinct name, sorted."""
    _, group = np.unique(np.array([str(name) for name in names]), return_inverse=True)
    return np.eye(int(group.max()) + 1)[group]
