"""Errors of trajectories, beside brute force and scikit-learn."""

import numpy as np
import pytest
from crowds import crowd
from sklearn.mixture import GaussianMixture

from stp.tracks import errors


@pytest.fixture
def samples():
    """Scenarios and five predictions of each."""
    scenarios = crowd(scenes=4, people=3)
    noise = np.random.default_rng(0).normal(0, 0.5, (5, *scenarios.future.shape))
    return scenarios, scenarios.future + noise


def test_displacement_errors(samples):
    scenarios, predicted = samples
    found = errors.displacement(predicted, scenarios.future)
    for s, n in zip(*np.nonzero(scenarios.present), strict=True):
        each = [
            [np.hypot(*(predicted[k, s, n, t] - scenarios.future[s, n, t])) for t in range(10)]
            for k in range(5)
        ]
        assert errors.ade(found)[s, n] == pytest.approx(np.mean(each))
        assert errors.fde(found)[s, n] == pytest.approx(np.mean([e[-1] for e in each]))
        best = np.mean([min(e[t] for e in each) for t in range(10)])
        assert errors.top_k_pointwise(found)[s, n] == pytest.approx(best)
        assert errors.top_k_trajectory(found)[s, n] == pytest.approx(min(map(np.mean, each)))
        assert errors.ade(found[0])[s, n] == pytest.approx(np.mean(each[0]))
        missed = float(all(e[-1] > 0.5 for e in each))
        assert errors.misses(found, beyond=0.5)[s, n] == missed
    assert np.isnan(errors.ade(found)[~scenarios.present]).all()


def test_every_scenario_counts_alike():
    of_people = np.array([[1.0, 3.0, np.nan], [5.0, np.nan, np.nan]])
    assert errors.by_scenario(of_people).tolist() == [2.0, 5.0]


def test_one_gaussian_of_the_last_step_is_that_of_scikit_learn(samples):
    scenarios, predicted = samples
    found = errors.final_gaussian_nlp(predicted, scenarios.future)
    for s, n in zip(*np.nonzero(scenarios.present), strict=True):
        fitted = GaussianMixture(1, reg_covar=errors.REGULAR).fit(predicted[:, s, n, -1])
        expected = -fitted.score(scenarios.future[s, n, -1:])
        assert found[s, n] == pytest.approx(expected, rel=1e-6)
    with pytest.raises(ValueError, match="at least 3"):
        errors.final_gaussian_nlp(predicted[:2], scenarios.future)


def test_collisions_of_two_who_meet_and_one_who_does_not():
    along = np.arange(7)[:, None] * np.array([1.0, 0.0])
    paths = np.stack([along, np.add(along[::-1], [0, 0.2]), np.add(along, [0, 3])])[None]
    assert errors.collisions(paths).tolist() == [[True, True, False]]
