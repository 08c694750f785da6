"""Compute shares of answers, with intervals.

Answers of one rater depend on each other, and so do answers about one clip: raters and questions
are both random samples. The bootstrap draws raters and questions with replacement, and weights an
answer by how often both were drawn (Owen 2007, "The pigeonhole bootstrap"; its intervals tend to be
a little too wide). Wilson's interval (1927) assumes that answers are independent, so it is a lower
bound of the uncertainty.
"""

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import pandas as pd

from stp.score.bootstrap import TAILS
from stp.score.jackknife import FEWEST_CLUSTERS

RESAMPLES = 10_000
SEED = 0
CHUNK = 500  # resamples computed at once


class Vote(NamedTuple):
    """A rater's answer to a question, from which a share is computed.

    A share is the number of hits divided by the number of votes. Which votes are hits depends on
    the share: for example, those that name a given model, or those that name the model that is best
    by a metric.

    Attributes:
        hit: 1 for a hit, 0 for any other vote. If k models are best by a metric with equal values,
            a vote for one of them is 1/k of a hit.
        rater: name of the rater; empty for a vote that does not belong to one rater.
        question: index of the question, or of another unit that is resampled instead, such as a
            pair of models.
        stratum: stratum of the question: questions are resampled within their stratum (dataset),
            as they were drawn for the study.
    """

    hit: float
    rater: str
    question: int
    stratum: str = ""


class Interval(NamedTuple):
    """A 95 % interval of a share.

    Attributes:
        low, high: ends of the interval, 0..1; None if there is a reason.
        reason: reason why there is no interval; empty if there is one.
    """

    low: float | None
    high: float | None
    reason: str = ""


class Share(NamedTuple):
    """A share of raters' answers, with its interval.

    Attributes:
        hits: number of answers that are hits (see `Vote`); an answer that names one of k equally
            good models is 1/k of a hit.
        answers: number of all answers.
        value: hits / answers, 0..1; None without answers.
        clustered: interval of the bootstrap over raters and questions.
        wilson: Wilson's interval, for independent answers.
    """

    hits: float
    answers: int
    value: float | None
    clustered: Interval
    wilson: Interval


def wilson(hits: float, answers: int) -> Interval:
    """Compute Wilson's 95 % interval of a share, which assumes that answers are independent.

    Args:
        hits: number of answers that are hits (see `Vote`).
        answers: number of all answers.
    """
    if not answers:
        return Interval(None, None, "no answers")
    z = NormalDist().inv_cdf(TAILS[1])
    share = hits / answers
    centre = share + z**2 / (2 * answers)
    half = z * np.sqrt(share * (1 - share) / answers + z**2 / (4 * answers**2))
    low, high = (float((centre + sign * half) / (1 + z**2 / answers)) for sign in (-1, 1))
    # Rounding must not move an end out of [0, 1].
    return Interval(max(0.0, low), min(1.0, high))


def share(votes: Sequence[Vote], *, of_raters: bool = True, resamples: int = RESAMPLES) -> Share:
    """Compute the share of hits among votes, with intervals.

    What a hit is depends on the question that the share answers. If it is how often raters choose a
    model, an answer that names the model is a hit. If it is how often they agree with a metric, an
    answer that names the model that is best by the metric is one.

    Args:
        votes: a vote for each answer, which says whether it is a hit.
        of_raters: whether the bootstrap resamples raters too, besides questions; False for votes
            that do not belong to one rater, such as those of a majority.
        resamples: number of resamples of the bootstrap.
    """
    table = pd.DataFrame(votes, columns=Vote._fields).astype({"hit": np.float64})
    hits, answers = float(table["hit"].to_numpy().sum()), len(table)
    if not answers:
        none = wilson(0, 0)
        return Share(0.0, 0, None, none, none)
    raters, questions = table["rater"].nunique(), table["question"].nunique()
    if questions < FEWEST_CLUSTERS or (of_raters and raters < FEWEST_CLUSTERS):
        few = f"{questions} questions ({FEWEST_CLUSTERS} needed)"
        if of_raters:
            few = f"{raters} raters, {questions} questions ({FEWEST_CLUSTERS} of both needed)"
        interval = Interval(None, None, few)
    elif hits in (0.0, float(answers)):
        # All resamples are equal, but that is no certainty.
        interval = Interval(None, None, "no spread: " + ("never" if hits == 0 else "always"))
    else:
        low, high = np.quantile(_resampled_shares(table, of_raters, resamples), TAILS)
        interval = Interval(float(low), float(high))
    return Share(hits, answers, hits / answers, interval, wilson(hits, answers))


def _resampled_shares(table: pd.DataFrame, of_raters: bool, resamples: int) -> np.ndarray:
    """The share of hits in each resample that has answers, (R,)."""
    rater = pd.factorize(table["rater"])[0] * of_raters
    question = pd.factorize(table["question"], sort=True)[0]
    strata = pd.factorize(table.groupby("question")["stratum"].first(), sort=True)[0]
    shape = (rater.max() + 1, len(strata))
    hit_sums, answer_counts = np.zeros(shape), np.zeros(shape)
    np.add.at(hit_sums, (rater, question), table["hit"].to_numpy())
    np.add.at(answer_counts, (rater, question), 1.0)
    rng = np.random.default_rng(SEED)
    shares = []
    for start in range(0, resamples, CHUNK):
        n = min(CHUNK, resamples - start)
        of_rater = np.ones((n, 1), np.int64)
        if of_raters:
            of_rater = rng.multinomial(shape[0], np.full(shape[0], 1 / shape[0]), size=n)
        of_question = np.zeros((n, shape[1]))
        for stratum in range(strata.max() + 1):
            inside = np.flatnonzero(strata == stratum)
            odds = np.full(len(inside), 1 / len(inside))
            of_question[:, inside] = rng.multinomial(len(inside), odds, size=n)
        answers = ((of_rater @ answer_counts) * of_question).sum(axis=1)
        # Where raters answered few questions, a resample may have no answer at all.
        some = answers > 0
        shares.append(((of_rater @ hit_sums) * of_question).sum(axis=1)[some] / answers[some])
    return np.concatenate(shares)
