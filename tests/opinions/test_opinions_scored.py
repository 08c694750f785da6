"""Intervals of sizes of correlations: what they hold in simulated databases, and near 0."""

import numpy as np
import pytest
from conventions import convention

from stp.metrics import srocc
from stp.metrics.agreement import Agreement
from stp.opinions.splits import random_splits
from stp.score import opinions as score
from stp.score.bootstrap import TAILS

VIDEOS, TESTS, SPLITS, RESAMPLES, DATABASES = 100, 40, 10, 300, 100

Pairs = list[tuple[np.ndarray, np.ndarray]]


def database(
    rng: np.random.Generator, spearman: float, learnt: str
) -> tuple[Pairs, list[np.ndarray]]:
    """Observed and predicted opinions of each test, and how often resamples have its videos.

    Args:
        spearman: of a normal value of videos with their opinions.
        learnt: how this value becomes a prediction: by a line that is fitted on the "training" or
            on the "test", or each split predicts something else ("noise").
    """
    pearson = 2 * np.sin(np.pi / 6 * spearman)
    observed = rng.normal(size=VIDEOS)
    value = pearson * observed + np.sqrt(1 - pearson**2) * rng.normal(size=VIDEOS)
    counts = rng.multinomial(VIDEOS, np.full(VIDEOS, 1 / VIDEOS), RESAMPLES)
    splits = random_splits(VIDEOS, TESTS, SPLITS, int(rng.integers(1 << 30)))
    pairs = []
    for is_test in splits:
        fitted = is_test if learnt == "test" else ~is_test
        slope = np.cov(value[fitted], observed[fitted])[0, 1]
        predicted = rng.normal(size=TESTS) if learnt == "noise" else slope * value[is_test]
        pairs.append((observed[is_test], predicted))
    return pairs, [counts[:, is_test] for is_test in splits]


def ends(metric: Agreement, pairs: Pairs, drawn: list[np.ndarray]) -> tuple[float, float]:
    low, high = score.interval(metric, pairs, drawn, VIDEOS)
    assert low.value is not None and high.value is not None
    return low.value, high.value


@pytest.mark.long(part="suites")
@pytest.mark.parametrize(
    ("truth", "learnt"), [(0.0, "training"), (0.0, "test"), (0.0, "noise"), (0.5, "training")]
)
def test_intervals_hold_the_value_and_95_of_100_the_truth(truth: float, learnt: str):
    """Trainings turn a value without relation this way and that, so that signs are mixed."""
    rng = np.random.default_rng(7)
    inside = mixed = 0
    for _ in range(DATABASES):
        pairs, drawn = database(rng, truth, learnt)
        low, high = ends(convention("srocc.magnitude"), pairs, drawn)
        value = np.median([convention("srocc.magnitude").value(*pair) for pair in pairs])
        assert 0 <= low <= value <= high <= 1
        inside += low <= truth <= high
        mixed += len({srocc.correlation(*pair) > 0 for pair in pairs}) == 2
    print(f"{inside} of {DATABASES} intervals hold {truth}")
    assert abs(inside / DATABASES - 0.95) <= 4 * np.sqrt(0.05 * 0.95 / DATABASES)
    assert mixed > 0 or truth > 0 or learnt == "test"


@pytest.mark.parametrize("metric", [convention("srocc.magnitude"), convention("plcc.magnitude")])
def test_ends_of_strong_correlations_are_percentiles_of_sizes(metric: Agreement):
    pairs, drawn = database(np.random.default_rng(0), 0.9, "training")
    actual = [metric.weighted(*pair, counts) for pair, counts in zip(pairs, drawn, strict=True)]
    expected = np.quantile(np.median(np.abs(actual), axis=0), TAILS)
    np.testing.assert_allclose(ends(metric, pairs, drawn), expected, rtol=1e-12)
    turned = [(pair[0], (-1) ** number * pair[1]) for number, pair in enumerate(pairs)]
    np.testing.assert_allclose(ends(metric, turned, drawn), expected, rtol=1e-12)


def test_errors_that_could_make_a_value_lower_its_end_to_0():
    """Errors from -0.1 to 0.1, in the direction of each split."""
    errors = np.linspace(-0.1, 0.1, 201)
    signs = np.array([1, -1, 1])
    for sizes, expected in (
        ([0.5, 0.6, 0.7], [0.505, 0.695]),
        ([0.04, 0.05, 0.06], [0, 0.145]),
        ([0.094, 0.094, 0.094], [0, 0.189]),
        ([0.096, 0.096, 0.096], [0.001, 0.191]),
    ):
        actual = signs[:, None] * (np.array(sizes)[:, None] + errors)
        made = score.magnitude_ends(signs * np.array(sizes), actual)
        np.testing.assert_allclose(made, expected, atol=1e-9)


def test_0_is_judged_by_all_errors_where_those_of_several_splits_cancel_out():
    """Errors move correlations of both signs the same way, so the median size hardly moves."""
    errors = np.linspace(-0.1, 0.1, 201)
    signs = np.array([1, -1, 1, -1])[:, None]
    low, high = score.magnitude_ends(0.08 * signs[:, 0], 0.08 * signs + errors)
    assert low == 0 and high == pytest.approx(0.08)
    low, _ = score.magnitude_ends(0.16 * signs[:, 0], 0.16 * signs + errors)
    assert low == pytest.approx(0.16)  # no median of signed correlations, which is 0


def test_a_split_without_a_value_in_a_resample_is_left_out_of_it():
    values = np.array([0.5, 0.6])
    actual = np.tile(values[:, None], 100)
    actual[0, :50] = np.nan
    np.testing.assert_allclose(score.magnitude_ends(values, actual), [0.55, 0.6])
