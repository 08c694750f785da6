"""Which clips of a dataset raters see."""

import zlib

import numpy as np
import pandas as pd

from stp.core.errors import StpError


def draw(clusters: pd.Series, count: int, seed: int, dataset: str) -> list[int]:
    """Draw clips at random without replacement, as evenly over clusters as they allow.

    Clusters (videos, trajectories) are put into a random order and give a random clip of theirs
    each, in turns, until there are enough. So no cluster has two clips more than another one that
    still had some to give.

    Args:
        clusters: of all clips, (N,).
        count: how many clips to draw.
        seed: of the random stream; each dataset has its own.
        dataset: its name.

    Returns:
        numbers of clips, in ascending order.

    Raises:
        StpError: there are fewer clips.
    """
    if count > len(clusters):
        raise StpError(
            f"{count} clips of {dataset}, which has {len(clusters)} test clips",
            expected=f"at most {len(clusters)}",
            remedy="ask for fewer in the configuration of the study",
        )
    rng = np.random.default_rng([seed, zlib.crc32(dataset.encode())])
    codes = pd.factorize(clusters)[0]
    order = rng.permutation(len(codes))
    place = rng.permutation(codes.max() + 1)[codes]
    # A clip's turn: how many clips of its cluster come before it in the random order.
    turn = np.empty(len(codes), np.int64)
    turn[order] = pd.Series(codes[order]).groupby(codes[order]).cumcount()
    return sorted(np.lexsort((place, turn))[:count].tolist())


def assign(videos: int, raters: int, sessions: int, count: int, seed: int) -> np.ndarray:
    """Say who rates which videos: each rater no video twice, all videos about equally often.

    The next rater gets those that have the fewest ratings so far, drawn at random where there are
    more of them. So numbers of ratings differ by one at most, and are equal where all ratings can
    be shared out equally: 50 raters with 2 sessions of 60 give 300 videos 20 ratings each.

    Args:
        videos: their number V.
        raters: their number R.
        sessions: of each rater, S.
        count: videos of a session, N; S x N of V.
        seed: of the draw.

    Returns:
        numbers of videos, int64 (R, S, N).

    Raises:
        StpError: a rater would see more videos than there are.
    """
    wanted = sessions * count
    if wanted > videos:
        raise StpError(
            f"{sessions} sessions of {count} videos, of which there are {videos}",
            expected=f"at most {videos} videos of a rater",
            remedy="ask for fewer in the configuration of the study",
        )
    rng = np.random.default_rng(seed)
    rated = np.zeros(videos, np.int64)
    found = np.empty((raters, wanted), np.int64)
    for row in found:
        row[:] = rng.permutation(np.lexsort((rng.random(videos), rated))[:wanted])
        rated[row] += 1
    return found.reshape(raters, sessions, count)
