"""CRPS against properscoring and all pairs; spread against NumPy; a reliable ensemble."""

from pathlib import Path

import numpy as np
import pytest
from conventions import convention
from crps_reference import properscoring

from stp.metrics import crps
from stp.metrics.comparison import Comparison, on_data
from stp.metrics.crps import crps_ensemble
from stp.metrics.metric import Metric
from stp.score.aggregate import values
from stp.score.motion import PeopleData


def ensemble(members: int, points: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Members and truth drawn from one distribution at each point: (M, points), (points,)."""
    rng = np.random.default_rng(seed)
    centre = rng.normal(0, 3, points)
    return centre + rng.normal(size=(members, points)), centre + rng.normal(size=points)


@pytest.mark.parametrize("members", [1, 2, 3, 50])
def test_crps_matches_properscoring(members: int) -> None:
    x, y = ensemble(members)
    expected = properscoring.crps_ensemble(y, x, axis=0)
    np.testing.assert_allclose(crps_ensemble(x, y), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(crps_ensemble(x.T, y, axis=1), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("members", [2, 3, 5])
def test_fair_crps_matches_all_pairs(members: int) -> None:
    x, y = ensemble(members)
    pairs = np.abs(x[:, None] - x[None]).sum(axis=(0, 1)) / (2 * members * (members - 1))
    np.testing.assert_allclose(
        crps_ensemble(x, y, fair=True), np.abs(x - y).mean(axis=0) - pairs, rtol=0, atol=1e-12
    )


def test_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = ensemble(7)
    whole = crps_ensemble(x, y)
    monkeypatch.setattr(crps, "CHUNK", 13)
    np.testing.assert_allclose(crps_ensemble(x, y), whole, rtol=1e-14)


def test_one_member_gives_the_absolute_error() -> None:
    x, y = ensemble(1)
    for fair in (False, True):
        np.testing.assert_allclose(crps_ensemble(x, y, fair=fair), np.abs(x[0] - y), rtol=1e-15)


def frames(members: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Forecasts (N, M, T, C, H, W) and truth (N, T, C, H, W) from one distribution."""
    x, y = ensemble(members, 40 * 2 * 1 * 8 * 8, seed)
    predicted = x.reshape(members, 40, 2, 1, 8, 8).swapaxes(0, 1)
    return predicted.astype(np.float32), y.reshape(40, 2, 1, 8, 8).astype(np.float32)


def bound(metric: Metric, members: int) -> Metric:
    """The convention for video, whose channels have the same units."""
    data = PeopleData(Path("nowhere"), {"units": "1"}, (1, 8, 8), np.arange(1))
    return on_data(metric, Comparison(data, np.zeros((40, 2), np.int64), members))


def test_conventions_are_means_of_the_points() -> None:
    predicted, observed = frames(5)
    actual = bound(convention("crps.pixel_mean"), 5).statistics(predicted, observed)
    assert actual.shape == (40, 1, 2)
    points = crps_ensemble(predicted, observed, axis=1)
    np.testing.assert_allclose(actual[:, 0], points.mean(axis=(2, 3, 4)), rtol=1e-12)
    variances = predicted.astype(float).var(axis=1, ddof=1)
    pooled = bound(convention("spread.pooled"), 5)
    overall = values(pooled, pooled.statistics(predicted, observed).mean(axis=0))[0, 0]
    assert overall == pytest.approx(np.sqrt(variances.mean()))
    deviation = bound(convention("spread.mean_deviation"), 5).statistics(predicted, observed).mean()
    assert deviation == pytest.approx(np.sqrt(variances).mean())
    assert deviation < overall


def test_spread_and_error_of_a_reliable_ensemble_are_equal() -> None:
    # 3 members drawn from the distribution of the truth: the error of their mean has variance
    # 1 + 1 / 3 while they have 1, hence the factor sqrt(4 / 3). 5,120 points: 1 % of error.
    predicted, observed = frames(3)
    metric = bound(convention("spread.skill_ratio_uncorrected"), 3)
    actual = values(metric, metric.statistics(predicted, observed).mean(axis=0))[0, 0]
    assert actual == pytest.approx(np.sqrt(3 / 4), abs=0.03)
