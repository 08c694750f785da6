"""Intervals over clusters: by hand, against SciPy, and for clusters of several samples."""

import numpy as np
import pytest
from scipy.stats import bootstrap

from stp.metrics.metric import Metric
from stp.score.aggregate import Flaws, Row, cluster_sums, rows
from stp.score.bootstrap import CHUNK, resampled_means

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
    sums = cluster_sums(statistics, clusters, count)
    counts = np.bincount(clusters)
    flat = resampled_means(sums.reshape(count, -1), counts, resamples=resamples, seed=seed)
    return rows(
        metric,
        Flaws.of(statistics, [f"clip{n}" for n in range(len(statistics))]),
        sums.sum(axis=0) / counts.sum(),
        flat.reshape(resamples, *sums.shape[1:]),
        clusters=count,
        leads=statistics.shape[-1],
    )


def test_one_sample_per_cluster_is_the_usual_bootstrap() -> None:
    x = np.random.default_rng(1).lognormal(size=40)
    ours = interval(score(x.reshape(-1, 1, 1), np.arange(40), resamples=20_000))
    theirs = bootstrap(
        (x,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    # With 20,000 resamples the 2.5 % and 97.5 % quantiles of a normal distribution have standard
    # errors of 0.019 standard deviations (sqrt(0.025 * 0.975 / 20000) / 0.058); both methods have
    # them, and the interval is about 3.9 wide: 4 * sqrt(2) * 0.019 / 3.9 = 2.8 % of its width.
    width = theirs.high - theirs.low
    np.testing.assert_allclose(ours, [theirs.low, theirs.high], rtol=0, atol=0.03 * width)


def test_clusters_of_unequal_size_are_drawn_as_wholes() -> None:
    # Ten clusters of 1..10 samples; a resample's mean is the mean of all samples drawn.
    sizes = np.arange(1, 11)
    clusters = np.repeat(np.arange(10), sizes)
    x = np.random.default_rng(0).normal(size=len(clusters))
    sums = cluster_sums(x.reshape(-1, 1, 1), clusters, 10).reshape(10, 1)
    found = resampled_means(sums, sizes, resamples=200, seed=3)[:, 0]

    rng = np.random.default_rng(3)
    for value, drawn in zip(found, rng.integers(10, size=(200, 10)), strict=True):
        assert value == pytest.approx(
            np.concatenate([x[clusters == cluster] for cluster in drawn]).mean(), abs=1e-12
        )


def test_dependence_within_clusters_widens_the_interval() -> None:
    # 20 clusters of 50 equal samples carry the information of 20 samples: sqrt(50) = 7 times wider
    # than if all 1000 were independent.
    x = np.repeat(np.random.default_rng(0).normal(size=20), 50).reshape(-1, 1, 1)
    low, high = interval(score(x, np.repeat(np.arange(20), 50)))
    low_alone, high_alone = interval(score(x, np.arange(1000)))
    assert (high - low) / (high_alone - low_alone) == pytest.approx(np.sqrt(50), rel=0.15)


def test_about_95_of_100_intervals_cover_the_truth() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for seed in range(200):
        x = rng.normal(5, 1, size=(50, 1, 1))
        low, high = interval(score(x, np.arange(50), resamples=400, seed=seed))
        covered += low <= 5 <= high
    # Binomial: 190 of 200 with a standard deviation of 3; percentile intervals are a bit narrow.
    assert 178 <= covered <= 199


def test_the_seed_decides_and_nothing_else() -> None:
    sums, counts = np.random.default_rng(0).normal(size=(2048, 3)), np.ones(2048, int)
    one = resampled_means(sums, counts, resamples=CHUNK // 2048 + 100, seed=7)
    np.testing.assert_array_equal(
        one, resampled_means(sums, counts, resamples=CHUNK // 2048 + 100, seed=7)
    )
    # The stream does not know where a chunk ends.
    np.testing.assert_allclose(
        one[:50], resampled_means(sums, counts, resamples=50, seed=7), rtol=1e-12
    )
    assert (one[:50] != resampled_means(sums, counts, resamples=50, seed=8)).any()


@pytest.mark.parametrize("clusters", [1, 9])
def test_few_clusters_give_no_interval_but_a_mean(clusters: int) -> None:
    found = score(np.arange(18.0).reshape(-1, 1, 1), np.arange(18) % clusters)
    assert [row.lead for row in found] == [None] * 3 + [1] * 3
    mean, low, high = found[:3]
    assert (mean.value, mean.n, mean.reason) == (8.5, 18, None)
    for row in (low, high):
        assert row.value is None
        assert row.n == clusters
        assert row.reason == f"only {clusters} clusters (10 needed)"


def test_ten_clusters_give_an_interval() -> None:
    low, high = interval(score(np.arange(20.0).reshape(-1, 1, 1), np.arange(20) % 10))
    assert low is not None
    assert high is not None
    assert low < 9.5 < high


def test_reasons_count_the_frames() -> None:
    # 12 samples, 2 lead times; two infinite values at lead 1, one NaN at lead 2.
    x = np.ones((12, 1, 2))
    x[[3, 5], 0, 0] = np.inf
    x[7, 0, 1] = np.nan
    metric = MEAN._replace(no_value="predicted exactly")
    found = score(x, np.arange(12), metric=metric)
    assert all(row.value is None for row in found)
    reasons = {row.lead: row.reason for row in found}
    assert reasons[1] == "infinite in 2 of 12 frames, first in clip clip3 (predicted exactly)"
    assert reasons[2].startswith("not a number in 1 of 12 frames, first in clip clip7:")
    assert reasons[None].startswith("not a number in 1 of 24 frames")


def test_one_bad_lead_time_leaves_the_others_alone() -> None:
    x = np.random.default_rng(0).normal(size=(12, 1, 3))
    x[0, 0, 1] = np.nan
    found = {(row.lead, row.statistic): row.value for row in score(x, np.arange(12))}
    for statistic in ("mean", "ci95_low", "ci95_high"):
        assert found[1, statistic] is not None
        assert found[2, statistic] is None
        assert found[3, statistic] is not None
        assert found[None, statistic] is None


def test_resamples_without_a_value_are_a_reason() -> None:
    # Only one of ten clusters differs: about 35 % of the resamples miss it ((9 / 10)^10) and do not
    # vary, so an interval of 1 / variance does not exist.
    metric = Metric(
        lambda predicted, observed: predicted,
        finish=lambda means: 1 / (means[..., 1, :] - means[..., 0, :] ** 2),
        components=("x", "xx"),
        no_value="nothing varies",
    )
    x = np.zeros((10, 1))
    x[0] = 1
    statistics = np.stack([x, x * x], axis=1)
    mean, low, _ = score(statistics, np.arange(10), resamples=1000, metric=metric)[:3]
    assert mean.value == pytest.approx(1 / (0.1 - 0.01))
    assert low.value is None
    lost, of = low.reason.split()[0], low.reason.split()[2]
    assert of == "1000"
    assert int(lost) == pytest.approx(349, abs=60)
    assert "nothing varies" in low.reason


def test_sums_may_be_merged_in_any_order() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 2, 3))
    clusters = rng.integers(7, size=100)
    whole = cluster_sums(x, clusters, 7)
    order = rng.permutation(100)
    parts = [cluster_sums(x[part], clusters[part], 7) for part in np.array_split(order, 9)]
    for arrangement in (parts, parts[::-1]):
        np.testing.assert_allclose(sum(arrangement), whole, rtol=0, atol=1e-12)
