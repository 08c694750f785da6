"""Learning from products equals scikit-learn's components and regressions on the features."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from stp.core.errors import StpError
from stp.opinions import logistic, regression, splits

VIDEOS, TRAINING = 50, np.arange(40)
TEST = np.arange(40, VIDEOS)


@pytest.fixture
def features() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(VIDEOS, 300)) * np.linspace(3, 0.1, 300) + 5


@pytest.fixture
def observed(features: np.ndarray) -> np.ndarray:
    return 50 + features @ np.random.default_rng(1).normal(size=300)


@pytest.mark.parametrize("count", [1, 10, 39, 40])
def test_linear_regression_on_components(features: np.ndarray, observed: np.ndarray, count: int):
    model = make_pipeline(PCA(count, svd_solver="full"), LinearRegression())
    expected = model.fit(features[TRAINING], observed[TRAINING]).predict(features[TEST])
    actual = regression.components(regression.products(features), TRAINING, TEST).first(count)
    np.testing.assert_allclose(
        regression.linear(actual, observed[TRAINING]), expected, rtol=1e-7, atol=1e-7
    )


def test_as_many_components_as_training_videos_are_one_fewer(
    features: np.ndarray, observed: np.ndarray
):
    """And every training video is fitted exactly."""
    gram = regression.products(features)
    actual = regression.components(gram, TRAINING, TEST)
    assert actual.training.shape == (40, 39)
    again = regression.components(gram, TRAINING, TRAINING)
    np.testing.assert_allclose(
        regression.linear(again, observed[TRAINING]), observed[TRAINING], atol=1e-6
    )


def test_polynomial_regression_needs_no_products_of_components(
    features: np.ndarray, observed: np.ndarray
):
    actual = regression.components(regression.products(features), TRAINING, TEST).first(8)
    model = make_pipeline(PolynomialFeatures(2, include_bias=False), LinearRegression())
    expected = model.fit(actual.training, observed[TRAINING]).predict(actual.test)
    np.testing.assert_allclose(
        regression.polynomial(actual, observed[TRAINING]), expected, rtol=1e-5, atol=1e-4
    )


def test_polynomials_of_few_components_are_not_made_of_rounding():
    """20 products of five features, 240 videos: the other eigenvalues must not be inverted."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        features, observed = rng.normal(size=(300, 5)), 50 + 15 * rng.normal(size=300)
        gram = regression.products(features)
        actual = regression.components(gram, np.arange(240), np.arange(240, 300))
        model = make_pipeline(PolynomialFeatures(2, include_bias=False), LinearRegression())
        expected = model.fit(actual.training, observed[:240]).predict(actual.test)
        predicted = regression.polynomial(actual, observed[:240])
        np.testing.assert_allclose(predicted, expected, atol=1e-6)


def test_a_nested_choice_finds_how_many_components_matter():
    rng = np.random.default_rng(3)
    features = rng.normal(size=(120, 60)) * np.repeat([10, 8, 6, 0.05], [1, 1, 1, 57])
    observed = features[:, :3].sum(axis=1) + 5 * rng.normal(size=120)
    gram, training = regression.products(features), np.arange(100)
    assert regression.choose_count(gram, training, observed[:100], (1, 3, 50)) == 3


@pytest.mark.parametrize("name", ["ridge", "svr_linear", "network"])
def test_other_regressions_learn_a_line(name: str):
    rng = np.random.default_rng(4)
    features = rng.normal(size=(150, 5)) * 3
    observed = 50 + features @ np.array([3.0, -2, 1, 0, 2])
    actual = regression.components(
        regression.products(features), np.arange(100), np.arange(100, 150)
    )
    predicted = regression.REGRESSIONS[name](actual, observed[:100])
    assert np.corrcoef(predicted, observed[100:])[0, 1] > 0.98


def test_values_that_are_not_finite_name_the_video(features: np.ndarray):
    features[7, 3] = np.nan
    with pytest.raises(StpError, match="V7"):
        regression.check_features(features, [f"V{n}" for n in range(VIDEOS)], "mse")


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("scale", [1e-3, 1e4])
def test_the_logistic_finds_its_parameters(direction: int, scale: float):
    x = np.linspace(-3, 4, 200)
    values = direction * x * scale
    observed = 20 + 60 / (1 + np.exp(-(x - 0.5) / 0.8))
    fitted = logistic.apply(logistic.fit(values, observed), values)
    np.testing.assert_allclose(fitted, observed, atol=1e-3)


def test_the_logistic_of_equal_values_is_the_mean_opinion():
    actual = logistic.fit(np.full(5, 3.0), np.array([1.0, 2, 3, 4, 5]))
    assert logistic.apply(actual, np.array([3.0, 9.0])) == pytest.approx([3, 3])


def test_splits():
    drawn = splits.random_splits(300, 60, 20, seed=0)
    assert (drawn.sum(axis=1) == 60).all()
    assert len({row.tobytes() for row in drawn}) == 20
    groups = splits.leave_one_out(np.array(["b", "a", "b", None]))
    assert groups.tolist() == [[False, True, False, False], [True, False, True, False]]
    few, more = (splits.share_of_training(drawn[0], percent, 1) for percent in (10, 40))
    assert len(few) == 30 and set(few) < set(more)
    assert not drawn[0][more].any()
    assert len(splits.share_of_training(drawn[0], 80, 1)) == 240
