"""Compute mean opinion scores (MOS) from ratings, as Somraj et al. (2022, section 3.2) describe it.

Ratings of a rater in a session are standardised to Z-scores. Raters whose Z-scores are often far
above and far below the mean of the video are rejected (ITU-R BT.500-11, annex 2, section 2.3.1).
The remaining Z-scores are rescaled linearly, and averaged for each video.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from stp.core.errors import StpError

Rescaling = Literal["fixed", "observed"]
"""``fixed``: -3 becomes 0 and 3 becomes 100, as in the LIVE studies; a MOS does not depend on the
presence of other raters. ``observed``: the minimum and maximum Z-score of the raters that are not
rejected become 0 and 100. The paper does not say which one it used."""

MOST_FAR = 0.05
"""Maximum share of outliers among the Z-scores of a rater."""
MOST_BALANCED = 0.3
"""Maximum imbalance, as a share, between outliers above and below the mean for a rejection; a rater
with more is biased, not confused."""


@dataclass(frozen=True)
class Ratings:
    """R ratings of videos by raters, as arrays with an entry for each rating.

    Attributes:
        rater: name of the rater, str (R,).
        session: name of the rater's session, str (R,).
        video: name of the rated video, str (R,).
        score: 0 to 100, float64 (R,).
    """

    rater: np.ndarray
    session: np.ndarray
    video: np.ndarray
    score: np.ndarray

    def of(self, raters: np.ndarray) -> "Ratings":
        """The ratings that some raters gave.

        Args:
            raters: names of the raters.
        """
        rows = np.isin(self.rater, raters)
        return Ratings(self.rater[rows], self.session[rows], self.video[rows], self.score[rows])

    def by_rater(self) -> dict[str, dict[str, float]]:
        """Scores by name of the video, for each name of a rater."""
        scores: dict[str, dict[str, float]] = {}
        rows = zip(self.rater.tolist(), self.video.tolist(), self.score.tolist(), strict=True)
        for rater, video, score in rows:
            scores.setdefault(rater, {})[video] = score
        return scores

    def check(self, where: str) -> None:
        """Refuse ratings from which no mean opinion scores can be computed.

        Args:
            where: name of the ratings, for errors.

        Raises:
            StpError: a score is outside 0 to 100, or a rater rated a video twice.
        """
        wrong = np.flatnonzero(~((self.score >= 0) & (self.score <= 100)))
        if len(wrong):
            row = wrong[0]
            raise StpError(
                f"{where}: {self.rater[row]} rates {self.video[row]} with {self.score[row]:g}",
                expected="ratings from 0 to 100",
            )
        pairs = pd.DataFrame({"rater": self.rater, "video": self.video})
        twice = pairs[pairs.duplicated()]
        if len(twice):
            rater, video = twice.iloc[0]
            raise StpError(f"{where}: {rater} rates {video} twice")


@dataclass(frozen=True)
class Opinions:
    """Mean opinion scores of V videos, and the scores that are averaged.

    Attributes:
        video: names of the videos, sorted.
        mos: mean opinion scores, 0 to 100, float64 (V,).
        count: number of ratings of each video, int64 (V,).
        rejected: names of the rejected raters, sorted.
        scores: rescaled Z-scores of the other raters.
    """

    video: np.ndarray
    mos: np.ndarray
    count: np.ndarray
    rejected: np.ndarray
    scores: Ratings


def z_scores(ratings: Ratings, where: str = "ratings") -> Ratings:
    """Subtract the mean of each rater and session, and divide by the standard deviation (n - 1).

    Args:
        ratings: scores from 0 to 100.
        where: name of the ratings, for errors.

    Returns:
        the ratings with Z-scores in place of scores.

    Raises:
        StpError: a rater gave all videos of a session the same score, or rated fewer than two
            videos.
    """
    table = pd.DataFrame(
        {"rater": ratings.rater, "session": ratings.session, "score": ratings.score}
    )
    groups = table.groupby(["rater", "session"], sort=False)["score"]
    deviation = groups.transform("std").to_numpy()
    flat = np.flatnonzero(~(deviation > 0))
    if len(flat):
        rater, session = ratings.rater[flat[0]], ratings.session[flat[0]]
        raise StpError(
            f"{where}: the ratings of {rater} in session {session} do not vary",
            remedy="leave this session out",
        )
    scores = (ratings.score - groups.transform("mean").to_numpy()) / deviation
    return Ratings(ratings.rater, ratings.session, ratings.video, scores)


def outliers(scores: Ratings) -> np.ndarray:
    """Find the raters to reject by the screening of BT.500-11.

    A Z-score is an outlier if it differs from the mean of its video by 2 standard deviations, or by
    sqrt(20) standard deviations if the scores of the video are not distributed normally (kurtosis
    outside 2 to 4). A rater is rejected if more than 5 % of the Z-scores are outliers, and if they
    lie above and below the mean about equally often.

    Returns:
        the names of the rejected raters, sorted.
    """
    table = pd.DataFrame({"rater": scores.rater, "video": scores.video, "score": scores.score})
    videos = table.groupby("video")["score"]
    deviation = table["score"] - videos.transform("mean")
    second = (deviation**2).groupby(table["video"]).transform("mean")
    fourth = (deviation**4).groupby(table["video"]).transform("mean")
    with np.errstate(divide="ignore", invalid="ignore"):  # a video with one rating has no spread
        kurtosis = fourth / second**2
    limit = np.where(kurtosis.between(2, 4), 2.0, np.sqrt(20)) * videos.transform("std")
    above = ((deviation >= limit) & (limit > 0)).groupby(table["rater"]).sum()
    below = ((deviation <= -limit) & (limit > 0)).groupby(table["rater"]).sum()
    far, rated = above + below, table.groupby("rater").size()
    balance = (above - below).abs() / far.where(far > 0)
    rejected = (far / rated > MOST_FAR) & (balance < MOST_BALANCED)
    return np.sort(rejected.index[rejected].to_numpy(dtype=str))


def rescale_scores(scores: Ratings, rescaling: Rescaling) -> Ratings:
    """Rescale Z-scores linearly to 0 to 100.

    Args:
        scores: Z-scores of the raters who are not rejected.
        rescaling: ``fixed``: -3 becomes 0 and 3 becomes 100; ``observed``: the smallest Z-score
            becomes 0 and the largest 100.
    """
    low, high = -3.0, 3.0
    if rescaling == "observed":
        low, high = float(scores.score.min()), float(scores.score.max())
    scores_in_points = 100 * (scores.score - low) / (high - low)
    return Ratings(scores.rater, scores.session, scores.video, scores_in_points)


def opinions(ratings: Ratings, rescaling: Rescaling = "fixed", where: str = "ratings") -> Opinions:
    """Compute mean opinion scores from ratings.

    Args:
        ratings: all ratings.
        rescaling: how Z-scores become points, see `rescale_scores`.
        where: name of the ratings, for errors.

    Raises:
        StpError: a rating is out of range or given twice, all scores of a session are equal, or a
            video is rated by rejected raters only.
    """
    ratings.check(where)
    scores = z_scores(ratings, where)
    rejected = outliers(scores)
    accepted = rescale_scores(scores.of(np.setdiff1d(scores.rater, rejected)), rescaling)
    names, mos, count = means(accepted)
    lost = np.setdiff1d(ratings.video, names)
    if len(lost):
        raise StpError(
            f"{where}: all raters of {lost[0]} are rejected",
            remedy="collect more ratings of this video, or leave it out",
        )
    return Opinions(names, mos, count, rejected, accepted)


def means(scores: Ratings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Average the scores of each video.

    Returns:
        names of the V videos, sorted, their mean scores and their numbers of scores, (V,) each.
    """
    names, index = np.unique(scores.video, return_inverse=True)
    count = np.bincount(index)
    return names, np.bincount(index, weights=scores.score) / count, count


def split_half(scores: Ratings, times: int = 100, seed: int = 0) -> np.ndarray:
    """Correlate the mean opinion scores of two random halves of the raters, several times.

    Args:
        scores: rescaled Z-scores of the raters that were not rejected.
        times: number of random halvings.
        seed: seed of the halvings.

    Returns:
        Pearson's correlation of each halving, float64 (times,), over the videos that both halves
        rated.
    """
    raters, rng = np.unique(scores.rater), np.random.default_rng(seed)
    correlations = np.empty(times)
    for trial in range(times):
        order = rng.permutation(raters)
        halves = [means(scores.of(part)) for part in np.array_split(order, 2)]
        (first, x, _), (second, y, _) = halves
        _, i, j = np.intersect1d(first, second, return_indices=True)
        correlations[trial] = np.corrcoef(x[i], y[j])[0, 1]
    return correlations
