"""Learn what people would think of videos that nobody has rated, from all videos that were rated.

Predictions have an interval, whose half width is a quantile of the errors of test videos
(`stp.metrics.fitted_quality` predicts).
"""

from collections.abc import Sequence

import numpy as np

from stp.metrics.fitted_quality import Learnt
from stp.metrics.srocc import correlation
from stp.opinions import regression

LEVEL = 0.95
"""Of the intervals."""


def fit(
    parts: Sequence[np.ndarray], observed: np.ndarray, splits: np.ndarray, kind: str, count: int
) -> Learnt:
    """Learn from all rated videos.

    Args:
        parts: features of the V rated videos, float (V, D) each.
        observed: their opinions, (V,).
        splits: bool (S, V): is a video in the test? Errors and correlation are those of tests.
        kind: of `stp.opinions.regression.AFFINE`.
        count: principal components at most.
    """
    features = np.concatenate(parts, axis=1)
    gram = regression.products(features)
    errors: list[np.ndarray] = []
    agreement: list[float] = []
    for is_test in splits:
        training, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
        found = regression.predict(kind, gram, training, observed[training], test, count)
        errors.append(np.abs(found - observed[test]))
        agreement.append(correlation(observed[test], found))
    # A split has few videos, and videos occur in several splits: their number is what counts.
    many = len(observed)
    share = min(np.ceil((many + 1) * LEVEL) / many, 1)
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
    """The distance to its nearest neighbour of the video that is farthest from all others."""
    gram = regression.products(part)
    squares = np.diag(gram)
    away = np.sqrt(np.maximum(squares + squares[:, None] - 2 * gram, 0))
    np.fill_diagonal(away, np.inf)
    return float(max(away.min(axis=1).max(), np.finfo(float).tiny))
