"""Statistical dependence between two sets of features of the same videos."""

import numpy as np
from scipy.spatial.distance import pdist, squareform


def correlation_of_distances(x: np.ndarray, y: np.ndarray) -> float:
    """Correlate the distances between videos in two sets of features (Pearson's correlation).

    Each set gives one distance for each pair of videos, that between their features.

    This is what Somraj et al. (2022, section 5.2.1) describe as distance correlation. The quantity
    of Székely et al. (2007) that they cite is `distance_correlation`.

    Args:
        x: first set of features, a row for each of N videos, float (N, number of features).
        y: second set of features of the same videos, in the same form.
    """
    return float(np.corrcoef(pdist(x), pdist(y))[0, 1])


def distance_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Compute the distance correlation of Székely, Rizzo and Bakirov (2007), from 0 to 1.

    Args:
        x: first set of features, a row for each of N videos, float (N, number of features).
        y: second set of features of the same videos, in the same form.
    """
    a, b = (_centred(squareform(pdist(points))) for points in (x, y))
    common = (a * b).mean()
    return float(np.sqrt(max(common, 0) / np.sqrt((a * a).mean() * (b * b).mean())))


def _centred(distances: np.ndarray) -> np.ndarray:
    rows = distances.mean(axis=0)
    return np.asarray(distances - rows - rows[:, None] + distances.mean())


def dissimilarity(first: np.ndarray, last: np.ndarray) -> float:
    """Compute one minus the cosine similarity of the features of two frames.

    Somraj et al. (2022) state this score for the two videos of their Figure 6, between the first
    context frame and the last predicted frame.

    Args:
        first: features of the first frame, (number of features,).
        last: features of the last frame, with the same shape.

    Returns:
        number from 0 (features are proportional) to 2; NaN if all features of a frame are 0.
    """
    lengths = np.linalg.norm(first) * np.linalg.norm(last)
    return float(1 - first @ last / lengths) if lengths > 0 else float("nan")
