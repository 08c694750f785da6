"""How much faster is our SSIM than a loop over scikit-image, and how much does it differ?

Both run in this process on one thread, in turns, on the same frames (float32, one channel); the
fastest of several turns counts, in CPU time. Ratios hold better than frames per second.

    python benchmarks/ssim.py
"""

import argparse
import os
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.ndimage import gaussian_filter
from skimage.metrics import structural_similarity as reference

from stp.metrics.ssim import structural_similarity

PIXELS = 1 << 21  # per turn


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256], metavar="PIXELS")
    parser.add_argument("--turns", type=int, default=7, help="turns of each (default: 7)")
    parser.add_argument("--data-range", type=float, default=2.0, help="default: 2")
    options = parser.parse_args()

    print(f"{'size':>6} {'scikit-image':>14} {'ours':>14} {'ratio':>7} {'difference':>11}")
    print(f"{'px':>6} {'frames/s':>14} {'frames/s':>14} {'':>7} {'largest':>11}")
    for size in options.sizes:
        predicted, observed = frames(size)

        def loop(p: np.ndarray = predicted, o: np.ndarray = observed) -> np.ndarray:
            pairs = zip(p[:, 0], o[:, 0], strict=True)
            settings = {"channel_axis": 0, "data_range": options.data_range}
            return np.array([reference(a, b, **settings) for a, b in pairs])

        def ours(p: np.ndarray = predicted, o: np.ndarray = observed) -> np.ndarray:
            return structural_similarity(p, o, data_range=options.data_range)[:, 0]

        slow, fast = [], []
        for _ in range(options.turns):
            slow.append(seconds(loop))
            fast.append(seconds(ours))
        exact = loop(predicted.astype(np.float64), observed.astype(np.float64))
        rates = len(predicted) / min(slow), len(predicted) / min(fast)
        difference = np.abs(ours() - exact).max()
        ratio = rates[1] / rates[0]
        print(f"{size:>6} {rates[0]:>14,.0f} {rates[1]:>14,.0f} {ratio:>7.2f} {difference:>11.1e}")


def frames(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Smooth frames and noisy predictions of them, float32 (N, 1, 1, size, size)."""
    rng = np.random.default_rng(0)
    count = max(1, PIXELS // size**2)
    observed = gaussian_filter(rng.random((count, size, size), dtype=np.float32), (0, 2, 2))
    predicted = observed + np.float32(0.05) * rng.standard_normal(observed.shape, np.float32)
    return predicted[:, None, None], observed[:, None, None]


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
