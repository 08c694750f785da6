"""Regression of opinions on the principal components of features.

The paper is that of PVQA (Somraj et al. 2022). Everything is computed from the inner products of
the features of pairs of videos, which are computed once for all splits. So a split of 240 videos
with 80,000 features each takes milliseconds. Centred features of n videos span n - 1 dimensions:
with 240 training videos, 240 components (K' of the paper) are the same as 239, and linear
regression then fits each training video exactly.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.neural_network import MLPRegressor
from sklearn.svm import SVR

from stp.core.errors import StpError

CANDIDATES = (1, 2, 5, 10, 20, 40, 80, 120, 160, 200, 240)
"""Numbers of components among which cross-validation chooses (``nested``)."""
FOLDS = 5
"""Number of folds of the cross-validation that chooses a number of components."""


@dataclass(frozen=True)
class Components:
    """Scores of training and test videos on the principal components of the training videos.

    Attributes:
        training: scores of N training videos on K components, float64 (N, K), largest variance
            first.
        test: scores of M test videos on the same components, float64 (M, K).
    """

    training: np.ndarray
    test: np.ndarray

    def first(self, count: int | None) -> "Components":
        """Keep the first `count` components; all if there are fewer, or `count` is None."""
        return Components(self.training[:, :count], self.test[:, :count])


def products(features: np.ndarray) -> np.ndarray:
    """Compute the inner products of the features of all pairs of videos.

    Features are centred first: their mean over videos is subtracted.

    Args:
        features: D features of each of V videos, (V, D), finite.

    Returns:
        inner products, float64 (V, V).
    """
    centred = features.astype(np.float64) - features.mean(axis=0, dtype=np.float64)
    return np.asarray(centred @ centred.T)


def components(gram: np.ndarray, training: np.ndarray, test: np.ndarray) -> Components:
    """Find the principal components of training videos, and the scores of all videos on them.

    Args:
        gram: inner products of the features of all V videos, (V, V), from `products`.
        training: indices of the N training videos.
        test: indices of the M test videos.

    Returns:
        scores on at most N - 1 components; components without variance are left out.
    """
    block = gram[np.ix_(training, training)]
    mean = block.mean(axis=0)
    centred = block - mean - mean[:, None] + mean.mean()
    values, vectors = np.linalg.eigh(centred)
    values, vectors = values[::-1], vectors[:, ::-1]
    positive = values > len(training) * np.finfo(float).eps * max(values[0], 0)
    values, vectors = values[positive], vectors[:, positive]
    other = gram[np.ix_(test, training)]
    centred_test = other - other.mean(axis=1, keepdims=True) - mean + mean.mean()
    return Components(vectors * np.sqrt(values), centred_test @ vectors / np.sqrt(values))


Predict = Callable[[Components, np.ndarray], np.ndarray]
"""Function from components and opinions of the training videos to predictions for the test
videos."""


def linear(features: Components, observed: np.ndarray) -> np.ndarray:
    """Predict the opinions of the test videos by linear regression with an intercept.

    Args:
        features: principal components of training and test videos.
        observed: opinions of the N training videos, (N,).

    Returns:
        predicted opinions of the M test videos, (M,).
    """
    return _by_count(features, observed)[-1]


def ridge(features: Components, observed: np.ndarray) -> np.ndarray:
    """Predict the opinions of the test videos by ridge regression.

    The penalty is the one with the smallest leave-one-out error in training.

    Args:
        features: principal components of training and test videos.
        observed: opinions of the N training videos, (N,).

    Returns:
        predicted opinions of the M test videos, (M,).
    """
    largest = (features.training**2).sum(axis=0).max()
    model = RidgeCV(alphas=largest * np.logspace(-6, 1, 22)).fit(features.training, observed)
    return np.asarray(model.predict(features.test))


def polynomial(features: Components, observed: np.ndarray) -> np.ndarray:
    """Predict the opinions of the test videos by a polynomial of degree two.

    This is linear regression on the components, their squares, and all products of two components.
    There are more predictors than videos; of all exact fits, the result has the smallest
    coefficients.

    Args:
        features: principal components of training and test videos.
        observed: opinions of the N training videos, (N,).

    Returns:
        predicted opinions of the M test videos, (M,).
    """
    x, z = features.training, features.test

    def kernel(a: np.ndarray) -> np.ndarray:
        inner = a @ x.T
        return np.asarray(inner + (inner**2 + (a**2) @ (x**2).T) / 2)

    block, other = kernel(x), kernel(z)
    mean = block.mean(axis=0)
    centred = block - mean - mean[:, None] + mean.mean()
    centred_test = other - other.mean(axis=1, keepdims=True) - mean + mean.mean()
    # Few components have fewer products than there are videos: other eigenvalues are rounding.
    rounding = len(x) * np.finfo(float).eps
    weights = np.linalg.pinv(centred, rcond=rounding, hermitian=True) @ (observed - observed.mean())
    return np.asarray(observed.mean() + centred_test @ weights)


def _svr(kernel: str) -> Predict:
    def predict(features: Components, observed: np.ndarray) -> np.ndarray:
        model = SVR(kernel=kernel).fit(features.training, observed)
        return np.asarray(model.predict(features.test))

    return predict


def network(features: Components, observed: np.ndarray) -> np.ndarray:
    """Predict the opinions of the test videos by a small neural network.

    As in section 5.2.3 of the PVQA paper (Somraj et al. 2022), it has hidden layers of 150 and 50
    units, and is trained by Adam with learning rate 0.02. The paper leaves the rest open. Here,
    components are divided by the standard deviation of the first one, opinions are standardised,
    there are at most 500 iterations, and other options are scikit-learn's defaults, with seed 0.

    Args:
        features: principal components of training and test videos.
        observed: opinions of the N training videos, (N,).

    Returns:
        predicted opinions of the M test videos, (M,).
    """
    scale, spread = features.training.std(axis=0).max(), max(observed.std(), 1e-12)
    model = MLPRegressor(
        hidden_layer_sizes=(150, 50), learning_rate_init=0.02, random_state=0, max_iter=500
    )
    model.fit(features.training / scale, (observed - observed.mean()) / spread)
    return np.asarray(model.predict(features.test / scale) * spread + observed.mean())


REGRESSIONS: dict[str, Predict] = {
    "linear": linear,
    "ridge": ridge,
    "polynomial": polynomial,
    "svr_linear": _svr("linear"),
    "svr_rbf": _svr("rbf"),
    "network": network,
}

AFFINE = ("linear", "ridge", "nested")
"""Kinds whose predictions are affine functions of the features."""


def choose_count(
    gram: np.ndarray, training: np.ndarray, observed: np.ndarray, candidates: Sequence[int]
) -> int:
    """Choose the number of components of a linear regression by cross-validation.

    Args:
        gram: inner products of the features of all V videos, (V, V), from `products`.
        training: indices of the N training videos; no other videos are used.
        observed: opinions of the training videos, (N,).
        candidates: numbers of components to choose from, ascending.

    Returns:
        the candidate with the smallest squared error over `FOLDS` folds; in a tie, the smallest
        candidate.
    """
    error = np.zeros(len(candidates))
    for fold in range(FOLDS):
        out = np.arange(len(training)) % FOLDS == fold
        features = components(gram, training[~out], training[out])
        predicted = _by_count(features, observed[~out])
        last = len(predicted) - 1
        for row, count in enumerate(candidates):
            error[row] += ((predicted[min(count, last)] - observed[out]) ** 2).sum()
    return int(candidates[int(error.argmin())])


def predict(
    kind: str,
    gram: np.ndarray,
    training: np.ndarray,
    observed: np.ndarray,
    test: np.ndarray,
    count: int,
) -> np.ndarray:
    """Train on the opinions of some videos, and predict those of others.

    Args:
        kind: name of the regression, one of `REGRESSIONS`, such as ``ridge``; or ``nested``: linear
            regression whose number of components is chosen within the training videos.
        gram: inner products of the features of all V videos, (V, V), from `products`.
        training: indices of the training videos, (N,).
        observed: opinions of the training videos, (N,).
        test: indices of the test videos, (M,).
        count: maximum number of principal components.

    Returns:
        predicted opinions of the test videos, (M,).
    """
    if kind == "nested":
        candidates = tuple(number for number in CANDIDATES if number <= count)
        count = choose_count(gram, training, observed, candidates)
        kind = "linear"
    return REGRESSIONS[kind](components(gram, training, test).first(count), observed)


def weights(
    kind: str, features: np.ndarray, gram: np.ndarray, observed: np.ndarray, count: int
) -> tuple[np.ndarray, float]:
    """Find the affine function of features that predicts opinions, from all rated videos.

    Args:
        kind: ``linear``, ``ridge`` or ``nested``, the regressions that give an affine function.
        features: features of all videos, (V, D).
        gram: inner products of the features of these videos, (V, V), from `products`.
        observed: opinions of all videos, (V,).
        count: maximum number of principal components.

    Returns:
        weights, float64 (D,), and offset: the prediction for a video with features x is offset + x
        @ weights.
    """
    videos = np.arange(len(features))
    predicted = predict(kind, gram, videos, observed, videos, count)
    # Centred features span what the function depends on: its values there determine it.
    mean = features.mean(axis=0, dtype=np.float64)
    of_videos = np.linalg.pinv(gram, hermitian=True) @ (predicted - predicted.mean())
    slope = (features.astype(np.float64) - mean).T @ of_videos
    return slope, float(predicted.mean() - mean @ slope)


def check_features(features: np.ndarray, videos: Sequence[str], where: str) -> None:
    """Refuse features that are not finite.

    Args:
        features: features of the videos, float (V, D).
        videos: names of the V videos.
        where: source of the features, for the error message.

    Raises:
        StpError: a feature of a video is NaN or infinite; the error names the video.
    """
    wrong = np.flatnonzero(~np.isfinite(features).all(axis=1))
    if len(wrong):
        raise StpError(f"{where}: the values of {videos[wrong[0]]} are not finite")


def _by_count(features: Components, observed: np.ndarray) -> np.ndarray:
    """Predictions with the first 0, 1, ... components, (K + 1, M): components are orthogonal."""
    power = (features.training**2).sum(axis=0)
    slope = features.training.T @ (observed - observed.mean()) / power
    steps = features.test * slope
    start = np.full((1, len(features.test)), observed.mean())
    return np.concatenate([start, observed.mean() + np.cumsum(steps, axis=1).T])
