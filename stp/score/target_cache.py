"""Cache of transformed observed frames, such as spectra, shared by forecasts of several starts.

With daily starts and 44 lead times, each observed day is compared to 44 forecasts.
"""

from collections.abc import Callable
from threading import Lock

import numpy as np

Transform = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Function of frames and observed frames, (N, T, C, H, W) each, that returns what a metric compares
instead of the frames, such as their spectra (`stp.metrics.metric.Metric.transform`)."""

KEPT_BYTES = 1 << 26
"""Maximum size of all cached arrays together."""


class TargetCache:
    """Cache of transformed observed frames (such as spectra), so that each is computed once.

    Samples overlap, so many of them need the same observed frame ("target"). `of` returns
    transformed frames, and transforms only those that are not in the cache. A frame is found again
    by the function that transformed it and its index in the data. The oldest entries are dropped
    above 64 MiB.

    Args:
        frames: index in the data of the observed frame of each of N samples at T lead times, int64
            (N, T).
    """

    def __init__(self, frames: np.ndarray) -> None:
        self._frames = frames
        self._kept: dict[tuple[Transform, int], np.ndarray] = {}
        self._lock = Lock()

    def of(
        self, transform: Transform, observed: np.ndarray, samples: np.ndarray, leads: np.ndarray
    ) -> np.ndarray:
        """Transform observed frames, or take the transformed frames from the cache.

        Args:
            transform: function that transforms each frame by itself.
            observed: observed frames of n samples at T lead times, (n, T, C, H, W).
            samples: indices of these samples, from 0, int64 (n,).
            leads: indices of these lead times, from 0, int64 (T,).

        Returns:
            transformed frames, (n, T, ...), where ... is the shape of one transformed frame.
        """
        results = []
        for n, t in np.ndindex(*observed.shape[:2]):
            key = transform, int(self._frames[samples[n], leads[t]])
            result = self._kept.get(key)
            if result is None:
                frame = observed[n : n + 1, t : t + 1]
                result = transform(frame, frame)[0, 0]
                with self._lock:
                    self._kept[key] = result
                    while len(self._kept) > max(1, KEPT_BYTES // result.nbytes):
                        del self._kept[next(iter(self._kept))]
            results.append(result)
        return np.stack(results).reshape(*observed.shape[:2], *results[0].shape)
