"""Shares of answers, with intervals.

Answers of one rater, and answers about one clip, are alike, so answers are not independent: raters
and questions are both a random sample. Their bootstrap draws raters and questions anew, each with
replacement, and weighs an answer by how often both were drawn (Owen 2007, "The pigeonhole
bootstrap"; a little too wide rather than too narrow). Wilson's interval (1927) of a share takes
answers as independent: it is the shortest that could be right.
"""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from stp.score.bootstrap import TAILS
from stp.score.jackknife import FEWEST_CLUSTERS

RESAMPLES = 10_000
SEED = 0
CHUNK = 500  # resamples at a time


class Interval(NamedTuple):
    """Both ends of a 95 % interval, or the reason why there is none."""

    low: float | None
    high: float | None
    reason: str = ""


class Share(NamedTuple):
    """A share of answers.

    Attributes:
        hits: how many answers (a tie counts in part).
        answers: of how many.
        value: the share; None where there is no answer.
        clustered: interval by the bootstrap over raters and questions.
        wilson: interval of independent answers.
    """

    hits: float
    answers: int
    value: float | None
    clustered: Interval
    wilson: Interval


def wilson(hits: float, answers: int) -> Interval:
    """The score interval of a proportion (Wilson 1927)."""
    if not answers:
        return Interval(None, None, "no answers")
    z = NormalDist().inv_cdf(TAILS[1])
    share = hits / answers
    centre = share + z**2 / (2 * answers)
    half = z * np.sqrt(share * (1 - share) / answers + z**2 / (4 * answers**2))
    low, high = (float((centre + sign * half) / (1 + z**2 / answers)) for sign in (-1, 1))
    # Rounding must not move an end past what is certain.
    return Interval(max(0.0, low), min(1.0, high))


def share(
    hits: np.ndarray,
    raters: np.ndarray | None,
    questions: np.ndarray,
    strata: np.ndarray,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Share:
    """The share of hits among answers.

    Args:
        hits: of each answer, 0..1, (A,).
        raters: number of each answer's rater, (A,); None where no one rater gave it, and
            questions alone are drawn anew.
        questions: number of each answer's question, (A,).
        strata: of each answer's question, (A,): questions are drawn anew within their dataset, as
            they were drawn for the study.
        resamples: of the bootstrap.
        seed: of its random stream.
    """
    total, answers = float(hits.sum()), len(hits)
    if not answers:
        none = Interval(None, None, "no answers")
        return Share(0.0, 0, None, none, none)
    value = total / answers
    n_questions = len(np.unique(questions))
    n_raters = None if raters is None else len(np.unique(raters))
    if n_questions < FEWEST_CLUSTERS or (n_raters is not None and n_raters < FEWEST_CLUSTERS):
        few = f"{n_questions} questions ({FEWEST_CLUSTERS} needed)"
        if n_raters is not None:
            few = f"{n_raters} raters, {n_questions} questions ({FEWEST_CLUSTERS} of both needed)"
        interval = Interval(None, None, few)
    elif total in (0.0, float(answers)):
        # All resamples say the same, which is no certainty.
        interval = Interval(None, None, "no spread: " + ("never" if total == 0 else "always"))
    else:
        means = _resampled(hits, raters, questions, strata, resamples, seed)
        low, high = np.quantile(means, TAILS)
        interval = Interval(float(low), float(high))
    return Share(total, answers, value, interval, wilson(total, answers))


def _resampled(
    hits: np.ndarray,
    raters: np.ndarray | None,
    questions: np.ndarray,
    strata: np.ndarray,
    resamples: int,
    seed: int,
) -> np.ndarray:
    """Shares in each resample, (R,)."""
    is_drawn = raters is not None
    names, rater = np.unique(np.zeros(len(hits)) if raters is None else raters, return_inverse=True)
    asked, first, question = np.unique(questions, return_index=True, return_inverse=True)
    stratum = strata[first]
    shape = (len(names), len(asked))
    made, given = np.zeros(shape), np.zeros(shape)
    np.add.at(made, (rater, question), hits)
    np.add.at(given, (rater, question), 1.0)
    rng = np.random.default_rng(seed)
    found = []
    for start in range(0, resamples, CHUNK):
        n = min(CHUNK, resamples - start)
        people = np.ones((n, 1), np.int64)
        if is_drawn:
            people = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=n)
        clips = np.zeros((n, len(asked)))
        for name in np.unique(stratum):
            inside = np.flatnonzero(stratum == name)
            drawn = rng.multinomial(len(inside), np.full(len(inside), 1 / len(inside)), size=n)
            clips[:, inside] = drawn
        counted = ((people @ given) * clips).sum(axis=1)
        # A resample may by chance hold no answer at all where raters answered few questions.
        some = counted > 0
        found.append(((people @ made) * clips).sum(axis=1)[some] / counted[some])
    return np.concatenate(found)
