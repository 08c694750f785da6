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
            f"human study: {count} clips of {dataset}, which has {len(clusters)} test clips",
            expected=f"at most {len(clusters)}",
            remedy="ask for fewer clips in config/human_study.yaml",
        )
    rng = np.random.default_rng([seed, zlib.crc32(dataset.encode())])
    codes = pd.factorize(clusters)[0]
    order = rng.permutation(len(codes))
    place = rng.permutation(codes.max() + 1)[codes]
    # A clip's turn: how many clips of its cluster come before it in the random order.
    turn = np.empty(len(codes), np.int64)
    turn[order] = pd.Series(codes[order]).groupby(codes[order]).cumcount()
    return sorted(np.lexsort((place, turn))[:count].tolist())
