"""How much faster are motion-compensated similarities (MCS) than a loop over locations?

Both run in this process on one thread, in turns, on the same made-up maps; the fastest of several
turns counts, in CPU time. The loop takes the locations of the last observed frame one by one, as
the text of Somraj et al. (2022, section 4.1) describes it.

    python benchmarks/quality_features.py
"""

import argparse
import os
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from stp.metrics.frame_features import EPSILON, motion_compensated_similarity

CONTEXT, FRAMES = 4, 20
CASES = {
    "SqueezeNet, 64 x 64": (3, 3, 512),
    "SqueezeNet, 128 x 160": (7, 9, 512),
    "SqueezeNet, 240 x 320": (14, 19, 512),
    "ResNet-50, 64 x 64": (2, 2, 2048),
    "ResNet-50, 128 x 160": (4, 5, 2048),
    "ResNet-50, 240 x 320": (8, 10, 2048),
    "VGG-19, 64 x 64": (2, 2, 512),
    "Inception-v3, 64 x 64": (1, 1, 2048),
    "Inception-v3, 240 x 320": (6, 8, 2048),
}
"""Height, width and channels of the last maps."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=3, help="turns of each (default: 3)")
    options = parser.parse_args()

    print(f"{'maps':<24} {'loop, ms':>10} {'ours, ms':>10} {'ratio':>7} {'difference':>11}")
    for name, shape in CASES.items():
        maps = np.maximum(np.random.default_rng(0).normal(size=(FRAMES, *shape)), 0)
        maps = maps.astype(np.float32)
        slow, fast = [], []
        for _ in range(options.turns):
            slow.append(seconds(lambda: loop(maps)))  # noqa: B023 - it is called here
            fast.append(seconds(lambda: motion_compensated_similarity(maps, CONTEXT, "released")))  # noqa: B023
        found = motion_compensated_similarity(maps, CONTEXT, "released")
        difference = np.abs(found - loop(maps)).max()
        times = 1000 * min(slow), 1000 * min(fast)
        ratio = times[0] / times[1]
        print(f"{name:<24} {times[0]:>10.1f} {times[1]:>10.1f} {ratio:>7.1f} {difference:>11.1e}")


def loop(maps: np.ndarray) -> np.ndarray:
    """Similarities location by location, float64 (T, K)."""
    flat = maps.reshape(len(maps), -1, maps.shape[-1]).astype(np.float64)
    reference = flat[CONTEXT - 1]
    found = np.empty((len(flat), flat.shape[-1]))
    for number, frame in enumerate(flat):
        moved = np.empty_like(reference)
        for place, one in enumerate(reference):
            best, where = -np.inf, 0
            for other, candidate in enumerate(frame):
                length = np.linalg.norm(one) * np.linalg.norm(candidate) + EPSILON
                similar = one @ candidate / length
                if similar > best:
                    best, where = similar, other
            moved[place] = frame[where]
        lengths = np.linalg.norm(reference, axis=0) * np.linalg.norm(moved, axis=0)
        found[number] = (reference * moved).sum(axis=0) / (lengths + EPSILON)
    return found


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
