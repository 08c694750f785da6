"""Train a measure of quality on all rated videos, to rate others (`stp.metrics.fitted_quality`).

The half width of prediction intervals is a quantile of the errors of test videos.
"""

from collections.abc import Sequence

import numpy as np

from stp.metrics.fitted_quality import Learnt
from stp.metrics.srocc import correlation
from stp.opinions import regression

LEVEL = 0.95
"""Coverage of the prediction intervals."""


def fit(
    parts: Sequence[np.ndarray], observed: np.ndarray, splits: np.ndarray, kind: str, count: int
) -> Learnt:
    """Train a measure of quality on all rated videos, to rate new ones.

    Args:
        parts: network features of the V rated videos: an array, float (V, D), for each kind of
            features that the measure uses, such as ``mcs``. D depends on the kind
            (`stp.opinions.network_features.PARTS`).
        observed: mean opinion scores of these videos, from 0 to 100, (V,).
        splits: whether each video is a test video, for each of S splits, bool (S, V). Errors and
            correlation are measured on test videos, by regressions on the others.
        kind: regression: ``linear``, ``ridge`` or ``nested`` (linear, with a number of components
            that is chosen by cross-validation).
        count: maximum number of principal components.

    Returns:
        the trained measure: weights and offset of the features, rank correlation with opinions,
        half width of prediction intervals, and the features of the rated videos, from which new
        videos should not be far.
    """
    features = np.concatenate(parts, axis=1)
    gram = regression.products(features)
    errors: list[np.ndarray] = []
    agreement: list[float] = []
    for is_test in splits:
        training, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
        predicted = regression.predict(kind, gram, training, observed[training], test, count)
        errors.append(np.abs(predicted - observed[test]))
        agreement.append(correlation(observed[test], predicted))
    # A split has few videos, and a video is in several splits: V decides on the quantile.
    count_of_videos = len(observed)
    share = min(np.ceil((count_of_videos + 1) * LEVEL) / count_of_videos, 1)
    weights, offset = regression.weights(kind, features, gram, observed, count)
    return Learnt(
        list(parts),
        [_farthest(part) for part in parts],
        weights,
        offset,
        srocc=float(np.median(agreement)),
        margin=float(np.quantile(np.concatenate(errors), share, method="higher")),
    )


def _farthest(part: np.ndarray) -> float:
    """The largest distance from a video to its nearest neighbour."""
    gram = regression.products(part)
    squares = np.diag(gram)
    distances = np.sqrt(np.maximum(squares + squares[:, None] - 2 * gram, 0))
    np.fill_diagonal(distances, np.inf)
    return float(max(distances.min(axis=1).max(), np.finfo(float).tiny))
