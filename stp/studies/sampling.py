"""Draw clips of a dataset, and videos for each rater, at random."""

import zlib

import numpy as np
import pandas as pd

from stp.core.errors import StpError


def draw(clusters: pd.Series, count: int, seed: int, dataset: str) -> list[int]:
    """Draw clips at random without replacement, as evenly over clusters as possible.

    Clusters (videos, trajectories) take turns in a random order, and a random clip is drawn from
    each, until there are enough clips. So numbers of clips per cluster differ by more than one only
    if a cluster has no further clips.

    Args:
        clusters: cluster of each clip, (N,).
        count: number of clips to draw.
        seed: seed of the random stream; each dataset has a stream of its own.
        dataset: name of the dataset.

    Returns:
        indices of the clips, in ascending order.

    Raises:
        StpError: there are fewer clips than ``count``.
    """
    if count > len(clusters):
        raise StpError(
            f"{count} clips of {dataset}, which has {len(clusters)} test clips",
            remedy="ask for fewer in the configuration of the study",
        )
    rng = np.random.default_rng([seed, zlib.crc32(dataset.encode())])
    codes = pd.factorize(clusters)[0]
    order = rng.permutation(len(codes))
    rank = rng.permutation(codes.max() + 1)[codes]
    # Turn of a clip: number of clips of its cluster before it in the random order.
    turn = np.empty(len(codes), np.int64)
    turn[order] = pd.Series(codes[order]).groupby(codes[order]).cumcount()
    return sorted(np.lexsort((rank, turn))[:count].tolist())


def assign(videos: int, raters: int, sessions: int, count: int, seed: int) -> np.ndarray:
    """Assign videos to raters, all about equally often, and each at most once to a rater.

    Each rater in turn gets the videos that have the fewest ratings so far; ties are broken at
    random. So numbers of ratings differ by at most one. With 50 raters, 2 sessions and 60 videos
    per session, 300 videos get 20 ratings each.

    Args:
        videos: number of videos V.
        raters: number of raters R.
        sessions: number of sessions of each rater S.
        count: number of videos of a session N; S x N is at most V.
        seed: seed of the draw.

    Returns:
        indices of videos, int64 (R, S, N).

    Raises:
        StpError: a rater would need more videos than there are.
    """
    per_rater = sessions * count
    if per_rater > videos:
        raise StpError(
            f"{sessions} sessions of {count} videos, of which there are {videos}",
            remedy="ask for fewer in the configuration of the study",
        )
    rng = np.random.default_rng(seed)
    rated = np.zeros(videos, np.int64)
    assigned = np.empty((raters, per_rater), np.int64)
    for row in assigned:
        row[:] = rng.permutation(np.lexsort((rng.random(videos), rated))[:per_rater])
        rated[row] += 1
    return assigned.reshape(raters, sessions, count)
