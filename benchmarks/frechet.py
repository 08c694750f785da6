"""How much faster is our Frechet distance than one with scipy's square root of a matrix?

Both start from the same features and run in this process on one thread, in turns; the fastest of
several turns counts, in CPU time. Features are correlated, as those of networks are: 400 of them as
FVD's logits, 2048 as those that FID uses.

    python benchmarks/frechet.py
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.linalg

from stp.metrics.frechet import distance


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[400, 2048], metavar="FEATURES")
    parser.add_argument("--samples", type=int, nargs="+", default=[256, 2500], metavar="N")
    parser.add_argument("--turns", type=int, default=2, help="turns of each (default: 2)")
    options = parser.parse_args()

    print(
        f"{'features':>8} {'samples':>8} {'sqrtm':>9} {'ours':>9} {'ratio':>7} {'difference':>11}"
    )
    print(f"{'':>8} {'':>8} {'s':>9} {'s':>9} {'':>7} {'relative':>11}")
    for size in options.sizes:
        for samples in options.samples:
            x, y = features(samples, size, 1), features(samples, size, 2)
            turns = [(timed(by_sqrtm, x, y), timed(distance, x, y)) for _ in range(options.turns)]
            slow, fast = (min(turn[i][0] for turn in turns) for i in (0, 1))
            reference, ours = turns[0][0][1], turns[0][1][1]
            print(
                f"{size:>8} {samples:>8} {slow:>9.3f} {fast:>9.3f} {slow / fast:>7.1f} "
                f"{abs(ours - reference) / reference:>11.1e}",
                flush=True,
            )


def features(samples: int, size: int, seed: int) -> np.ndarray:
    """Correlated features (samples, size) whose variances fall off."""
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(size, size)) / np.sqrt(1 + np.arange(size))[:, None]
    return rng.normal(size=(samples, size)) @ mix + 0.1 * rng.normal(size=size)


def by_sqrtm(x: np.ndarray, y: np.ndarray) -> float:
    """The formula as public code has it."""
    mean = x.mean(axis=0) - y.mean(axis=0)
    a, b = np.cov(x, rowvar=False), np.cov(y, rowvar=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # covariances of few samples are singular
        root = scipy.linalg.sqrtm(a @ b)
    return float(mean @ mean + np.trace(a) + np.trace(b) - 2 * np.trace(root).real)


def timed(
    work: Callable[[np.ndarray, np.ndarray], float], x: np.ndarray, y: np.ndarray
) -> tuple[float, float]:
    start = time.process_time()
    value = work(x, y)
    return time.process_time() - start, value


if __name__ == "__main__":
    main()
