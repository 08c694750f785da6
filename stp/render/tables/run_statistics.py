"""Compute statistics of repeated runs of a model: spread, tests, detectable differences.

The tests compare one half of the runs with the other, although all are runs of the same model: a
small p value would show that runs are not alike.

``std.population`` and ``p.larger`` reproduce Tables 17 and 18 of the PredBench paper (appendix
C.3). The paper does not define them; they were identified by trying all splits of the printed runs.
See docs/statistics.md.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy import optimize, stats

CONFIDENCE = 0.95
POWER = 0.8
COMPARED_SEEDS = (3, 5, 10)
"""Numbers of seeds per model for which the minimum detectable difference is given."""

PAPER_STD, PAPER_P = "std.population", "p.larger"
"""The statistics in the paper's columns `std` and `pvalue`."""

MEANINGS = {
    "std.population": "standard deviation of the runs, divisor n; reproduces the column `std` of "
    "Tables 17 and 18",
    "p.larger": "the larger of p.halves and p.alternating; reproduces the column `pvalue` of "
    "Tables 17 and 18. Choosing the larger makes it no p-value of any one test",
    "p.halves": "Student's t-test, two-sided, equal variances: first half of the runs against the "
    "second",
    "p.alternating": "the same test: odd runs against even ones",
    "mean": "mean of the runs",
    "ci95_low": "lower end of the 95 % interval of the mean (Student's t, divisor n - 1)",
    "ci95_high": "upper end of that interval",
    "std.sample": "standard deviation of the runs, divisor n - 1",
    "min": "smallest run",
    "max": "largest run",
    "range": "max - min",
    "cv": "coefficient of variation: std.sample / |mean|",
}
"""Meaning of each statistic, except ``mdd.*``; see `explain_statistic`."""


def explain_statistic(statistic: str) -> str:
    """Explain a statistic in words.

    Args:
        statistic: name of the statistic: a key of `MEANINGS`, or ``mdd.<seeds>``, such as
            ``mdd.5``, the minimum detectable difference with 5 seeds per model.
    """
    kind, _, seeds = statistic.partition(".")
    if kind == "mdd":
        return (
            f"minimum detectable difference: the smallest true difference between two models, each "
            f"with {seeds} seeds and this std.sample, that a two-sided t-test at 5 % finds in "
            f"{100 * POWER:.0f} % of comparisons"
        )
    return MEANINGS[statistic]


def describe_runs(runs: Sequence[float]) -> dict[str, float | None]:
    """Compute all statistics of repeated runs.

    Args:
        runs: at least four values, in the order of their seeds.

    Returns:
        value by name of the statistic, in the unit of the runs:

        - ``mean``, ``min``, ``max``, ``range``, ``std.population`` (divisor n) and ``std.sample``
          (divisor n - 1) of the runs;
        - ``ci95_low``, ``ci95_high``: ends of the 95 % interval of the mean;
        - ``p.halves``: p value (no unit) of a t-test of the first half of the runs against the
          second; ``p.alternating``: of the first, third, ... run against the others;
          ``p.larger``: the larger of both. None if undefined (see `student`);
        - ``cv``: coefficient of variation (no unit); None if the mean is zero;
        - ``mdd.3``, ``mdd.5``, ``mdd.10``, and ``mdd`` of the number of runs: minimum detectable
          difference between two models with so many seeds each (see `detectable_difference`).
    """
    values = np.asarray(runs, dtype=np.float64)
    mean, sample = float(values.mean()), _std(values, 1)
    margin = sample / math.sqrt(len(values))
    margin *= float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1))
    middle = (len(runs) + 1) // 2
    tests = {
        "p.halves": student(runs[:middle], runs[middle:]),
        "p.alternating": student(runs[::2], runs[1::2]),
    }
    low, high = float(values.min()), float(values.max())
    described = {
        "std.population": _std(values, 0),
        "p.larger": max((p for p in tests.values() if p is not None), default=None),
        **tests,
        "mean": mean,
        "ci95_low": mean - margin,
        "ci95_high": mean + margin,
        "std.sample": sample,
        "min": low,
        "max": high,
        "range": high - low,
        "cv": sample / abs(mean) if mean else None,
    }
    for seeds in sorted({*COMPARED_SEEDS, len(values)}):
        described[f"mdd.{seeds}"] = detectable_difference(sample, seeds)
    return described


def _std(values: np.ndarray, ddof: int) -> float:
    """Standard deviation; exactly zero for equal values, despite rounding of their mean."""
    return float(values.std(ddof=ddof)) if values.min() < values.max() else 0.0


def student(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Test whether two groups of runs have different means: Student's t-test with equal variances.

    Args:
        first: values of the first group, at least two.
        second: values of the second group, at least two.

    Returns:
        the two-sided p value; None if all values of the first group are equal, and all of the
        second, so that no variance can be estimated.
    """
    if all(min(group) == max(group) for group in (first, second)):
        return None
    # From moments, since ttest_ind warns where one of the groups has no spread.
    moments = [(np.mean(group), np.std(group, ddof=1), len(group)) for group in (first, second)]
    return float(stats.ttest_ind_from_stats(*moments[0], *moments[1], equal_var=True).pvalue)


def detectable_difference(std: float, seeds: int) -> float:
    """Smallest true difference of two means that a t-test detects with a power of 80 %.

    The test is two-sided, at a level of 5 %. The result is exact for normally distributed runs with
    equal standard deviations, by the noncentral t distribution (Cohen, Statistical Power Analysis,
    chapter 2).

    Args:
        std: standard deviation of the runs, the same for both models.
        seeds: number of runs of each model, at least two.
    """
    freedom = 2 * seeds - 2
    limit = float(stats.f.ppf(CONFIDENCE, 1, freedom))

    def excess(shift: float) -> float:
        # The square of noncentral t has the noncentral F distribution, which covers both sides.
        return float(stats.ncf.sf(limit, 1, freedom, shift**2)) - POWER

    shift = float(optimize.brentq(excess, 0.0, 4 * math.sqrt(limit)))
    return shift * std * math.sqrt(2 / seeds)
