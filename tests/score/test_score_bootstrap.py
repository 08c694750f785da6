"""Intervals over clusters: by hand, against SciPy and NumPy, and for clusters of unequal size."""

import numpy as np
import pytest
from scipy import stats

from stp.metrics.metric import Metric
from stp.options.score import Bootstrap
from stp.score import bootstrap
from stp.score.aggregate import NonFinite, Row, rows, spreads
from stp.score.bootstrap import intervals, no_spread
from stp.score.jackknife import (
    degrees_of_freedom,
    effective_clusters,
    leave_one_out_means,
    standard_error,
)

MEAN = Metric(lambda predicted, observed: predicted)


def interval(found: list[Row]) -> tuple[float | None, float | None]:
    """The interval of the overall value."""
    ends = {row.statistic: row.value for row in found if row.lead is None}
    return ends["ci95_low"], ends["ci95_high"]


def score(
    statistics: np.ndarray,
    clusters: np.ndarray,
    *,
    resamples: int = 2000,
    seed: int = 0,
    metric: Metric = MEAN,
) -> list[Row]:
    """Rows of per-sample statistics (N, K, T)."""
    count = int(clusters.max()) + 1
    sums = np.zeros((count, *statistics.shape[1:]))
    np.add.at(sums, clusters, statistics)
    counts = np.bincount(clusters)
    options = Bootstrap(resamples, seed)
    spread = spreads([metric], [sums], counts, options)[0]
    return rows(
        metric,
        NonFinite.of(statistics, [f"clip{n}" for n in range(len(statistics))]),
        sums.sum(axis=0) / counts.sum(),
        spread,
        leads=statistics.shape[-1],
    )


def of_clusters(means: np.ndarray, counts: np.ndarray, **options: int) -> np.ndarray:
    """Intervals of means over samples: means of clusters (G, F) to (2, F)."""
    sums = means * counts[:, None]
    value = sums.sum(axis=0) / counts.sum()
    return intervals(value, leave_one_out_means(sums, counts), counts, **options)


def test_the_standard_error_is_that_of_the_mean_for_equal_clusters() -> None:
    x = np.random.default_rng(0).lognormal(size=(12, 3))
    counts = np.full(12, 5)
    found = standard_error(leave_one_out_means(5 * x, counts), x.mean(axis=0))
    np.testing.assert_allclose(found, stats.sem(x, axis=0))
    assert degrees_of_freedom(counts) == pytest.approx(11)


def test_the_standard_error_knows_roots_and_ratios() -> None:
    """Each value made again without the cluster, one after the other."""
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 9, 11)
    sums = rng.uniform(size=(11, 2)) * counts[:, None]
    for of in (lambda m: np.sqrt(m[..., 0]), lambda m: m[..., 0] / m[..., 1]):
        value = of(sums.sum(axis=0) / counts.sum())
        keep = [np.arange(11) != g for g in range(11)]
        without = [of(sums[rest].sum(axis=0) / counts[rest].sum()) for rest in keep]
        expected = (10 / 11 * np.square(np.array(without) - value).sum()) ** 0.5
        found = standard_error(of(leave_one_out_means(sums, counts)), value)
        assert found == pytest.approx(expected, rel=1e-12)


def test_degrees_of_freedom_are_those_of_the_quadratic_form() -> None:
    """tr(M)^2 / tr(M^2), with the matrix written out."""
    for counts in (np.array([1] * 9 + [20]), np.random.default_rng(2).integers(1, 30, 12)):
        size, w = len(counts), counts / counts.sum()
        centre = np.eye(size) - np.outer(np.ones(size), w)
        form = centre.T @ np.diag((w / (1 - w)) ** 2) @ centre
        expected = np.trace(form) ** 2 / np.trace(form @ form)
        assert degrees_of_freedom(counts) == pytest.approx(expected)
        assert 1 <= expected < size - 1


def test_each_resample_is_studentised_by_its_own_clusters() -> None:
    """Of clusters of unequal size, one resample after the other."""
    rng = np.random.default_rng(0)
    sizes = np.arange(1, 15)  # weigh as 10.9 of equal size
    x = rng.normal(size=14)
    low, high = of_clusters(x[:, None], sizes, resamples=200, seed=3)[:, 0]

    mean = np.average(x, weights=sizes)
    t = []
    for drawn in np.random.default_rng(3).integers(14, size=(200, 14)):
        n, u = sizes[drawn], x[drawn]
        off = np.average(u, weights=n) - mean
        error = np.sqrt((n**2 * (u - mean - off) ** 2).sum()) / n.sum()
        t.append(off / error)
    error = np.sqrt((sizes**2 * (x - mean) ** 2).sum()) / sizes.sum()
    # The smallest values that at least 2.5 % and 97.5 % of the resamples do not exceed.
    first, last = (sorted(t)[int(np.ceil(share * 200)) - 1] for share in (0.025, 0.975))
    assert [low, high] == pytest.approx([mean - last * error, mean - first * error])


def test_intervals_of_normal_data_are_about_those_of_student() -> None:
    x = np.random.default_rng(1).normal(3, 1, (40, 1))
    low, high = of_clusters(x, np.ones(40, int), resamples=20_000, seed=0)[:, 0]
    student = stats.ttest_1samp(x[:, 0], 0).confidence_interval()
    width = student.high - student.low
    # Skewness of the sample, about 0.1, moves either end by a few percent of the width.
    np.testing.assert_allclose([low, high], [student.low, student.high], atol=0.08 * width)


def test_skewed_data_have_longer_upper_ends() -> None:
    x = np.exp(stats.norm.ppf((np.arange(15) + 0.5) / 15))[:, None]
    low, high = of_clusters(x, np.ones(15, int), resamples=2000, seed=0)[:, 0]
    assert high - x.mean() > 1.5 * (x.mean() - low)


def test_resamples_of_clusters_that_equal_the_mean_have_the_statistic_0() -> None:
    means = np.zeros((20, 1))
    means[:2, 0] = 1, -1  # one resample in eight draws neither
    low, high = of_clusters(means, np.ones(20, int), resamples=400, seed=0)[:, 0]
    assert -2 < low < 0 < high < 2


def test_dependence_within_clusters_widens_the_interval() -> None:
    # 20 clusters of 50 equal samples carry the information of 20 samples: sqrt(50) = 7 times wider
    # than if all 1000 were independent.
    x = np.repeat(np.random.default_rng(0).normal(size=20), 50).reshape(-1, 1, 1)
    low, high = interval(score(x, np.repeat(np.arange(20), 50)))
    low_alone, high_alone = interval(score(x, np.arange(1000)))
    assert (high - low) / (high_alone - low_alone) == pytest.approx(np.sqrt(50), rel=0.15)


@pytest.mark.parametrize(
    ("skewed", "at_least", "percentiles"),
    # Of 300 intervals, 95 % have a standard error of 1.3 %.
    [(False, 0.92, 0.93), (True, 0.87, 0.86)],
)
def test_about_95_of_100_intervals_of_ten_clusters_cover_the_truth(
    skewed: bool, at_least: float, percentiles: float
) -> None:
    """Intervals from percentiles of resampled means cover less, which this test can see."""
    rng = np.random.default_rng(0)
    covered, old = 0, 0
    for seed in range(300):
        x = rng.normal(size=(10, 1))
        x, truth = (np.exp(x), np.exp(0.5)) if skewed else (x, 0.0)
        low, high = of_clusters(x, np.ones(10, int), resamples=400, seed=seed)[:, 0]
        covered += low <= truth <= high
        means = rng.choice(x[:, 0], size=(400, 10)).mean(axis=1)
        old += np.quantile(means, 0.025) <= truth <= np.quantile(means, 0.975)
    assert at_least <= covered / 300 <= 0.985
    assert old / 300 < percentiles


def test_the_seed_decides_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    means, counts = np.random.default_rng(0).normal(size=(40, 5)), np.arange(1, 41)
    one = of_clusters(means, counts, resamples=500, seed=7)
    np.testing.assert_array_equal(one, of_clusters(means, counts, resamples=500, seed=7))
    assert (one != of_clusters(means, counts, resamples=500, seed=8)).any()
    # Neither resamples nor columns know where a block ends.
    monkeypatch.setattr(bootstrap, "CHUNK", 90)
    blocks = of_clusters(means, counts, resamples=500, seed=7)
    np.testing.assert_allclose(one, blocks, rtol=1e-12)


@pytest.mark.parametrize("clusters", [1, 9])
def test_few_clusters_give_no_interval_but_a_mean(clusters: int) -> None:
    found = score(np.arange(18.0).reshape(-1, 1, 1), np.arange(18) % clusters)
    assert [row.lead for row in found] == [None] * 3 + [1] * 3
    mean, low, high = found[:3]
    assert (mean.value, mean.n, mean.reason) == (8.5, 18, None)
    for row in (low, high):
        assert row.value is None
        assert row.n == clusters
        assert f" {clusters} " in row.reason and "10" in row.reason


def test_reasons_count_the_frames() -> None:
    # 12 samples, 2 lead times; two infinite values at lead 1, one NaN at lead 2.
    x = np.ones((12, 1, 2))
    x[[3, 5], 0, 0] = np.inf
    x[7, 0, 1] = np.nan
    metric = MEAN._replace(no_value="predicted exactly")
    found = score(x, np.arange(12), metric=metric)
    assert all(row.value is None for row in found)
    reasons = {row.lead: row.reason for row in found}
    for lead, parts in {
        1: ("2 of 12", "clip3", "(predicted exactly)"),
        2: ("1 of 12", "clip7"),
        None: ("1 of 24", "clip7"),
    }.items():
        assert all(part in reasons[lead] for part in parts)


def test_one_bad_lead_time_leaves_the_others_alone() -> None:
    x = np.random.default_rng(0).normal(size=(12, 1, 3))
    x[0, 0, 1] = np.nan
    found = {(row.lead, row.statistic): row.value for row in score(x, np.arange(12))}
    for statistic in ("mean", "ci95_low", "ci95_high"):
        assert found[1, statistic] is not None
        assert found[2, statistic] is None
        assert found[3, statistic] is not None
        assert found[None, statistic] is None


def test_a_value_that_rests_on_one_cluster_has_no_interval() -> None:
    # Without the only cluster that differs nothing varies, and 1 / variance does not exist.
    metric = Metric(
        lambda predicted, observed: predicted,
        finish=lambda means: 1 / (means[..., 1, :] - means[..., 0, :] ** 2),
        components=("x", "xx"),
        no_value="nothing varies",
    )
    x = np.zeros((10, 1))
    x[0] = 1
    statistics = np.stack([x, x * x], axis=1)
    mean, low, high = score(statistics, np.arange(10), resamples=100, metric=metric)[:3]
    assert mean.value == pytest.approx(1 / (0.1 - 0.01))
    assert low.value is None and high.value is None
    assert "1 of 10" in low.reason and "(nothing varies)" in low.reason


def test_equal_clusters_say_nothing_of_the_spread() -> None:
    """35 % of the resamples, (9 / 10)^10, miss the only cluster that differs."""
    x = np.zeros((10, 1, 1))
    x[0] = 1
    mean, low, _ = score(x, np.arange(10))[:3]
    assert mean.value == pytest.approx(0.1)
    assert (low.value, low.reason) == (None, no_spread(10))
    mean, low, high = score(np.full((10, 1, 1), 0.3), np.arange(10))[:3]
    assert mean.value == pytest.approx(0.3)
    for end in (low, high):
        assert (end.value, end.reason) == (None, no_spread(10))


SHARE = MEAN._replace(share=True)


@pytest.mark.parametrize("hits", [0, 1, 5, 16])
def test_shares_of_whole_clusters_have_exact_intervals(hits: int) -> None:
    x = np.repeat(np.arange(16) < hits, 3).astype(float).reshape(-1, 1, 1)
    low, high = interval(score(x, np.repeat(np.arange(16), 3), metric=SHARE))
    exact = stats.binomtest(hits, 16).proportion_ci(method="exact")
    assert [low, high] == pytest.approx([exact.low, exact.high])
    if hits == 0:
        assert high == pytest.approx(0.206, abs=5e-4)


def test_shares_that_vary_within_clusters_count_their_clips() -> None:
    x = np.random.default_rng(0).random((400, 1, 1)) < 0.3
    clusters = np.repeat(np.arange(20), 20)
    assert interval(score(x, clusters, metric=SHARE)) == interval(score(x, clusters))
    # One cluster with a single hit is too little for a bootstrap.
    rare = np.zeros((400, 1, 1))
    rare[7] = 1
    exact = stats.beta.ppf([0.025, 0.975], [0.05, 1.05], [20.95, 19.95])
    assert interval(score(rare, clusters, metric=SHARE)) == pytest.approx(tuple(exact))
    assert interval(score(rare, clusters)) == (None, None)


def test_large_clusters_count_by_their_weight() -> None:
    """Of whole clusters of which one holds two thirds of the clips."""
    counts = np.array([30, *[1] * 15])
    assert effective_clusters(counts) == pytest.approx(45**2 / 915)
    none = interval(score(np.zeros((45, 1, 1)), np.repeat(np.arange(16), counts), metric=SHARE))
    assert none == pytest.approx((0, 1 - 0.025 ** (915 / 45**2)))


@pytest.mark.parametrize("largest", [0.7, 0.9])
@pytest.mark.parametrize("skewed", [False, True])
def test_intervals_cover_where_one_cluster_holds_most_clips(largest: float, skewed: bool) -> None:
    """The bootstrap-t covers the truth in 65 to 82 % at 0.7, and in 4 to 30 % at 0.9."""
    counts = np.full(15, 8)
    counts[0] = round(largest / (1 - largest) * 8 * 14)
    x = np.random.default_rng(0).normal(size=(15, 300))
    x, truth = (np.exp(x), np.exp(0.5)) if skewed else (x, 0.0)
    low, high = of_clusters(x, counts, resamples=200, seed=0)
    assert np.mean((low <= truth) & (truth <= high)) >= 0.94
