"""Distances between sets of clips, from network features (stage `features`)."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stp.core.errors import StpError
from stp.features import table
from stp.metrics.perceptual import SetDistance, matched
from stp.score.aggregate import Row

ABSENT = "no network has looked at the clips (see `stp list weights`)"


class SetFeatures(NamedTuple):
    """Features of all observed and predicted clips of a split, from one layer of a network.

    Attributes:
        observed: float64 (N, D).
        predicted: float64 (N, D), in the order of the same samples.
        reason: why there are no features; else empty.
    """

    observed: np.ndarray
    predicted: np.ndarray
    reason: str = ""


def read(inputs: Mapping[str, Path], name: str | None) -> SetFeatures:
    """Read the features that a convention is computed from.

    Args:
        inputs: folders of artefacts, including ``<name>.observed`` and ``<name>.predicted``.
        name: name of the features; None if there are none.

    Raises:
        StpError: a file is missing or damaged, or the numbers of clips differ.
    """
    if name is None:
        return SetFeatures(np.empty((0, 1)), np.empty((0, 1)), ABSENT)
    folders = [inputs[f"{name}.{of}"] for of in ("observed", "predicted")]
    observed, predicted = map(table.read, folders)
    if observed.values.shape != predicted.values.shape:
        raise StpError(
            f"{folders[1]}: features of shape {predicted.values.shape}",
            expected=f"{observed.values.shape}, that of {folders[0]}",
            remedy="delete both folders and run again",
        )
    return SetFeatures(observed.values, predicted.values, observed.reason or predicted.reason)


def rows(distance: SetDistance, features: SetFeatures) -> list[Row]:
    """The row of one convention, for all lead times together; n is the number of clips.

    There is no interval: resampled sets contain clips twice, which increases the distance.
    """
    if features.reason:
        return [Row(None, "mean", None, 0, features.reason)]
    n = len(features.observed)
    bad = ~np.isfinite(np.concatenate([features.observed, features.predicted], axis=1)).all(axis=1)
    if bad.any():
        reason = f"not a number in {bad.sum()} of {n} clips: predictions or data are NaN"
        return [Row(None, "mean", None, n, reason)]
    if n < 2:
        return [Row(None, "mean", None, n, "a single clip is not a set")]
    return [Row(None, "mean", distance.distance(features.observed, features.predicted), n, None)]


def at_n(
    features: SetFeatures,
    distance: Callable[[np.ndarray, np.ndarray], float],
    n: int,
    seed: int = 0,
) -> float:
    """Compute a distance of ``n`` clips, drawn without replacement.

    The same seed draws the same clips for every model of a dataset.

    Args:
        features: features of all clips.
        distance: distance of a `stp.metrics.perceptual.SetDistance`.
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
    chosen = matched(len(features.observed), n, seed)
    return distance(features.observed[chosen], features.predicted[chosen])
