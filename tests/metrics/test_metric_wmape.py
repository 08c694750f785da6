"""WMAPE: by hand, pooled against per frame, and frames without anything in them."""

import numpy as np
import pytest
from conventions import convention

from stp.metrics.metric import Metric
from stp.score.aggregate import values


def evaluate(metric: Metric, predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    return values(metric, metric.statistics(predicted, observed).mean(axis=0))


def test_wmape_by_hand() -> None:
    # Lead 1: errors 1 + 1 of 4 + 4; lead 2: errors 3 + 1 of 1 + 1.
    observed = np.array([[4, 4], [1, 1]], np.float32).reshape(1, 2, 1, 1, 2)
    predicted = np.array([[5, 3], [4, 2]], np.float32).reshape(1, 2, 1, 1, 2)
    np.testing.assert_allclose(
        evaluate(convention("wmape.pooled"), predicted, observed), [6 / 10, 2 / 8, 2]
    )
    np.testing.assert_allclose(
        evaluate(convention("wmape.per_frame"), predicted, observed), [1.125, 0.25, 2]
    )


def test_pooled_is_the_error_of_all_over_the_sum_of_all() -> None:
    rng = np.random.default_rng(0)
    observed = rng.gamma(1, 100, (5, 3, 2, 8, 8)).astype(np.float32)
    predicted = (observed + rng.normal(0, 20, observed.shape)).astype(np.float32)
    expected = np.abs(predicted.astype(float) - observed).sum() / observed.astype(float).sum()
    assert evaluate(convention("wmape.pooled"), predicted, observed)[0] == pytest.approx(
        expected, rel=1e-8
    )
    assert evaluate(convention("wmape.pooled"), observed, observed)[0] == 0


def test_nothing_observed_is_no_value_and_nan_stays() -> None:
    zeros = np.zeros((2, 2, 1, 3, 3), np.float32)
    assert not np.isfinite(evaluate(convention("wmape.pooled"), zeros + 1, zeros)).any()
    assert np.isnan(evaluate(convention("wmape.pooled"), zeros, zeros)).all()
    assert np.isposinf(convention("wmape.per_frame").statistics(zeros, zeros)).all()
    bad = zeros + 1
    bad[1, 0, 0, 0, 0] = np.nan
    actual = convention("wmape.per_frame").statistics(bad, zeros + 1)[:, 0]
    np.testing.assert_array_equal(np.isnan(actual), [[False, False], [True, False]])
