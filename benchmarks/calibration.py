"""How often intervals miss the truth, and how often one of twelve equal models is called better.

    python benchmarks/calibration.py [--runs 1000]

Each run draws the means of clusters of clips of twelve equally good models: how hard a cluster is
for all of them, what is particular to each, and noise that shrinks with the size of the cluster.
Sizes are equal, or lognormal (a tenth of the clusters then holds about 40 % of the clips); means
are normal, or lognormal; the value of a model is the mean over clips, or its root as in
`rmse.pooled`.

The methods are those of `stp` (`stp.score.bootstrap`, `stp.collect.contest`) and the percentile
bootstrap that it had before, of which this file keeps the only copy.
"""

import argparse
from itertools import combinations

import numpy as np

from stp.collect.cluster_sums import Clusters
from stp.collect.contest import Entrant, contest
from stp.collect.direction import LEVEL, Direction
from stp.collect.left_out import LeftOut
from stp.collect.significance import holm
from stp.score.bootstrap import intervals
from stp.score.jackknife import left_out_means

MODELS = 12
CLUSTERS = (10, 15, 26, 60, 200)
HARD, OWN, NOISE = 0.7, 0.5, 0.5  # standard deviations; of their logarithm where it is skewed
RESAMPLES = 999  # of intervals
PAIRED = 9_999  # of tests: the smallest p value must withstand Holm's correction
CASES = {
    "normal, mean": (False, False),
    "skewed, mean": (True, False),
    "skewed, root of mean": (True, True),
}


def main() -> None:
    """Print one row for each case, kind of sizes and number of clusters."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    print("| values | sizes | clusters | false better, before | now | coverage, before | now |")
    print("|---|---|---|---|---|---|---|")
    for name, (skewed, root) in CASES.items():
        for equal in (True, False):
            for clusters in CLUSTERS:
                rng = np.random.default_rng(clusters)
                made = [_run(rng, clusters, equal, skewed, root) for _ in range(runs)]
                rates = " | ".join(f"{rate:.3f}" for rate in np.mean(made, axis=0))
                sizes = "equal" if equal else "unequal"
                print(f"| {name} | {sizes} | {clusters} | {rates} |", flush=True)


def _run(
    rng: np.random.Generator, clusters: int, equal: bool, skewed: bool, root: bool
) -> tuple[bool, bool, bool, bool]:
    """False findings and coverage of one run, each by the percentile bootstrap and as it is now."""
    counts = np.full(clusters, 8)
    if not equal:
        counts = 1 + rng.lognormal(1.5, 1, clusters).astype(int)
    noise = NOISE * rng.normal(size=(MODELS, clusters)) / np.sqrt(counts)
    means = HARD * rng.normal(size=clusters) + OWN * rng.normal(size=(MODELS, clusters)) + noise
    truth = 10.0
    if skewed:
        variance = HARD**2 + OWN**2 + NOISE**2 / counts
        means, truth = np.exp(means), float(np.average(np.exp(variance / 2), weights=counts))
    else:
        means = means + truth

    def finish(values: np.ndarray) -> np.ndarray:
        return np.sqrt(values) if root else values

    sums = (means * counts).T  # (G, MODELS)
    value = finish(sums.sum(axis=0) / counts.sum())
    without = finish(left_out_means(sums, counts))
    truth = float(finish(np.array(truth)))

    drawn = rng.integers(clusters, size=(PAIRED, clusters))
    drawn += clusters * np.arange(PAIRED)[:, None]
    times = np.bincount(drawn.reshape(-1), minlength=drawn.size).reshape(drawn.shape).astype(float)
    resampled = finish((times @ sums) / (times @ counts)[:, None])
    low, high = np.percentile(resampled[:RESAMPLES, 0], (2.5, 97.5))
    before = low <= truth <= high
    low, high = intervals(
        value[:1], without[:, :1], counts, resamples=RESAMPLES, seed=int(rng.integers(1 << 30))
    )[:, 0]
    now = low <= truth <= high

    named = Clusters(tuple(map(str, range(clusters))), tuple(counts.tolist()), "")
    entrants = [
        Entrant("", float(value[m]), None, LeftOut(named, float(value[m]), without[:, m]))
        for m in range(MODELS)
    ]
    _, pairs = contest(entrants, Direction(higher=True))
    return _percentiles(resampled), any(p.better is not None for p in pairs), before, bool(now)


def _percentiles(resampled: np.ndarray) -> bool:
    """Is any model called better by counting the resamples in which the order turns round?"""
    p = []
    for one, other in combinations(resampled.T.copy(), 2):
        below, above = (one <= other).sum(), (one >= other).sum()
        p.append(min(1.0, 2 * (min(below, above) + 1) / (len(resampled) + 1)))
    return min(holm(p)) < LEVEL


if __name__ == "__main__":
    main()
