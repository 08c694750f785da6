"""Models that are ranked and tested against each other: right when nothing differs."""

import numpy as np
import pytest
from parts import long_except
from scipy import stats
from statsmodels.stats.multitest import multipletests

from stp.collect.cluster_sums import Clusters
from stp.collect.direction import Direction
from stp.collect.leave_one_out import LeftOut
from stp.collect.pairwise_tests import OTHER_CLUSTERS, Entrant, contest
from stp.score.jackknife import leave_one_out_means


def entrants(means: np.ndarray, counts: np.ndarray) -> list[Entrant]:
    """Models from the means of their clusters, (M, G)."""
    clusters = Clusters(tuple(map(str, range(len(counts)))), tuple(counts.tolist()), "")
    found = []
    for number, of in enumerate(means):
        value = float(np.average(of, weights=counts))
        without = leave_one_out_means(of * counts, counts)
        found.append(Entrant(f"m{number}", value, None, LeftOut(clusters, value, without)))
    return found


def equal_models(rng: np.random.Generator, counts: np.ndarray, *, skewed: bool) -> np.ndarray:
    """Means of clusters of twelve models that are equally good, (12, G)."""
    hard = rng.normal(size=len(counts))  # how hard a video is for all
    own = rng.normal(size=(12, len(counts)))
    found = hard + 0.7 * own
    return np.exp(found) if skewed else found


@pytest.mark.parametrize("clusters", [10, 26])
@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("skewed", long_except([True], [True, False], part="kinds"))
def test_of_equal_models_none_is_called_better(clusters: int, equal: bool, skewed: bool) -> None:
    """In about 5 % of runs at most; percentiles of resampled differences did so in 12 to 48 %."""
    rng = np.random.default_rng(1)
    wrong, runs = 0, 300
    for _ in range(runs):
        counts = np.full(clusters, 4) if equal else 1 + rng.lognormal(1.5, 1, clusters).astype(int)
        means = equal_models(rng, counts, skewed=skewed)
        _, pairs = contest(entrants(means, counts), Direction(higher=True))
        wrong += any(pair.better is not None for pair in pairs)
    # 5 % have a standard error of 1.3 %.
    assert wrong / runs <= 0.08
    if equal and not skewed:
        assert wrong > 0


def test_a_model_that_is_better_is_found() -> None:
    rng = np.random.default_rng(2)
    counts = np.full(12, 4)
    found = 0
    for _ in range(100):
        means = equal_models(rng, counts, skewed=False)
        means[7] += 2.5  # about 9 standard errors of a difference
        ranks, pairs = contest(entrants(means, counts), Direction(higher=True))
        found += sum(pair.better == 7 for pair in pairs)
        assert ranks[7].rank == 1
    assert found / 1100 > 0.9


def test_p_is_that_of_student_for_clusters_of_equal_size() -> None:
    rng = np.random.default_rng(3)
    means, counts = rng.normal(size=(3, 15)), np.full(15, 6)
    _, pairs = contest(entrants(means, counts), Direction(higher=False))
    for pair in pairs:
        test = stats.ttest_1samp(means[pair.other] - means[pair.one], 0)
        interval = test.confidence_interval()
        assert pair.p == pytest.approx(test.pvalue)
        assert [pair.low, pair.high] == pytest.approx([interval.low, interval.high])
    corrected = multipletests([pair.p for pair in pairs], method="holm")[1]
    assert [pair.corrected for pair in pairs] == pytest.approx(list(corrected))


def test_p_is_about_that_of_all_changes_of_sign() -> None:
    """Of normal differences: the exact permutation test, whose 2^12 changes give a p value."""
    rng = np.random.default_rng(4)
    for _ in range(10):
        means, counts = rng.normal(size=(2, 12)), np.full(12, 3)
        means[1] += 0.8
        (pair,) = contest(entrants(means, counts), Direction(higher=True))[1]
        exact = stats.permutation_test(
            (means[1] - means[0],),
            lambda x, axis: x.mean(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=np.inf,
        )
        assert pair.p == pytest.approx(exact.pvalue, abs=0.03)


def test_what_is_detectable_is_found_in_four_of_five_tests() -> None:
    """By simulation, at the level that `better` has: 5 % for all 66 pairs of twelve models."""
    rng = np.random.default_rng(5)
    counts = np.full(15, 4)
    steps = []
    for _ in range(60):
        _, pairs = contest(entrants(rng.normal(size=(12, 15)), counts), Direction(higher=True))
        steps += [pair.detectable for pair in pairs if pair.detectable is not None]
    # Each pair knows its own standard error only; their root mean square is that of all.
    detectable = np.sqrt(np.mean(np.square(steps)))
    found = 0
    for _ in range(600):
        means = rng.normal(size=(2, 15))
        means[1] += detectable
        (pair,) = contest(entrants(means, counts), Direction(higher=True))[1]
        assert pair.p is not None
        found += pair.p < 0.05 / 66
    assert 0.75 < found / 600 < 0.85


def test_confidence_sets_of_ranks_follow_from_the_pairs() -> None:
    rng = np.random.default_rng(6)
    counts = np.full(20, 2)
    good, middle, bad = 2.0, 1.0, 0.0
    levels = np.array([good, middle, middle, bad])
    means = levels[:, None] + rng.normal(0, 0.2, (4, 20))
    ranks, _ = contest(entrants(means, counts), Direction(higher=True))
    assert [(one.rank_low, one.rank_high) for one in ranks] == [(1, 1), (2, 3), (2, 3), (4, 4)]
    assert sorted(one.rank or 0 for one in ranks) == [1, 2, 3, 4]
    assert all(one.models == 4 and one.clusters == 20 for one in ranks)


def test_other_clusters_are_not_compared() -> None:
    rng = np.random.default_rng(7)
    same = entrants(rng.normal(size=(2, 12)), np.full(12, 3))
    (other,) = entrants(rng.normal(size=(1, 12)), np.full(12, 4))
    none = Entrant("none", None, "frames are too small", "no value")
    ranks, pairs = contest([*same, other, none], Direction(higher=True))
    assert [pair.reason for pair in pairs] == [
        None,
        OTHER_CLUSTERS,
        "none: frames are too small",
        OTHER_CLUSTERS,
        *["none: frames are too small"] * 2,
    ]
    assert pairs[0].p == pairs[0].corrected and ranks[0].rank_low is None
    assert (ranks[3].rank, ranks[3].reason) == (None, "frames are too small")


def test_what_is_best_at_one_is_tested_by_its_distance() -> None:
    """0.9 and 1.1 differ, but neither is better."""
    noise = np.random.default_rng(8).normal(0, 0.01, (2, 20))
    means = np.array([[0.9], [1.1]]) + noise
    (pair,) = contest(entrants(means, np.full(20, 2)), Direction(best_at=1.0))[1]
    assert pair.low is not None and pair.p is not None
    assert pair.low > 0.15 and pair.p > 0.05 and pair.better is None


def test_what_predictions_do_not_resolve_is_no_difference() -> None:
    """Stored as float32, predictions have a relative error of 6e-8."""
    rng = np.random.default_rng(9)
    exact = rng.uniform(0.2, 0.4, 12)
    means = np.stack([exact, exact * (1 + 1e-7 * rng.uniform(0.9, 1.1, 12)), exact * (1 + 1e-5)])
    for direction in (Direction(higher=True), Direction(best_at=1.0)):
        ranks, (near, far, _) = contest(entrants(means, np.full(12, 3)), direction)
        assert (near.low, near.high, near.p, near.won) == (None, None, 1.0, 0.5)
        assert near.better is None and near.difference == pytest.approx(3e-8, rel=0.2)
        assert far.better == 2 and ranks[0].rank_low == 2


def test_a_difference_that_all_clusters_share_has_no_interval() -> None:
    means = np.stack([np.full(12, 0.1 + 0.2), np.full(12, 0.3), np.full(12, 0.4)])
    _, (same, other, _) = contest(entrants(means, np.full(12, 3)), Direction(higher=True))
    assert (same.low, same.high, same.p, same.better) == (None, None, 1.0, None)
    assert (other.low, other.high, other.won, other.better) == (None, None, 1.0, 2)
    assert other.p == other.p_sign == pytest.approx(2 / 2**12)


@pytest.mark.parametrize("higher", [True, False])
def test_better_is_what_both_tests_call_better(higher: bool) -> None:
    """The second model is far better in three clusters, and a little worse in most others."""
    sign = 1 if higher else -1
    base = np.random.default_rng(10).normal(5, 1, 20)
    gains = np.array([3.0] * 8 + [-0.1] * 11 + [0])
    counts = np.arange(20) % 3 + 1
    (pair,) = contest(
        entrants(np.stack([base, base + sign * gains]), counts), Direction(higher=higher)
    )[1]
    assert pair.p is not None and pair.p < 0.02 and pair.corrected == pair.p
    assert pair.won == pytest.approx(8.5 / 20) and pair.better is None
    assert pair.p_sign == pytest.approx(stats.binomtest(8, 19).pvalue)
    gains[8:16] = 0.2
    (pair,) = contest(
        entrants(np.stack([base, base + sign * gains]), counts), Direction(higher=higher)
    )[1]
    assert pair.won == pytest.approx(16.5 / 20) and pair.better == 1


def test_a_model_that_rarely_fails_is_flagged() -> None:
    """Equally good on average: errors of 1, or lognormal ones. docs/statistics.md has the rates."""
    rng = np.random.default_rng(11)
    by_t, by_both, unflagged = 0, 0, 0
    for _ in range(300):
        even, uneven = rng.normal(size=(2, 15))
        means = np.stack([1 + 0.05 * even, np.exp(1.5 * uneven - 1.125)])
        (pair,) = contest(entrants(means, np.full(15, 2)), Direction(higher=False))[1]
        assert pair.p is not None
        by_t += pair.p < 0.05
        by_both += pair.better is not None
        unflagged += pair.better is not None and not pair.skewed
    assert by_t / 300 > 0.2  # of a nominal 0.05
    assert by_both < by_t and unflagged / 300 < 0.1
    normal = [entrants(rng.normal(size=(2, 15)), np.full(15, 2)) for _ in range(300)]
    flagged = sum(bool(contest(two, Direction(higher=False))[1][0].skewed) for two in normal)
    assert flagged / 300 < 0.1
