"""Errors of trajectories, beside brute force."""

import numpy as np
import pytest
from crowds import crowd

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
        assert errors.ade(found[0])[s, n] == pytest.approx(np.mean(each[0]))
    assert np.isnan(errors.ade(found)[~scenarios.present]).all()


def test_every_scenario_counts_alike():
    of_people = np.array([[1.0, 3.0, np.nan], [5.0, np.nan, np.nan]])
    assert errors.by_scenario(of_people).tolist() == [2.0, 5.0]
