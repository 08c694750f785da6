"""What conventions make of observed frames, kept while further starts are compared with them.

Of daily starts with 44 lead times, a day is observed 44 times. What is small, such as a spectrum,
is made once.
"""

from collections.abc import Callable
from threading import Lock

import numpy as np

Transform = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""As `stp.metrics.metric.Metric.transform`."""

KEPT_BYTES = 1 << 26
"""Of all that is kept."""


class TargetCache:
    """Transforms of observed frames.

    Args:
        frames: number of the observed frame of each sample and lead time, int64 (N, T).
    """

    def __init__(self, frames: np.ndarray) -> None:
        self._frames = frames
        self._kept: dict[tuple[Transform, int], np.ndarray] = {}
        self._lock = Lock()

    def of(
        self, transform: Transform, observed: np.ndarray, samples: np.ndarray, leads: np.ndarray
    ) -> np.ndarray:
        """What a transform makes of observed frames; the oldest of all that is kept is forgotten.

        Args:
            transform: independent of lead times and samples.
            observed: (n, T, C, H, W).
            samples, leads: their numbers, from 0.
        """
        found = []
        for n, t in np.ndindex(*observed.shape[:2]):
            key = transform, int(self._frames[samples[n], leads[t]])
            made = self._kept.get(key)
            if made is None:
                one = observed[n : n + 1, t : t + 1]
                made = transform(one, one)[0, 0]
                with self._lock:
                    self._kept[key] = made
                    while len(self._kept) > max(1, KEPT_BYTES // made.nbytes):
                        del self._kept[next(iter(self._kept))]
            found.append(made)
        return np.stack(found).reshape(*observed.shape[:2], *found[0].shape)
