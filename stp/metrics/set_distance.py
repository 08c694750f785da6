"""Distances between sets of clips, from network features (stage `features`)."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stp.core.errors import StpError
from stp.data import feature_table
from stp.metrics.metric import NetworkInputs, SetValue

ABSENT = "no network has looked at the clips (see `stp list weights`)"


class SetFeatures(NamedTuple):
    """Features of all observed and predicted clips of a split, from one layer of a network.

    Attributes:
        observed: features of the observed clips, float64 (N, D).
        predicted: features of the predicted clips, in the same order, float64 (N, D).
        reason: reason why there are no features; empty if there are.
    """

    observed: np.ndarray
    predicted: np.ndarray
    reason: str = ""


class SetDistance(NamedTuple):
    """A convention (one exact definition of a metric) that compares two sets of clips.

    It compares the set of predicted clips to the set of observed clips, as FVD does.

    The value is computed from the features of all clips (config/conventions names network, layer
    and frames); it is not a mean over samples. There is one value for all lead times, and it
    depends on the number of clips. It has no interval, because resampled sets contain clips twice,
    which increases the distance.

    Attributes:
        distance: function of the features of observed and of predicted clips, float64 (N, D) each,
            that returns the value.
    """

    distance: Callable[[np.ndarray, np.ndarray], float]

    def with_networks(self, name: str, networks: NetworkInputs) -> SetValue:
        """Compute the distance between the features of observed and of predicted clips.

        Args:
            name: name of the convention, which selects the features.
            networks: folders of the features.

        Raises:
            StpError: a file of features is missing or damaged, or the numbers of clips differ.
        """
        of_name = networks.features.get(name)
        observed, predicted, reason = read_features(networks.folders, of_name)
        if reason:
            return SetValue(None, 0, reason)
        n = len(observed)
        bad = ~np.isfinite(np.concatenate([observed, predicted], axis=1)).all(axis=1)
        if bad.any():
            why = f"not a number in {bad.sum()} of {n} clips: predictions or data are NaN"
            return SetValue(None, n, why)
        if n < 2:
            return SetValue(None, n, "a single clip is not a set")
        return SetValue(self.distance(observed, predicted), n, None)


def read_features(folders: Mapping[str, Path], name: str | None) -> SetFeatures:
    """Read the features of observed and predicted clips.

    Args:
        folders: folders of artefacts by name, including ``<name>.observed`` and
            ``<name>.predicted``.
        name: name of the features; None if there are none.

    Raises:
        StpError: a file is missing or damaged, or the numbers of clips differ.
    """
    if name is None:
        return SetFeatures(np.empty((0, 1)), np.empty((0, 1)), ABSENT)
    pair = [folders[f"{name}.{of}"] for of in ("observed", "predicted")]
    observed, predicted = map(feature_table.read, pair)
    if observed.values.shape != predicted.values.shape:
        raise StpError(
            f"{pair[1]}: features of shape {predicted.values.shape}",
            expected=f"{observed.values.shape}, that of {pair[0]}",
            remedy="delete both folders and run again",
        )
    return SetFeatures(observed.values, predicted.values, observed.reason or predicted.reason)


def draw_indices(count: int, size: int, seed: int = 0) -> np.ndarray:
    """Draw ``size`` of ``count`` samples at random, to compare sets of equal size.

    Returns:
        sorted indices without repetition, int64 (size,); they depend on the arguments only.
    """
    chosen = np.random.default_rng(seed).permutation(count)[:size]
    return np.sort(chosen)


def at_n(
    features: SetFeatures,
    distance: Callable[[np.ndarray, np.ndarray], float],
    n: int,
    seed: int = 0,
) -> float:
    """Compute a distance from ``n`` clips, drawn without replacement.

    The same seed draws the same clips for every model of a dataset.

    Args:
        features: features of all clips.
        distance: function of the features of observed and of predicted clips, (n, D) each, that
            returns the distance (`SetDistance.distance`).
        n: number of clips, from 1.
        seed: seed of the draw.

    Raises:
        StpError: there are fewer than n clips.
    """
    if n > len(features.observed):
        raise StpError(
            f"{n} clips of {len(features.observed)}",
            expected="at most as many as were scored",
            remedy="compare at the smaller number",
        )
    chosen = draw_indices(len(features.observed), n, seed)
    return distance(features.observed[chosen], features.predicted[chosen])
