"""Correlations of resamples against those of values that really occur so often."""

import numpy as np
import pytest
from scipy.stats import rankdata

from stp.metrics.correlation import is_defined, weighted_correlation, weighted_ranks

X = np.array([1.0, 4.0, 2.0, 2.0, 7.0])
Y = np.array([0.5, 3.0, 3.0, 1.0, 2.0])
COUNTS = np.array([[1, 1, 1, 1, 1], [2, 0, 1, 3, 1], [0, 3, 0, 0, 2], [0, 0, 4, 1, 0]])


def repeated(values: np.ndarray) -> list[np.ndarray]:
    """The values of each resample, (B) of (N,)."""
    values = np.broadcast_to(values, COUNTS.shape)
    return [np.repeat(one, counts) for one, counts in zip(values, COUNTS, strict=True)]


def test_a_pair_counts_as_often_as_it_occurs():
    actual = weighted_correlation(X, Y, COUNTS)
    expected = [
        np.corrcoef(x, y)[0, 1] for x, y in list(zip(repeated(X), repeated(Y), strict=True))[:3]
    ]
    assert actual[:3] == pytest.approx(expected, abs=1e-12)
    assert np.isnan(actual[3])  # of the four and the one, both are 2


def test_values_may_depend_on_the_resample():
    values = X + np.arange(4)[:, None] * Y
    actual = weighted_correlation(values, Y, COUNTS)
    expected = [np.corrcoef(x, y)[0, 1] for x, y in zip(repeated(values), repeated(Y), strict=True)]
    assert actual == pytest.approx(expected, abs=1e-12)


def test_ranks_are_those_of_repeated_values():
    for ours, theirs, counts in zip(weighted_ranks(X, COUNTS), repeated(X), COUNTS, strict=True):
        assert ours[counts > 0] == pytest.approx(
            [rankdata(theirs)[theirs == value][0] for value in X[counts > 0]]
        )


def test_one_pair_or_equal_values_cannot_be_correlated():
    assert is_defined(X, Y) and is_defined(X[:2], Y[:2])
    assert not is_defined(X[:1], Y[:1])
    assert not is_defined(X, np.ones(5)) and not is_defined(np.ones(5), Y)
