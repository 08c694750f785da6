"""How often intervals miss the truth, and how often one of twelve equal models is called better.

    python benchmarks/calibration.py [--runs 1000] [--only equal|large|shares|skewed]

In the first table, `equal`, each run draws the means of clusters of clips of twelve equally good
models: how hard a cluster is for all of them, what is particular to each, and noise that shrinks
with the size of the cluster. Sizes are equal, or lognormal (a tenth of the clusters then holds
about 40 % of the clips); means are normal, or lognormal; the value of a model is the mean over
clips, or its root as in `rmse.pooled`.

The others are about what breaks intervals and tests: one cluster that holds most clips (`large`),
rare successes (`shares`), and two models that are equally good on average although one of them
fails rarely and badly (`skewed`).

The methods are those of `stp` (`stp.score.bootstrap`, `stp.collect.pairwise_tests`) and the
percentile bootstrap that it had before, of which this file keeps the only copy.
"""

import argparse
from collections.abc import Callable
from itertools import combinations

import numpy as np

from stp.collect.cluster_sums import Clusters
from stp.collect.direction import LEVEL, Direction
from stp.collect.leave_one_out import LeftOut
from stp.collect.pairwise_tests import Entrant, Pair, contest
from stp.collect.significance import holm
from stp.score.bootstrap import intervals
from stp.score.jackknife import effective_clusters, leave_one_out_means

MODELS = 12
CLUSTERS = (10, 15, 26, 60, 200)
HARD, OWN, NOISE = 0.7, 0.5, 0.5  # standard deviations; of their logarithm where it is skewed
Draw = Callable[[np.random.Generator, int], np.ndarray]
RESAMPLES = 999  # of intervals
PAIRED = 9_999  # of tests: the smallest p value must withstand Holm's correction
CASES = {
    "normal, mean": (False, False),
    "skewed, mean": (True, False),
    "skewed, root of mean": (True, True),
}


def main() -> None:
    """Print one table after the other, or one of them."""
    tables = {"equal": _equal, "large": _large, "shares": _shares, "skewed": _skewed}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", choices=tables, help="print this table alone")
    options = parser.parse_args()
    for name in [options.only] if options.only else tables:
        tables[name](options.runs)
        print()


def _equal(runs: int) -> None:
    """One row for each case, kind of sizes and number of clusters."""
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


def _large(runs: int) -> None:
    """Coverage where one cluster holds a large share of the clips, the others eight each."""
    print("| values | clusters | largest share | effective clusters | coverage | no interval |")
    print("|---|---|---|---|---|---|")
    for skewed in (False, True):
        for clusters in (10, 15, 26, 60):
            for largest in (0.3, 0.5, 0.7, 0.9):
                counts = np.full(clusters, 8)
                counts[0] = round(largest / (1 - largest) * 8 * (clusters - 1))
                means = np.random.default_rng(clusters).normal(size=(clusters, runs))
                means, truth = (np.exp(means), np.exp(0.5)) if skewed else (means, 0.0)
                kind = "skewed" if skewed else "normal"
                print(
                    f"| {kind} | {clusters} | {largest} | {effective_clusters(counts):.1f} "
                    f"| {_coverage(means, counts, truth)} |",
                    flush=True,
                )


def _shares(runs: int) -> None:
    """Coverage of shares; clips of a cluster succeed independently, alike, or all or none."""
    print("| success | clusters | clips of each | alike | coverage | no interval |")
    print("|---|---|---|---|---|---|")
    for rate in (0.02, 0.05, 0.2, 0.5):
        for clusters in (16, 60):
            for clips, alike in ((1, 0.0), (10, 0.0), (10, 0.2), (10, 1.0)):
                rng = np.random.default_rng(clusters)
                of_each = np.full((clusters, runs), rate)
                if alike == 1:
                    of_each = (rng.random(of_each.shape) < rate).astype(float)
                elif alike:
                    both = np.array([rate, 1 - rate]) * (1 / alike - 1)
                    of_each = rng.beta(*both, of_each.shape)
                means = rng.binomial(clips, of_each) / clips
                covered = _coverage(means, np.full(clusters, clips), rate, share=True)
                print(f"| {rate} | {clusters} | {clips} | {alike} | {covered} |", flush=True)


def _coverage(means: np.ndarray, counts: np.ndarray, truth: float, *, share: bool = False) -> str:
    """Coverage of intervals of many runs, and how many runs have none: means (G, runs)."""
    sums = means * counts[:, None]
    value = sums.sum(axis=0) / counts.sum()
    without = leave_one_out_means(sums, counts)
    low, high = intervals(value, without, counts, resamples=RESAMPLES, seed=0, share=share)
    there = np.isfinite(low)
    covered = (low <= truth) & (truth <= high)
    return f"{covered[there].mean():.3f} | {1 - there.mean():.3f}"


def _skewed(runs: int) -> None:
    """False findings of two models of equal mean, one of which fails rarely and badly."""
    print("| errors of the other model | clusters | t test | and sign test | and not flagged |")
    print("|---|---|---|---|---|")

    def lognormal(sigma: float) -> Draw:
        return lambda rng, size: np.exp(sigma * rng.normal(size=size) - sigma**2 / 2)

    drawn: dict[str, Draw] = {
        "normal": lambda rng, size: 1 + 0.5 * rng.normal(size=size),
        **{f"lognormal, sigma {sigma}": lognormal(sigma) for sigma in (0.5, 1.0, 1.5)},
        "20 in one cluster of twenty": lambda rng, size: 20.0 * (rng.random(size) < 0.05),
    }
    for name, draw in drawn.items():
        for clusters in CLUSTERS:
            rng = np.random.default_rng(clusters)
            found = []
            for _ in range(runs):
                means = np.stack([1 + 0.1 * rng.normal(size=clusters), draw(rng, clusters)], axis=1)
                (pair,) = _contest(means, np.ones(clusters, int), Direction(higher=False))
                is_better = pair.better is not None
                assert pair.p is not None
                found.append((pair.p < LEVEL, is_better, is_better and not pair.skewed))
            rates = " | ".join(f"{rate:.3f}" for rate in np.mean(found, axis=0))
            print(f"| {name} | {clusters} | {rates} |", flush=True)


def _contest(means: np.ndarray, counts: np.ndarray, direction: Direction) -> list[Pair]:
    """Test all pairs of models: means of their clusters, (G, M)."""
    sums = means * counts[:, None]
    return _pairs(
        sums.sum(axis=0) / counts.sum(), leave_one_out_means(sums, counts), counts, direction
    )


def _pairs(
    value: np.ndarray, without: np.ndarray, counts: np.ndarray, direction: Direction
) -> list[Pair]:
    named = Clusters(tuple(map(str, range(len(counts)))), tuple(counts.tolist()), "")
    entrants = [
        Entrant("", float(one), None, LeftOut(named, float(one), each))
        for one, each in zip(value, without.T, strict=True)
    ]
    return contest(entrants, direction)[1]


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
    without = finish(leave_one_out_means(sums, counts))
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

    pairs = _pairs(value, without, counts, Direction(higher=True))
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
