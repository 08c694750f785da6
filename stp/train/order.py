"""Randomness of a training as a function of (seed, purpose, number), never of what came before.

So a resumed training draws what an uninterrupted one would have drawn. The raw integers of Philox
are promised never to change, unlike NumPy's distributions.
"""

import numpy as np

INITIAL_WEIGHTS, EPOCH_ORDER, STEP = range(3)
"""What the numbers are for; each purpose has a stream of its own."""


def draw(seed: int, purpose: int, number: int, count: int = 1) -> np.ndarray:
    """Random uint64, shape (count,).

    Args:
        seed: of the training, >= 0.
        purpose: one of the streams above.
        number: of the epoch or step, >= 0.
        count: how many.
    """
    counter, key = [0, 0, 0, number], [seed, purpose]
    generator = np.random.Philox(counter=np.array(counter, np.uint64), key=np.array(key, np.uint64))
    return generator.random_raw(count)


def epoch_order(rows: np.ndarray, seed: int, epoch: int) -> np.ndarray:
    """The rows in the order in which an epoch reads them; epochs count from 0."""
    return rows[np.argsort(draw(seed, EPOCH_ORDER, epoch, len(rows)), kind="stable")]


def spread(clips: int, most: int | None) -> np.ndarray:
    """At most `most` of the rows 0..clips-1, evenly spread, int64 and ascending."""
    count = clips if most is None else min(most, clips)
    return np.arange(count, dtype=np.int64) * clips // max(count, 1)
