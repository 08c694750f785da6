"""Assign videos to raters, and simulate raters with known bias, scale and noise."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from stp.core.errors import StpError
from stp.opinions.ratings import Ratings

Q = TypeVar("Q", bound=Hashable)
A = TypeVar("A", bound=Hashable)
SESSIONS = 2
FEWEST_ALIKE = 5
"""Minimum number of common answers of two raters; fewer may be equal by chance."""


def identical(answers: Mapping[str, Mapping[Q, A]]) -> list[list[str]]:
    """Find raters who gave the same answers to the same questions and may be one person.

    Args:
        answers: by name of the rater, the answers (choices or scores), by question or video.

    Returns:
        groups of two or more names. Raters with fewer than `FEWEST_ALIKE` (5) answers are in no
        group, since few answers may be equal by chance.
    """
    groups: dict[frozenset[tuple[Q, A]], list[str]] = {}
    for rater, ratings in sorted(answers.items()):
        if len(ratings) >= FEWEST_ALIKE:
            groups.setdefault(frozenset(ratings.items()), []).append(rater)
    return [raters for raters in groups.values() if len(raters) > 1]


def identical_text(groups: Iterable[Sequence[str]]) -> str:
    """Describe groups of raters who gave the same answers as each other, in a sentence.

    Args:
        groups: names of the raters in each group, from `identical`.

    Returns:
        the sentence; empty without groups.
    """
    listed = "; ".join(", ".join(raters) for raters in groups)
    return f"raters who gave identical answers, and each count: {listed}" if listed else ""


def assignment(videos: int, raters: int, ratings: int, seed: int) -> list[np.ndarray]:
    """Deal videos to raters, so that each video has equally many ratings.

    Args:
        videos: number of videos; 300 in the study of the PVQA paper.
        raters: number of raters; 50 in that study.
        ratings: number of ratings of each video; 20 in that study.
        seed: seed of the assignment and of the orders.

    Returns:
        for each rater, the indices of the videos in the order in which they are shown. The numbers
        of videos of two raters differ by at most one.

    Raises:
        StpError: there are fewer raters than ratings of a video.
    """
    if ratings > raters:
        raise StpError(
            f"{ratings} ratings of each video by {raters} raters",
            remedy="ask more people, or for fewer ratings",
        )
    rng = np.random.default_rng(seed)
    is_dealt = np.zeros((raters, videos), bool)
    for _ in range(ratings):
        for video in rng.permutation(videos):
            # The rater with the fewest videos gets the next one; ties are broken at random.
            load = is_dealt.sum(axis=1) + rng.random(raters)
            is_dealt[np.where(is_dealt[:, video], np.inf, load).argmin(), video] = True
    return [rng.permutation(np.flatnonzero(row)) for row in is_dealt]


@dataclass(frozen=True)
class Crowd:
    """Simulated raters of videos, with a bias and errors of their own.

    Attributes:
        raters: number of raters.
        random: number of raters, the last ones, who answer at random.
        bias: standard deviation of the constants that raters add to all of their ratings, points.
        scale: standard deviation of the logarithms of the factors by which raters exaggerate
            differences in quality.
        noise: standard deviation of a single rating, points.
    """

    raters: int = 50
    random: int = 3
    bias: float = 8.0
    scale: float = 0.2
    noise: float = 8.0

    def names(self) -> np.ndarray:
        """Names of the raters."""
        return np.array([f"rater_{number:02d}" for number in range(1, self.raters + 1)])

    def answers(self, quality: np.ndarray, names: np.ndarray, ratings: int, seed: int) -> Ratings:
        """Simulate ratings of videos in two sessions.

        Args:
            quality: true quality of the videos, points from 0 to 100, (V,).
            names: names of the videos, (V,).
            ratings: number of ratings of each video.
            seed: seed of all random numbers.

        Returns:
            a rating from 0 to 100 for each simulated answer, with names of rater, session and
            video.
        """
        rng = np.random.default_rng([seed, 1])
        dealt = assignment(len(quality), self.raters, ratings, seed)
        bias = rng.normal(0, self.bias, self.raters)
        scale = np.exp(rng.normal(0, self.scale, self.raters))
        parts = []
        for number, (who, videos) in enumerate(zip(self.names(), dealt, strict=True)):
            session = np.arange(len(videos)) * SESSIONS // max(len(videos), 1) + 1
            if number < self.raters - self.random:
                score = 50 + bias[number] + scale[number] * (quality[videos] - 50)
                score += rng.normal(0, self.noise, len(videos))
            else:
                score = rng.uniform(0, 100, len(videos))
            score = np.round(np.clip(score, 0, 100), 1)
            parts.append((np.full(len(videos), who), session.astype(str), names[videos], score))
        return Ratings(*(np.concatenate(column) for column in zip(*parts, strict=True)))
