"""The Nino3.4 index and its skill: hand-made series, SciPy, and the published formula."""

import re
from math import factorial, log

import numpy as np
import pytest
from conventions import convention
from scipy.stats import pearsonr

from stp.core.errors import StpError
from stp.metrics import nino34
from stp.metrics.metric import Metric
from stp.score.aggregate import values

# Three samples, four months each; smoothed over 3 months: (2, 3), (1, 2), (0, 2).
MONTHS = np.array([[1, 2, 3, 4], [0, 0, 3, 3], [0, 0, 0, 6]], np.float32)


def sst(months: np.ndarray, elsewhere: float = 99.0) -> np.ndarray:
    """Frames (N, T, 1, 24, 48) whose Nino3.4 region is at ``months`` and the rest elsewhere."""
    frames = np.full((*months.shape, 1, 24, 48), elsewhere, np.float32)
    frames[..., 10:13, 19:30] = months[:, :, None, None, None]
    return frames


def evaluate(metric: Metric, predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Overall value, then one per lead time, from the monthly index."""
    statistics = metric.statistics(sst(predicted, 7.0), sst(observed))
    assert statistics.shape == (len(observed), len(metric.components), observed.shape[1] - 2)
    return values(metric, statistics.mean(axis=0))


def random_months(samples: int, leads: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    observed = rng.normal(0, 0.8, (samples, leads))
    predicted = 0.6 * observed + rng.normal(0, 0.5, (samples, leads))
    return predicted.astype(np.float32), observed.astype(np.float32)


def smoothed(months: np.ndarray) -> np.ndarray:
    """The 3-month means by another way: differences of cumulative sums."""
    total = np.cumsum(np.pad(months.astype(np.float64), ((0, 0), (1, 0))), axis=1)
    return (total[:, 3:] - total[:, :-3]) / 3


def published_formula(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Correlations per lead time as PredBench's code has them: sums, and 1e-6 below."""
    p = predicted - predicted.mean(axis=0)
    o = observed - observed.mean(axis=0)
    return (p * o).sum(axis=0) / (np.sqrt((p**2).sum(axis=0) * (o**2).sum(axis=0)) + 1e-6)


def test_the_index_is_the_smoothed_mean_of_the_region() -> None:
    np.testing.assert_allclose(nino34.index(sst(MONTHS)), [[2, 3], [1, 2], [0, 2]], rtol=1e-12)
    one_pixel = np.zeros((1, 3, 1, 24, 48), np.float32)
    one_pixel[:, :, 0, 12, 29] = 33  # a corner of the 3 x 11 pixels
    assert nino34.index(one_pixel) == pytest.approx(1)


def test_correlation_by_hand() -> None:
    # A linear function of the truth is perfect; its negative is the opposite.
    np.testing.assert_allclose(
        evaluate(convention("nino34.correlation"), 2 * MONTHS + 1, MONTHS), [1, 1, 1]
    )
    np.testing.assert_allclose(
        evaluate(convention("nino34.correlation"), -MONTHS, MONTHS), [-1, -1, -1]
    )
    # Predicted (2, 3), (1, 2), (0, 2) against the samples' order reversed, (0, 2), (1, 2), (2, 3):
    # lead 3: deviations (1, 0, -1) and (-1, 0, 1), r = -1. Lead 4: deviations (2, -1, -1) / 3 and
    # (-1, -1, 2) / 3, products -2, 1, -2, so r = -3 / 6 = -0.5. Mean -0.75.
    actual = evaluate(convention("nino34.correlation"), MONTHS, MONTHS[::-1])
    np.testing.assert_allclose(actual, [-0.75, -1, -0.5], rtol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 300.0])
def test_correlation_matches_scipy_and_the_published_formula(offset: float) -> None:
    # 300 K of offset cost six of the sixteen digits of the second moments.
    predicted, observed = random_months(200, 14, seed=1)
    predicted, observed = predicted + np.float32(offset), observed + np.float32(offset)
    actual = evaluate(convention("nino34.correlation"), predicted, observed)
    p, o = smoothed(predicted), smoothed(observed)
    by_scipy = [pearsonr(p[:, k], o[:, k]).statistic for k in range(12)]
    np.testing.assert_allclose(actual[1:], by_scipy, rtol=0, atol=1e-9)
    np.testing.assert_allclose(actual[1:], published_formula(p, o), rtol=0, atol=1e-7)
    assert actual[0] == pytest.approx(np.mean(by_scipy), abs=1e-9)


def test_weights_of_the_leads() -> None:
    # 1.5, 2, 3, 4 change after 4, 11 and 18 values; the logarithm of 1 is 0.
    actual = nino34.weights(20)
    np.testing.assert_allclose(
        actual[[0, 3, 4, 10, 11, 17, 18]],
        [0, 1.5 * log(4), 2 * log(5), 2 * log(11), 3 * log(12), 3 * log(18), 4 * log(19)],
    )


def test_perfect_forecasts_at_12_leads_have_the_weighted_correlation_3_41() -> None:
    # (1.5 ln 4! + 2 ln(11! / 4!) + 3 ln 12) / 12 = (4.767 + 28.648 + 7.455) / 12 = 3.406
    _, observed = random_months(30, 14, seed=2)
    actual = evaluate(convention("nino34.correlation_weighted"), observed, observed)
    four, eleven = log(factorial(4)), log(factorial(11))
    assert actual[0] == pytest.approx((1.5 * four + 2 * (eleven - four) + 3 * log(12)) / 12)
    assert actual[0] == pytest.approx(3.406, abs=1e-3)


def test_weighted_correlation_matches_the_published_formula() -> None:
    predicted, observed = random_months(60, 14, seed=3)
    actual = evaluate(convention("nino34.correlation_weighted"), predicted, observed)
    correlations = published_formula(smoothed(predicted), smoothed(observed))
    steps = np.array([1.5] * 4 + [2] * 7 + [3])
    expected = (steps * np.log(np.arange(12) + 1) * correlations).sum() / 12
    assert actual[0] == pytest.approx(expected, abs=1e-6)


def test_rmse_by_hand() -> None:
    # Predictions of 0 against (2, 3), (1, 2), (0, 2): sqrt(5 / 3) and sqrt(17 / 3).
    actual = evaluate(convention("nino34.rmse"), 0 * MONTHS, MONTHS)
    roots = np.sqrt([5 / 3, 17 / 3])
    np.testing.assert_allclose(actual, [roots.mean(), *roots], rtol=1e-12)


def test_nan_in_the_region_shows_in_the_leads_that_see_it() -> None:
    predicted, observed = random_months(5, 6, seed=4)
    predicted[2, 5] = np.nan  # only the last of the 4 means contains month 6
    for metric in (convention("nino34.correlation"), convention("nino34.rmse")):
        actual = evaluate(metric, predicted, observed)
        np.testing.assert_array_equal(np.isnan(actual), [True, False, False, False, True])


@pytest.mark.parametrize("shape", [(2, 2, 1, 24, 48), (2, 5, 1, 32, 64), (2, 5, 2, 24, 48)])
def test_other_grids_and_too_few_leads_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(StpError, match=rf"{re.escape(str(shape[2:]))} .*{shape[1]} "):
        nino34.index(np.zeros(shape, np.float32))
