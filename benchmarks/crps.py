"""How much faster is our CRPS than properscoring's, and how much does it differ?

Both run in this process on one thread, in turns, on the same forecasts (float32); the fastest of
several turns counts, in CPU time. properscoring is compiled by numba, which is a dependency, and
sorts as well. Differences are those to its result in float64.

    python benchmarks/crps.py
"""

import argparse
import os
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import properscoring

from stp.metrics.crps import crps_ensemble

VALUES = 1 << 22  # members x points of a turn


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--members", type=int, nargs="+", default=[3, 10, 50], metavar="M")
    parser.add_argument("--turns", type=int, default=5, help="turns of each (default: 5)")
    options = parser.parse_args()

    print(f"{'members':>7} {'properscoring':>14} {'ours':>14} {'ratio':>7} {'difference':>11}")
    print(f"{'':>7} {'points/s':>14} {'points/s':>14} {'':>7} {'largest':>11}")
    for count in options.members:
        members, observed = forecasts(count)

        def theirs(x: np.ndarray = members, y: np.ndarray = observed) -> np.ndarray:
            return np.asarray(properscoring.crps_ensemble(y, x, axis=0))

        def ours(x: np.ndarray = members, y: np.ndarray = observed) -> np.ndarray:
            return crps_ensemble(x, y)

        slow, fast = [], []
        for _ in range(options.turns):
            slow.append(seconds(theirs))
            fast.append(seconds(ours))
        rates = len(observed) / min(slow), len(observed) / min(fast)
        exact = theirs(members.astype(np.float64), observed.astype(np.float64))
        difference = np.abs(ours() - exact).max()
        ratio = rates[1] / rates[0]
        print(f"{count:>7} {rates[0]:>14,.0f} {rates[1]:>14,.0f} {ratio:>7.1f} {difference:>11.1e}")


def forecasts(members: int) -> tuple[np.ndarray, np.ndarray]:
    """Members and what was observed, drawn from one distribution, float32 (M, P) and (P,)."""
    rng = np.random.default_rng(0)
    points = VALUES // members
    centre = rng.standard_normal(points, np.float32)
    drawn = centre + rng.standard_normal((members, points), np.float32)
    return drawn, centre + rng.standard_normal(points, np.float32)


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
