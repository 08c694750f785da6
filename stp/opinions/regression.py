"""Learn opinions from features: principal components, then a regression on them.

Everything is made from products of features of pairs of videos, computed once for all splits: a
split of 240 videos with 80,000 features each then takes milliseconds. Centred features of n videos
span n - 1 dimensions, so K' = 240 of 240 training videos is K' = 239, and linear regression then
fits each of them exactly.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.neural_network import MLPRegressor
from sklearn.svm import SVR

from stp.core.errors import StpError

CANDIDATES = (1, 2, 5, 10, 20, 40, 80, 120, 160, 200, 240)
"""Numbers of components that a nested choice has."""
FOLDS = 5
"""Of the training videos, for a nested choice."""


@dataclass(frozen=True)
class Components:
    """Principal components of the training videos.

    Attributes:
        training: scores, float64 (N, K), largest variance first.
        test: scores of other videos on them, (M, K).
    """

    training: np.ndarray
    test: np.ndarray

    def first(self, count: int | None) -> "Components":
        """The first few; all if there are fewer, or None."""
        return Components(self.training[:, :count], self.test[:, :count])


def products(features: np.ndarray) -> np.ndarray:
    """Products of the features of all pairs of videos, centred over all: float64 (V, V).

    Args:
        features: (V, D), finite.
    """
    centred = features.astype(np.float64) - features.mean(axis=0, dtype=np.float64)
    return np.asarray(centred @ centred.T)


def components(gram: np.ndarray, training: np.ndarray, test: np.ndarray) -> Components:
    """Find the principal components of training videos.

    Args:
        gram: `products` of all videos.
        training: numbers of the N training videos.
        test: numbers of the M others.

    Returns:
        at most N - 1 components; those without variance are left out.
    """
    block = gram[np.ix_(training, training)]
    mean = block.mean(axis=0)
    centred = block - mean - mean[:, None] + mean.mean()
    values, vectors = np.linalg.eigh(centred)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > len(training) * np.finfo(float).eps * max(values[0], 0)
    values, vectors = values[kept], vectors[:, kept]
    other = gram[np.ix_(test, training)]
    away = other - other.mean(axis=1, keepdims=True) - mean + mean.mean()
    return Components(vectors * np.sqrt(values), away @ vectors / np.sqrt(values))


Predict = Callable[[Components, np.ndarray], np.ndarray]
"""(components, opinions of the training videos) -> predictions for the test videos."""


def linear(found: Components, observed: np.ndarray) -> np.ndarray:
    """Linear regression with an intercept."""
    return _by_count(found, observed)[-1]


def ridge(found: Components, observed: np.ndarray) -> np.ndarray:
    """Ridge regression; its penalty has the smallest leave-one-out error in training."""
    largest = (found.training**2).sum(axis=0).max()
    model = RidgeCV(alphas=largest * np.logspace(-6, 1, 22)).fit(found.training, observed)
    return np.asarray(model.predict(found.test))


def polynomial(found: Components, observed: np.ndarray) -> np.ndarray:
    """Linear regression on all products of two components, squares, and the components themselves.

    These are more than videos; of all that fit equally, the smallest coefficients are taken.
    """
    x, z = found.training, found.test

    def kernel(a: np.ndarray) -> np.ndarray:
        inner = a @ x.T
        return np.asarray(inner + (inner**2 + (a**2) @ (x**2).T) / 2)

    block, other = kernel(x), kernel(z)
    mean = block.mean(axis=0)
    centred = block - mean - mean[:, None] + mean.mean()
    away = other - other.mean(axis=1, keepdims=True) - mean + mean.mean()
    # Few components have fewer products than there are videos: other eigenvalues are rounding.
    rounding = len(x) * np.finfo(float).eps
    weights = np.linalg.pinv(centred, rcond=rounding, hermitian=True) @ (observed - observed.mean())
    return np.asarray(observed.mean() + away @ weights)


def _svr(kernel: str) -> Predict:
    def predict(found: Components, observed: np.ndarray) -> np.ndarray:
        model = SVR(kernel=kernel).fit(found.training, observed)
        return np.asarray(model.predict(found.test))

    return predict


def network(found: Components, observed: np.ndarray) -> np.ndarray:
    """A network of 150 and 50 units, Adam with learning rate 0.02 (section 5.2.3).

    The paper leaves the rest open: components are divided by the deviation of the first one,
    opinions are standardised, and all else is scikit-learn's default, with the seed 0.
    """
    scale, spread = found.training.std(axis=0).max(), max(observed.std(), 1e-12)
    model = MLPRegressor(
        hidden_layer_sizes=(150, 50), learning_rate_init=0.02, random_state=0, max_iter=500
    )
    model.fit(found.training / scale, (observed - observed.mean()) / spread)
    return np.asarray(model.predict(found.test / scale) * spread + observed.mean())


REGRESSIONS: dict[str, Predict] = {
    "linear": linear,
    "ridge": ridge,
    "polynomial": polynomial,
    "svr_linear": _svr("linear"),
    "svr_rbf": _svr("rbf"),
    "network": network,
}

AFFINE = ("linear", "ridge", "nested")
"""Kinds whose predictions are linear functions of the features, and a constant."""


def chosen_count(
    gram: np.ndarray, training: np.ndarray, observed: np.ndarray, candidates: Sequence[int]
) -> int:
    """Choose a number of components for linear regression, by cross-validation in training.

    Args:
        gram: `products` of all videos.
        training: numbers of the N training videos.
        observed: their opinions, (N,).
        candidates: ascending.

    Returns:
        the one with the smallest squared error over `FOLDS` folds; of equal ones the smallest.
    """
    error = np.zeros(len(candidates))
    for fold in range(FOLDS):
        out = np.arange(len(training)) % FOLDS == fold
        found = components(gram, training[~out], training[out])
        predicted = _by_count(found, observed[~out])
        last = len(predicted) - 1
        for place, count in enumerate(candidates):
            error[place] += ((predicted[min(count, last)] - observed[out]) ** 2).sum()
    return int(candidates[int(error.argmin())])


def predict(
    kind: str,
    gram: np.ndarray,
    training: np.ndarray,
    observed: np.ndarray,
    test: np.ndarray,
    count: int,
) -> np.ndarray:
    """Learn opinions of some videos, and predict those of others.

    Args:
        kind: of `REGRESSIONS`; ``nested``: linear, with a number of components that is chosen
            within the training videos.
        gram: `products` of all videos.
        training: numbers of the videos to learn from.
        observed: their opinions, (N,).
        test: numbers of the others.
        count: principal components at most.

    Returns:
        (M,).
    """
    if kind == "nested":
        known = tuple(one for one in CANDIDATES if one <= count)
        count = chosen_count(gram, training, observed, known)
        kind = "linear"
    return REGRESSIONS[kind](components(gram, training, test).first(count), observed)


def weights(
    kind: str, features: np.ndarray, gram: np.ndarray, observed: np.ndarray, count: int
) -> tuple[np.ndarray, float]:
    """Learn opinions of all videos, as a linear function of their features.

    Args:
        kind: of `AFFINE`.
        features: (V, D).
        gram: `products` of them.
        observed: opinions, (V,).
        count: principal components at most.

    Returns:
        weights, float64 (D,), and offset: what `predict` says of a video with features x is
        offset + x @ weights.
    """
    everyone = np.arange(len(features))
    found = predict(kind, gram, everyone, observed, everyone, count)
    # Centred features span what the function depends on: its values there determine it.
    mean = features.mean(axis=0, dtype=np.float64)
    of_videos = np.linalg.pinv(gram, hermitian=True) @ (found - found.mean())
    slope = (features.astype(np.float64) - mean).T @ of_videos
    return slope, float(found.mean() - mean @ slope)


def check_features(features: np.ndarray, videos: Sequence[str], where: str) -> None:
    """Refuse features with which nothing can be learnt.

    Raises:
        StpError: one is not finite.
    """
    wrong = np.flatnonzero(~np.isfinite(features).all(axis=1))
    if len(wrong):
        raise StpError(
            f"{where}: the values of {videos[wrong[0]]} are not finite",
            expected="a finite value of each video",
            remedy="look at this video",
        )


def _by_count(found: Components, observed: np.ndarray) -> np.ndarray:
    """Predictions with the first 0, 1, ... components, (K + 1, M): components are orthogonal."""
    power = (found.training**2).sum(axis=0)
    slope = found.training.T @ (observed - observed.mean()) / power
    steps = found.test * slope
    start = np.full((1, len(found.test)), observed.mean())
    return np.concatenate([start, observed.mean() + np.cumsum(steps, axis=1).T])
