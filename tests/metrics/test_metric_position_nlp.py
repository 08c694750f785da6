"""Negative log-probabilities of positions, against scikit-learn and SciPy."""

from pathlib import Path

import numpy as np
import pytest
from conventions import convention
from scipy.stats import gaussian_kde
from sklearn.mixture import GaussianMixture

from stp.metrics.comparison import Comparison, on_data
from stp.score.motion import PeopleData


@pytest.fixture
def frames() -> tuple[np.ndarray, np.ndarray]:
    """Predictions (2, 40, 3, 2, 1, 4) and what happened (2, 3, 2, 1, 4); one place is empty."""
    random = np.random.default_rng(0)
    truth = random.normal(0, 3, (2, 3, 2, 1, 4)).astype(np.float32)
    drawn = truth[:, None] + random.normal(0.2, 0.7, (2, 40, 3, 2, 1, 4)).astype(np.float32)
    truth[1, ..., 3], drawn[1, ..., 3] = np.nan, np.nan
    return drawn, truth


def people(truth: np.ndarray, scenario: int) -> list[int]:
    return [n for n in range(4) if np.isfinite(truth[scenario, 0, 0, 0, n])]


def test_one_gaussian_is_that_of_scikit_learn(frames):
    drawn, truth = frames
    actual = convention("position_nlp.final_gaussian").statistics(drawn, truth)
    for scenario in (0, 1):
        each = []
        for n in people(truth, scenario):
            fitted = GaussianMixture(1).fit(drawn[scenario, :, -1, :, 0, n].astype(np.float64))
            each.append(-fitted.score_samples(truth[scenario, -1, None, :, 0, n])[0])
        assert actual[scenario, 0, 0] == pytest.approx(np.mean(each), rel=1e-5)


def test_kernels_are_those_of_scipy(frames):
    drawn, truth = frames
    truth[0, 2, :, 0, 1] += 50  # where the density is below the least that counts
    actual = convention("position_nlp.kde").statistics(drawn, truth)
    for scenario, step in np.ndindex(2, 3):
        each = []
        for n in people(truth, scenario):
            kernels = gaussian_kde(drawn[scenario, :, step, :, 0, n].astype(np.float64).T)
            each.append(-max(-20.0, kernels.logpdf(truth[scenario, step, :, 0, n])[0]))
        assert actual[scenario, 0, step] == pytest.approx(np.mean(each), rel=1e-5)


def test_what_has_no_density_has_no_value(frames):
    drawn, truth = frames
    assert np.isinf(convention("position_nlp.final_gaussian").statistics(drawn[:, :2], truth)).all()
    assert np.isinf(convention("position_nlp.kde").statistics(drawn[:, :2], truth)).all()
    drawn[0, :, 1, :, 0, 2] = drawn[0, :, 1, :1, 0, 2]  # both coordinates alike: on a line
    actual = convention("position_nlp.kde").statistics(drawn, truth)
    assert np.isinf(actual[0, 0]).tolist() == [False, True, False]
    assert np.isfinite(actual[1]).all()


def test_densities_are_looked_up():
    known = np.array([[[-1.0, -2.0], [-np.inf, -4.0], [np.nan, np.nan]]])  # (S, N, T)
    data = PeopleData(Path(), {"units": "m"}, (2, 1, 3), np.arange(2))
    compared = Comparison(data, np.zeros((1, 2)), densities={"grid": known})
    metric = on_data(convention("position_nlp.grid"), compared)
    assert metric.numbered and convention("position_nlp.mixture").numbered
    actual = metric.statistics(np.empty(0), np.empty(0), np.array([0]), np.arange(2))
    np.testing.assert_allclose(actual, [[[(1 + 20) / 2, 3]]])
    absent = on_data(convention("position_nlp.mixture"), compared)
    assert "mixture" in absent.reason
