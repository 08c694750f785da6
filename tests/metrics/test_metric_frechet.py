"""The Frechet distance and the kernel distance, against closed forms, scipy and plain loops."""

import numpy as np
import pytest
import scipy.linalg

from stp.core.errors import StpError
from stp.metrics import kvd
from stp.metrics.frechet import distance, distance_of_gaussians
from stp.metrics.set_distance import draw_indices


def features(samples: int, size: int, seed: int = 0) -> np.ndarray:
    """Correlated features, as networks give them."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(samples, size)) @ rng.normal(size=(size, size)) + rng.normal(size=size)


def by_scipy(mean_x, covariance_x, mean_y, covariance_y) -> float:
    """The formula as it is written: with the square root of a matrix."""
    root = scipy.linalg.sqrtm(covariance_x @ covariance_y).real
    traces = np.trace(covariance_x) + np.trace(covariance_y)
    return float(np.sum((mean_x - mean_y) ** 2) + traces - 2 * np.trace(root))


def moments(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x.mean(axis=0), np.cov(x, rowvar=False)


@pytest.mark.parametrize(
    ("samples", "size"), [(50, 3), (200, 40), (2000, 100), (2, 100), (16, 100), (60, 100)]
)
def test_it_is_the_formula_of_scipy(samples: int, size: int) -> None:
    """With fewer samples than features, covariances are singular: scipy's root still exists."""
    x, y = features(samples, size, 1), features(samples, size, 2)
    reference = by_scipy(*moments(x), *moments(y))
    assert distance(x, y) == pytest.approx(reference, rel=1e-6)
    assert distance_of_gaussians(*moments(x), *moments(y)) == pytest.approx(reference, rel=1e-6)


def test_gaussians_with_the_same_axes() -> None:
    """Covariances that commute: the squared distance of the deviations on each axis, one zero."""
    s, t = np.array([1.0, 2.0, 0.0, 5.0]), np.array([3.0, 2.0, 4.0, 0.0])
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    covariances = [turn @ np.diag(v**2) @ turn.T for v in (s, t)]
    actual = distance_of_gaussians(np.zeros(4), covariances[0], np.full(4, 0.5), covariances[1])
    assert actual == pytest.approx(4 * 0.25 + np.sum((s - t) ** 2))


def test_two_samples_by_hand() -> None:
    """Deviations 1 and 3 along one axis, means 2 apart: 4 + 2 (1 - 3)^2; unbiased, so doubled."""
    x, y = np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([[-1.0, 0.0], [5.0, 0.0]])
    assert distance(x, y) == pytest.approx(4 + 2 * 4)


def test_equal_sets_are_at_distance_zero_and_never_below() -> None:
    for samples in (3, 40, 300):
        x = 100 * features(samples, 64, samples)
        assert 0 <= distance(x, x) < 1e-9 * np.trace(np.cov(x, rowvar=False))


@pytest.mark.parametrize(
    ("x", "y", "said"),
    [
        (np.zeros((5, 3)), np.zeros((4, 3)), "4"),
        (np.zeros((5, 3)), np.zeros((5, 2)), "2"),
        (np.zeros((1, 3)), np.zeros((1, 3)), "1"),
    ],
)
def test_what_cannot_be_compared_is_refused(x: np.ndarray, y: np.ndarray, said: str) -> None:
    with pytest.raises(StpError, match=said):
        distance(x, y)


def test_matched_numbers_are_drawn_without_repetition_and_always_alike() -> None:
    drawn = draw_indices(100, 30, seed=4)
    assert len(drawn) == 30
    assert list(drawn) == sorted(set(drawn))
    assert drawn.max() < 100
    np.testing.assert_array_equal(drawn, draw_indices(100, 30, seed=4))
    assert list(draw_indices(100, 30, seed=5)) != list(drawn)
    assert list(draw_indices(7, 7)) == list(range(7))


# Kernel video distance


def by_loops(x: np.ndarray, y: np.ndarray) -> float:
    """The estimator as it is written in the paper."""

    def k(a: np.ndarray, b: np.ndarray) -> float:
        return float((a @ b + 1) ** 3)

    m, n = len(x), len(y)
    own_x = sum(k(x[i], x[j]) for i in range(m) for j in range(m) if i != j) / (m * (m - 1))
    own_y = sum(k(y[i], y[j]) for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
    return own_x - 2 * sum(k(a, b) for a in x for b in y) / (m * n) + own_y


@pytest.mark.parametrize(("m", "n"), [(2, 2), (7, 7), (9, 4)])
def test_the_kernel_distance_is_the_formula_of_the_paper(m: int, n: int) -> None:
    x, y = features(m, 5, 1), features(n, 5, 2)
    assert kvd.distance(x, y) == pytest.approx(by_loops(x, y), rel=1e-12)


def test_the_kernel_distance_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = features(25, 5, 1), features(25, 5, 2)
    whole = kvd.distance(x, y)
    monkeypatch.setattr(kvd, "ROWS", 4)
    assert kvd.distance(x, y) == pytest.approx(whole, rel=1e-12)


def test_the_kernel_distance_by_hand() -> None:
    """Pairs of ones: k = 8; of a one and a zero: k = 1; of zeros: k = 1."""
    assert kvd.distance(np.ones((2, 1)), np.zeros((3, 1))) == pytest.approx(8 - 2 + 1)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("kind", [distance, kvd.distance], ids=["frechet", "kernel"])
def test_features_that_are_not_finite_are_refused(kind, value: float) -> None:
    x, y = features(20, 3), features(20, 3, seed=1)
    y[3, 1] = value
    for pair in ((x, y), (y, x)):
        with pytest.raises(StpError, match="NaN"):
            kind(*pair)
