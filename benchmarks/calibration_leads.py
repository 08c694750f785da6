"""How often intervals and paired tests of long lead times are wrong on serially dependent starts.

    python benchmarks/calibration_leads.py [--runs 400]

Each run draws how much two equally good models differ on 320 daily starts: a stationary series
d(t) = r d(t - 1) + e(t) with normal e, r known, and mean 0. The variance of its mean is about
(1 + r) / (1 - r) times that of independent starts. Four methods are asked for a 95 % interval of
the mean, and whether one model is better:

- ours: starts in blocks longer than the last lead time of the column (`stp.score.blocks`),
  intervals and tests over blocks (`stp.score.bootstrap`, `stp.collect.pairwise_tests`);
- HAC: Student's t with the variance of Newey and West (1987), with as many lags as the lead time
  less one, as Diebold and Mariano (1995) have it;
- stationary bootstrap (Politis and Romano 1994): percentiles of the means of resamples made of
  stretches of random length, on average as long as ours;
- starts as if they were independent: Student's t.
"""

import argparse

import numpy as np
from scipy.signal import lfilter
from scipy.stats import t as student

from stp.collect.cluster_sums import Clusters
from stp.collect.direction import Direction
from stp.collect.leave_one_out import LeftOut
from stp.collect.pairwise_tests import Entrant, contest
from stp.score.blocks import Blocks, explain_too_few, sum_by_group
from stp.score.bootstrap import intervals
from stp.score.jackknife import FEWEST_CLUSTERS, leave_one_out_means

STARTS = 320
COLUMNS = {
    "day 1": 1, "week 1": 7, "week 2": 14, "weeks 3-4": 28, "weeks 5-6": 42, "lead 44": 44,
}  # fmt: skip
"""Last lead time of each column."""
CORRELATIONS = (0.0, 0.5, 0.8, 0.9, 0.95)
RESAMPLES = 999


def main() -> None:
    """Print a row for each column and correlation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=400)
    runs = parser.parse_args().runs
    head = ("ours, interval", "test", "HAC", "stationary bootstrap", "independent starts")
    print("| column | blocks | correlation of successive starts | " + " | ".join(head) + " |")
    print("|---|---" + "|---" * (len(head) + 1) + "|")
    daily = Blocks(tuple(map(str, range(STARTS))), np.arange(STARTS), np.ones(STARTS, np.int64), 1)
    for name, lead in COLUMNS.items():
        groups = daily.groups_for_lead(lead)
        blocks = int(groups.max()) + 1
        for correlation in CORRELATIONS:
            rng = np.random.default_rng(lead)
            made = [_run(rng, series(rng, correlation), groups, lead) for _ in range(runs)]
            rates = " | ".join(_shown(column) for column in zip(*made, strict=True))
            print(f"| {name} | {blocks} | {correlation} | {rates} |", flush=True)
        if blocks < FEWEST_CLUSTERS:
            print(f"\n{name}: {explain_too_few(blocks, FEWEST_CLUSTERS, lead)}")


def _shown(right: tuple[bool | None, ...]) -> str:
    return "none" if right[0] is None else f"{np.mean(right):.3f}"  # type: ignore[arg-type]


def series(rng: np.random.Generator, correlation: float) -> np.ndarray:
    """A stationary AR(1) series with mean 0 and variance 1, (STARTS,)."""
    noise = rng.normal(size=STARTS) * np.sqrt(1 - correlation**2)
    noise[0] /= np.sqrt(1 - correlation**2)
    return np.asarray(lfilter([1], [1, -correlation], noise))


def _run(
    rng: np.random.Generator, d: np.ndarray, groups: np.ndarray, lead: int
) -> tuple[bool | None, ...]:
    """Whether each method is right: ours (interval, test), HAC, bootstrap, independent starts."""
    lowest, highest = stationary(rng, d, lead + 1)
    return (
        *ours(rng, d, groups),
        bool(abs(d.mean()) <= student.ppf(0.975, len(d) - 1) * np.sqrt(newey_west(d, lead - 1))),
        bool(lowest <= 0 <= highest),
        bool(abs(d.mean()) <= student.ppf(0.975, len(d) - 1) * d.std(ddof=1) / np.sqrt(len(d))),
    )


def ours(
    rng: np.random.Generator, d: np.ndarray, groups: np.ndarray
) -> tuple[bool | None, bool | None]:
    """Whether the interval holds 0, and no model is called better; None where there is neither."""
    counts = np.bincount(groups)
    if len(counts) < FEWEST_CLUSTERS:
        return None, None
    sums = sum_by_group(d[:, None], groups)
    value, without = sums.sum(axis=0) / len(d), leave_one_out_means(sums, counts)
    seed = int(rng.integers(1 << 30))
    low, high = intervals(value, without, counts, resamples=RESAMPLES, seed=seed)[:, 0]
    named = Clusters(tuple(map(str, range(len(counts)))), tuple(counts.tolist()), "")
    entrants = [
        Entrant("", float(v), None, LeftOut(named, float(v), w))
        for v, w in ((value[0], without[:, 0]), (0.0, np.zeros(len(counts))))
    ]
    _, (pair,) = contest(entrants, Direction(higher=True))
    return bool(low <= 0 <= high), pair.better is None


def newey_west(d: np.ndarray, lags: int) -> float:
    """Variance of the mean, from autocovariances up to some lag with Bartlett's weights."""
    centred = d - d.mean()
    total = centred @ centred
    for lag in range(1, lags + 1):
        total += 2 * (1 - lag / (lags + 1)) * (centred[lag:] @ centred[:-lag])
    return float(total / len(d) ** 2)


def stationary(rng: np.random.Generator, d: np.ndarray, length: int) -> np.ndarray:
    """2.5 % and 97.5 % quantiles of the mean of stationary resamples.

    Args:
        rng: draws them.
        d: the series.
        length: mean length of their stretches.
    """
    shape = RESAMPLES, len(d)
    new = rng.random(shape) < 1 / length
    new[:, 0] = True
    place = np.arange(len(d))
    last = np.maximum.accumulate(np.where(new, place, 0), axis=1)
    first = np.take_along_axis(rng.integers(len(d), size=shape), last, axis=1)
    means = d[(first + place - last) % len(d)].mean(axis=1)
    return np.asarray(np.percentile(means, (2.5, 97.5)))


if __name__ == "__main__":
    main()
