"""Predict what people would think of videos that nobody has rated, from videos that were rated.

A prediction comes with an interval, whose half width is a quantile of the errors of test videos,
and with a distance: how far the features are from those of the nearest rated video. A video that is
far from all rated ones has no value, since nothing is known of its like.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stp.metrics.srocc import correlation
from stp.opinions import regression

LEVEL = 0.95
"""Of the intervals."""


@dataclass(frozen=True)
class Estimate:
    """What people would think of a video.

    Attributes:
        value: points, mostly from 0 to 100; None where the video is far from all rated ones.
        low, high: ends of its 95 % interval.
        distance: of its features from those of the nearest rated video; 1 is the distance of the
            rated video that is farthest from all others.
    """

    value: float | None
    low: float | None
    high: float | None
    distance: float


class Estimator:
    """A regression that has learnt from all rated videos.

    Args:
        parts: features of the V rated videos, float (V, D) each; distances are those of the part in
            which a video is farthest.
        observed: their opinions, (V,).
        splits: bool (S, V): is a video in the test? Errors and correlation are those of tests.
        kind: of regression (`stp.opinions.regression.predict`).
        count: principal components at most.

    Attributes:
        srocc: Spearman's correlation of predicted and observed opinions, median over the splits.
        margin: half width of an interval, points.
    """

    def __init__(
        self,
        parts: Sequence[np.ndarray],
        observed: np.ndarray,
        splits: np.ndarray,
        kind: str,
        count: int,
    ) -> None:
        self._parts, self._observed = list(parts), observed
        self._kind, self._count = kind, count
        gram = regression.products(np.concatenate(self._parts, axis=1))
        errors: list[np.ndarray] = []
        agreement: list[float] = []
        for is_test in splits:
            training, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
            found = regression.predict(kind, gram, training, observed[training], test, count)
            errors.append(np.abs(found - observed[test]))
            agreement.append(correlation(observed[test], found))
        self.srocc = float(np.median(agreement))
        # A split has few videos, and videos occur in several splits: their number is what counts.
        many = len(observed)
        share = min(np.ceil((many + 1) * LEVEL) / many, 1)
        self.margin = float(np.quantile(np.concatenate(errors), share, method="higher"))
        self._farthest = [_farthest(part) for part in self._parts]

    def estimate(self, parts: Sequence[np.ndarray]) -> list[Estimate]:
        """Predict opinions of other videos.

        Args:
            parts: their features, float (M, D) each, as those of the rated videos.
        """
        rated, new = len(self._observed), len(parts[0])
        both = [np.concatenate(pair) for pair in zip(self._parts, parts, strict=True)]
        gram = regression.products(np.concatenate(both, axis=1))
        known, others = np.arange(rated), np.arange(rated, rated + new)
        values = regression.predict(self._kind, gram, known, self._observed, others, self._count)
        away = np.max(
            [
                _distances(part)[rated:, :rated].min(axis=1) / farthest
                for part, farthest in zip(both, self._farthest, strict=True)
            ],
            axis=0,
        )
        return [
            Estimate(float(value), value - self.margin, value + self.margin, float(far))
            if far <= 1
            else Estimate(None, None, None, float(far))
            for value, far in zip(values, away, strict=True)
        ]


def pooled(part: np.ndarray, channels: int, predicted: int) -> np.ndarray:
    """Mean and standard deviation over the predicted frames: features that know no length.

    Args:
        part: of `stp.opinions.seen.PARTS`, float (V, T x K), frame by frame.
        channels: of a frame, K.
        predicted: frames at the end that are predicted.

    Returns:
        float64 (V, 2 x K).
    """
    frames = part.reshape(len(part), -1, channels)[:, -predicted:].astype(np.float64)
    return np.concatenate([frames.mean(axis=1), frames.std(axis=1)], axis=1)


def _distances(part: np.ndarray) -> np.ndarray:
    """Euclidean distances of all pairs of videos, float64 (V, V)."""
    gram = regression.products(part)
    squares = np.diag(gram)
    return np.sqrt(np.maximum(squares + squares[:, None] - 2 * gram, 0))


def _farthest(part: np.ndarray) -> float:
    """The distance to its nearest neighbour of the video that is farthest from all others."""
    away = _distances(part)
    np.fill_diagonal(away, np.inf)
    return float(max(away.min(axis=1).max(), np.finfo(float).tiny))
